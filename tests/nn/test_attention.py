"""Attention: the fused op, NumPy's form of it and the general one, against the definition."""

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu import ops, threads
from autograd_gpu.backend import load_backend
from autograd_gpu.backends import numpy_attention
from autograd_gpu.nn import functional as F
from autograd_gpu.ops.attention import scores_shape

XP = load_backend("numpy").xp


def normal(*shape, scale=1.0):
    return scale * np.random.default_rng(sum(shape)).standard_normal(shape)


def operands(batch=(2, 3), length=4, keys=5, scale=1.0):
    q, k, v = normal(*batch, length, 3), normal(*batch, keys, 3), normal(*batch, keys, 2)
    return scale * q, k + 0.5, v


def by_definition(q, k, v, seen, scale, keep=1.0):
    s = np.where(seen, q @ np.swapaxes(k, -1, -2) * scale, -np.inf)
    top = s.max(-1, keepdims=True)
    e = np.exp(s - np.where(np.isinf(top), 0, top))
    total = e.sum(-1, keepdims=True)
    return e / np.where(total == 0, 1, total) * keep @ v


def random_mask(*shape):
    mask = np.random.default_rng(len(shape)).random(shape) < 0.6
    mask[..., 1, :] = False  # a query that sees no key
    return mask


CASES = {
    "plain": {},
    "causal": {"is_causal": True},
    "mask": {"mask": random_mask(4, 5)},
    "masks of their own": {"mask": random_mask(2, 1, 4, 5), "is_causal": True},
    "numbers": {"bias": normal(3, 4, 5)},
    "numbers and a mask": {"bias": normal(4, 5), "mask": random_mask(2, 3, 4, 5)},
    "large scores": {"scale": 300.0, "is_causal": True},
    "numbers and causal": {"bias": normal(3, 4, 5), "is_causal": True},
    "dropout": {"p": 0.3, "seed": 7, "offset": 2, "is_causal": True},
    "dropout and a mask": {"p": 0.5, "mask": random_mask(4, 5)},
}


def call(case, arrays):
    options = dict(case)
    extra = [options.pop(name) for name in ("bias", "mask") if name in options]
    has_bias = "bias" in case
    statics = {"scale": 0.7, "has_bias": has_bias, **options}
    return ops.attention([*arrays, *extra], **statics)


@pytest.fixture(params=[(0, 64), (0, 1), (1 << 12, 2)], autouse=True, ids=str)
def forms(request, monkeypatch):
    """Scores both shifted and left as they are, all at once and a few queries at a time."""
    monkeypatch.setattr(numpy_attention, "SMALL", request.param[0])
    monkeypatch.setattr(numpy_attention, "TILE", request.param[1])


