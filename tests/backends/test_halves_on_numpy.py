"""Half types on NumPy: what adds up is added up in float32 and rounded once."""

import numpy as np
import pytest

import autograd_gpu as ag
import autograd_gpu.nn.functional as F
from autograd_gpu.backends.numpy_backend import create

ml_dtypes = pytest.importorskip("ml_dtypes")
xp = create().xp
HALVES = [np.float16, ml_dtypes.bfloat16]
NAMES = ["float16", "bfloat16"]
halves = pytest.mark.parametrize("dtype", HALVES, ids=NAMES)


def numbers(*shape, dtype):
    return np.random.default_rng(0).random(shape, "f4").astype(dtype)


@halves
@pytest.mark.parametrize("axis", [0, 1, (0, 1), None])
@pytest.mark.parametrize("name", ["sum", "mean", "var", "std"])
def test_reductions(name, axis, dtype):
    x = numbers(5000, 3, dtype=dtype)
    for layout in (x, np.asfortranarray(x), x[::-1]):
        y = getattr(xp, name)(layout, axis=axis, keepdims=True)
        want = getattr(np, name)(layout.astype("f8"), axis=axis, keepdims=True)
        assert (y.dtype, y.shape) == (dtype, want.shape)
        np.testing.assert_allclose(y.astype("f8"), want, rtol=1e-2)


@halves
def test_reductions_of_a_part(dtype):
    x = numbers(5000, 3, dtype=dtype)
    mask = x > 0.5
    wide = x.astype("f8")
    for y, want in (
        (xp.sum(x, axis=0, where=mask, initial=7), wide.sum(0, where=mask, initial=7)),
        (xp.mean(x, axis=0, where=mask), wide.mean(0, where=mask)),
        (xp.sum(x[:0], axis=0), np.zeros(3)),
        (xp.sum(x, axis=()), wide),
    ):
        assert y.dtype == dtype
        np.testing.assert_allclose(y.astype("f8"), want, rtol=1e-2)
    assert xp.sum(np.ones(3, "i2")).dtype == np.sum(np.ones(3, "i2")).dtype


@halves
def test_gradients_of_what_is_broadcast(dtype):
    bias = ag.Variable(np.zeros(3, dtype), requires_grad=True)
    ag.sum(ag.Variable(np.ones((5000, 3), dtype)) + bias, axis=0).backward(np.ones(3, dtype))
    assert bias.grad.dtype == dtype
    np.testing.assert_allclose(bias.grad.astype("f8"), 5000, rtol=1e-2)


@halves
def test_reductions_compiled(dtype):
    def step(x):
        y = ag.sum(x, axis=0) * ag.mean(x) + ag.var(x, axis=0)
        ag.sum(y).backward()
        return y.detach()

    compiled = ag.compile(step)
    x = numbers(300, 3, dtype=dtype)
    for _ in range(5):
        a, b = ag.Variable(x, requires_grad=True), ag.Variable(x, requires_grad=True)
        np.testing.assert_array_equal(compiled(a).value, step(b).value)
        np.testing.assert_array_equal(a.grad, b.grad)
    assert compiled.replays == 2


@halves
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_cross_entropy(reduction, smoothing, weighted, dtype):
    # as many rows as float16 can't count
    x = numbers(70_000 if reduction == "mean" else 500, 3, dtype=dtype)
    labels = np.arange(len(x)) % 3
    weight = numbers(3, dtype=dtype) if weighted else None
    results = []
    for as_dtype in (dtype, np.float64):
        v = ag.Variable(x.astype(as_dtype), requires_grad=True)
        given = None if weight is None else weight.astype(as_dtype)
        loss = F.cross_entropy(v, labels, given, reduction=reduction, label_smoothing=smoothing)
        ag.sum(loss).backward()
        assert loss.dtype == v.grad.dtype == as_dtype
        results.append((loss.value.astype("f8"), v.grad.astype("f8")))
    (loss, grad), (want, want_grad) = results
    np.testing.assert_allclose(loss, want, rtol=2e-2, atol=2e-2)
    np.testing.assert_allclose(
        grad, want_grad, rtol=2e-2, atol=2e-2 / (70_000 if reduction == "mean" else 1)
    )


@halves
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_nll_loss(reduction, dtype):
    x = -numbers(400, 3, dtype=dtype)
    labels = np.arange(len(x)) % 3
    loss = F.nll_loss(x, labels, numbers(3, dtype=dtype), reduction=reduction)
    want = F.nll_loss(
        x.astype("f8"), labels, numbers(3, dtype=dtype).astype("f8"), reduction=reduction
    )
    assert loss.dtype == dtype
    np.testing.assert_allclose(loss.value.astype("f8"), want.value, rtol=1e-2)


@halves
@pytest.mark.parametrize("running", ["half", "float32"])
def test_batch_norm_by_running_statistics(running, dtype):
    x, w = numbers(2, 3, 4, dtype=dtype), numbers(3, dtype=dtype)
    mean, variance = (numbers(3, dtype=dtype if running == "half" else "f4") for _ in range(2))
    y = F.batch_norm(x, mean, variance, w, w)
    want = F.batch_norm(*(v.astype("f8") for v in (x, mean, variance, w, w)))
    assert y.dtype == F.batch_norm(x, None, None, w, w, training=True).dtype == dtype
    np.testing.assert_allclose(y.value.astype("f8"), want.value, rtol=2e-2, atol=1e-2)


@halves
def test_numbers_to_choose_from(dtype):
    x = numbers(2, 3, dtype=dtype)
    v = ag.Variable(x, requires_grad=True)
    for y in (ag.where(x > 0.5, v, 0.25), ag.where(x <= 0.5, 0.25, v), ag.where(x > 0.5, v, 1)):
        assert y.dtype == dtype
        np.testing.assert_array_equal(y.value[x > 0.5], x[x > 0.5])
    assert F.normalize(v).dtype == F.cosine_similarity(v, v).dtype == dtype


@halves
def test_limits(dtype):
    assert ag.finfo(dtype).eps == ag.finfo(np.dtype(dtype)).eps
    assert ag.finfo(dtype).bits == 16
    x = numbers(2, 30, dtype=dtype)
    y, want = F.rms_norm(x, 30), F.rms_norm(x.astype("f8"), 30, eps=ag.finfo(dtype).eps)
    assert y.dtype == dtype
    np.testing.assert_allclose(y.value.astype("f8"), want.value, rtol=2e-2)
    assert ag.nan_to_num(np.array([np.inf], dtype)).item() == ag.finfo(dtype).max


@pytest.mark.parametrize("n", [3, 70_000])
@pytest.mark.parametrize("approximate", ["none", "tanh"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_gelu_of_the_largest_numbers(dtype, approximate, n):
    x = np.full(n, np.finfo(dtype).max)
    with np.errstate(over="ignore"):  # of the cube
        y = F.gelu(x, approximate=approximate)
    np.testing.assert_array_equal(y.value, x)