@pytest.mark.parametrize(("length", "keys"), [(6, 4), (4, 7), (5, 5)])
def test_causal_lengths(length, keys):
    arrays = operands(length=length, keys=keys)
    seen = np.tril(np.ones((length, keys), bool))
    y = F.scaled_dot_product_attention(*arrays, is_causal=True)
    np.testing.assert_allclose(y.numpy(), by_definition(*arrays, seen, 3**-0.5), rtol=1e-10)
    assert ag.grad_check(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), arrays, fast=True
    )


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    case = CASES[name]
    arrays = operands()
    q, k, v = arrays
    seen = np.ones((4, 5), bool)
    if case.get("is_causal"):
        seen = np.tril(seen)
    scale, keep = case.get("scale", 0.7), 1.0
    if "mask" in case:
        seen = seen & case["mask"]
    if "p" in case:
        drawn = XP.random_unit((2, 3, 4, 5), case.get("seed", 0), case.get("offset", 0))
        keep = (drawn >= case["p"]) / (1 - case["p"])
    if "bias" in case:  # a score more for a key of its own
        expected = by_definition(
            np.concatenate([q * scale, np.broadcast_to(np.eye(4), (2, 3, 4, 4))], -1),
            np.concatenate(
                [k, np.swapaxes(np.broadcast_to(case["bias"], (2, 3, 4, 5)), -1, -2)], -1
            ),
            v, seen, 1.0,
        )  # fmt: skip
    else:
        expected = by_definition(q, k, v, seen, scale, keep)
    np.testing.assert_allclose(call(case, arrays).numpy(), expected, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("name", [name for name in CASES if name != "large scores"])
def test_derivatives(name):
    case = dict(CASES[name])
    arrays = list(operands(batch=(2, 3)))
    if "bias" not in case:
        assert ag.grad_check(lambda *xs: call(case, xs), arrays, order=2, fast=True)
        return
    arrays.append(case.pop("bias"))
    extra = [case.pop("mask")] if "mask" in case else []
    statics = {"scale": 0.7, **case}
    assert ag.grad_check(
        lambda *xs: ops.attention([*xs, *extra], has_bias=True, **statics),
        arrays,
        order=2,
        fast=True,
    )


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_numpys_form_and_the_general_one_agree(name, dtype, monkeypatch):
    case = {k: v.astype(dtype) if k == "bias" else v for k, v in CASES[name].items()}
    found = []
    for is_general in (False, True):
        if is_general:
            for function in ("attended", "attention_gradients"):
                monkeypatch.delattr(XP, function)
        variables = [ag.Variable(x.astype(dtype), requires_grad=True) for x in operands()]
        y = call(case, variables)
        ag.sum(y * np.cos(np.arange(48.0, dtype=dtype)).reshape(2, 3, 4, 2)).backward()
        found.append([y.numpy(), *(x.grad for x in variables)])
    rtol = 3e-4 if dtype == "f4" else 1e-9
    for mine, want in zip(*found, strict=True):
        assert mine.dtype == want.dtype == dtype
        np.testing.assert_allclose(mine, want, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("batches", [((2, 1), (3,), (3,)), ((), (2,), (2, 1)), ((2, 3), (), ())])
def test_batches_that_broadcast(batches):
    arrays = [
        normal(*batch, *rest) for batch, rest in zip(batches, [(4, 3), (5, 3), (5, 2)], strict=True)
    ]
    y = F.scaled_dot_product_attention(*arrays)
    expected = by_definition(*arrays, True, 3**-0.5)
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-10)
    assert ag.grad_check(F.scaled_dot_product_attention, arrays, order=2, fast=True)


def test_views_that_are_not_contiguous():
    q, k, v = (np.swapaxes(normal(2, 5, 3, n), 1, 2) for n in (4, 4, 6))
    y = F.scaled_dot_product_attention(q, k, v)
    np.testing.assert_allclose(y.numpy(), by_definition(q, k, v, True, 0.5), rtol=1e-10)


def test_half_types_add_in_float32():
    arrays = [x.astype("f2") for x in operands(keys=600, scale=3.0)]
    variables = [ag.Variable(x, requires_grad=True) for x in arrays]
    y = F.scaled_dot_product_attention(*variables)
    assert y.dtype == "float16"
    expected = by_definition(*(x.astype("f8") for x in arrays), True, 3**-0.5)
    np.testing.assert_allclose(y.numpy(), expected, atol=2e-3)
    ag.sum(y).backward()
    assert all(v.grad.dtype == "float16" for v in variables)


def test_complex_numbers_by_the_general_form():
    arrays = [x + 1j * np.flip(x) / 2 for x in operands()]
    assert ag.grad_check(F.scaled_dot_product_attention, arrays, order=2, fast=True)


def test_one_node(monkeypatch):
    q, k, v = (ag.Variable(x, requires_grad=True) for x in operands())
    y = F.scaled_dot_product_attention(q, k, v, random_mask(4, 5), 0.2, True)
    assert y.grad_fn.label == "attention"


def test_dropout_draws_anew_and_repeats_from_a_seed():
    def drawn():
        return F.scaled_dot_product_attention(*operands(), dropout_p=0.5).numpy()

    ag.manual_seed(3)
    first, second = drawn(), drawn()
    assert (first != second).any()
    ag.manual_seed(3)
    np.testing.assert_array_equal(drawn(), first)
    assert not F.scaled_dot_product_attention(*operands(), dropout_p=1.0).numpy().any()


@pytest.mark.parametrize("name", CASES)
def test_any_number_of_threads_gives_the_same_bits(name, monkeypatch):
    monkeypatch.setattr(numpy_attention, "BLOCK", 1)
    before, found = ag.get_num_threads(), []
    parts = []
    share = threads.share
    monkeypatch.setattr(numpy_attention, "share", lambda work, n: (parts.append(n), share(work, n)))
    try:
        for n in (1, 3):
            ag.set_num_threads(n)
            variables = [ag.Variable(x, requires_grad=True) for x in operands()]
            y = call(CASES[name], variables)
            ag.sum(y * y).backward()
            found.append([y.numpy(), *(x.grad for x in variables)])
    finally:
        ag.set_num_threads(before)
    assert parts == [6] * 4  # a head each
    for one, three in zip(*found, strict=True):
        np.testing.assert_array_equal(one, three)


def test_not_a_number_stays_in_its_row():
    q, k, v = operands()
    q[0, 0, 2] = np.nan
    y = F.scaled_dot_product_attention(q, k, v).numpy()
    assert np.isnan(y[0, 0, 2]).all()
    assert np.isfinite(np.delete(y, 2, axis=2)).all()


def test_shape_of_the_scores():
    assert scores_shape((2, 1, 4, 3), (3, 5, 3)) == (2, 3, 4, 5)


@pytest.mark.parametrize("shapes", [(0, 5), (3, 0), (0, 0)])
@pytest.mark.parametrize("is_causal", [False, True])
def test_nothing_to_look_for_or_at(shapes, is_causal):
    length, keys = shapes
    variables = [ag.Variable(x, True) for x in operands(length=length, keys=keys)]
    y = F.scaled_dot_product_attention(*variables, is_causal=is_causal)
    np.testing.assert_array_equal(y.numpy(), np.zeros((2, 3, length, 2)))
    ag.sum(y).backward()
    assert all(not v.grad.any() for v in variables)
