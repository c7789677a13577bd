"""NumPy's own group norm over many blocks of rows, against the formula in float64."""

import numpy as np
import pytest

import autograd_gpu as ag
import autograd_gpu.nn.functional as F
from autograd_gpu.backend import load_backend
from autograd_gpu.backends import numpy_group_norm as own, numpy_rows
from autograd_gpu.ops import normalization

XP = load_backend("numpy").xp
EPS = 1e-5
DTYPES = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 2e-6, "float64": 1e-14}


@pytest.fixture(autouse=True)
def _many_blocks(monkeypatch):
    monkeypatch.setattr(numpy_rows, "BLOCK", 400)
    monkeypatch.setattr(own, "SMALL", 0)


def numbers(dtype, *shape, seed=0):
    if dtype == "bfloat16":
        dtype = pytest.importorskip("ml_dtypes").bfloat16
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def by_own(x, g, weight, bias, groups):
    """The value, and the gradients for x, weight and bias."""
    y, kept = own.groups_normalised(x, weight, bias, groups=groups, eps=EPS)
    needs = (True, weight is not None, bias is not None)
    return y, *own.group_norm_gradients(g, x, weight, kept, needs, groups=groups, eps=EPS)


def by_formula(x, g, weight, bias, groups):
    """The same by the general form."""
    y, kept = normalization.groups_normalised.__wrapped__(
        XP, x, weight, bias, groups=groups, eps=EPS
    )
    needs = (True, True, True)
    return y, *normalization.group_norm_gradients.__wrapped__(
        XP, g, x, weight, kept, needs, groups=groups, eps=EPS
    )


def exactly(x, g, weight, bias, groups):
    """The same in float64."""
    return by_formula(*(v if v is None else v.astype("f8") for v in (x, g, weight, bias)), groups)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 6, 4, 9), (3, 6, 401), (1, 6, 4)])
@pytest.mark.parametrize("groups", [1, 2, 6])
@pytest.mark.parametrize("given", ["", "weight", "weight and bias"])
def test_values_and_gradients(shape, groups, given, dtype):
    x, g = numbers(dtype, *shape), numbers(dtype, *shape, seed=1)
    weight = numbers(dtype, 6, seed=2) if "weight" in given else None
    bias = numbers(dtype, 6, seed=3) if "bias" in given else None
    found = by_own(x, g, weight, bias, groups)
    for got, want in zip(found, exactly(x, g, weight, bias, groups), strict=True):
        assert got.shape == want.shape
        error = np.abs(got.astype("f8") - want).max() / np.abs(want).max()
        assert error < 3 * DTYPES[dtype], error
    assert found[0].dtype == found[1].dtype == x.dtype


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_of_short_rows(dtype):
    """The general form would add them up as they are."""
    x, g = numbers(dtype, 2, 600), numbers(dtype, 2, 600, seed=1)
    found = by_own(x, g, None, None, 2)
    for got, want in zip(found[:2], exactly(x, g, None, None, 2)[:2], strict=True):
        error = np.abs(got.astype("f8") - want).max() / np.abs(want).max()
        assert error < DTYPES[dtype], error


@pytest.mark.parametrize("mean", [1e2, 1e4, -1e4])
@pytest.mark.parametrize("length", [64, 401])
def test_large_means_are_as_exact_as_by_the_formula(mean, length):
    x, g = (numbers("f4", 4, 6, length, seed=i) for i in range(2))
    x += np.float32(mean)
    arrays = (x, g, numbers("f4", 6, seed=2), numbers("f4", 6, seed=3))
    exact = exactly(*arrays, 2)
    for got, usual, want in zip(by_own(*arrays, 2), by_formula(*arrays, 2), exact, strict=True):
        error, formula = (np.abs(v - want).max() / np.abs(want).max() for v in (got, usual))
        assert error <= 3 * formula + 1e-6, (error, formula)


def test_views_and_what_is_not_needed():
    x, g = numbers("f4", 40, 6, 5).T, numbers("f4", 40, 6, 5, seed=1).T  # [5, 6, 40]
    found = by_own(x, g, None, None, 3)
    for got, want in zip(found, exactly(x, g, None, None, 3), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    _, kept = own.groups_normalised(x, None, None, groups=3, eps=EPS)
    some = own.group_norm_gradients(g, x, None, kept, (False, True, True), groups=3, eps=EPS)
    assert some[0] is None
    np.testing.assert_array_equal(some[1:], found[2:])


def test_results_are_no_views():
    """A view would be copied when it is handed to a leaf."""
    x, weight = numbers("f4", 4, 6, 32), numbers("f4", 6)
    for result in by_own(x, x, weight, weight, 2):
        assert result.base is None


def test_others_take_the_general_form(monkeypatch):
    monkeypatch.setattr(own, "SMALL", 100)
    for x in (numbers("f4", 1, 4, 25), numbers("f2", 0, 4, 25), np.ones((9, 6, 4), np.int16)):
        assert own.groups_normalised(x, None, None, groups=2, eps=EPS) is NotImplemented
        kept = needs = None
        assert (
            own.group_norm_gradients(x, x, None, kept, needs, groups=2, eps=EPS) is NotImplemented
        )


@pytest.mark.parametrize("given", ["", "weight", "bias", "weight and bias"])
@pytest.mark.parametrize("length", [3, 4])
def test_derivatives_of_second_order(given, length):
    """Both forms, the general one and NumPy's."""
    operands = {"x": numbers("f8", 2, 4, length)}
    operands |= {k: numbers("f8", 4, seed=len(k)) for k in ("weight", "bias") if k in given}

    def loss(*values):
        named = dict(zip(operands, values, strict=True))
        return ag.sin(F.group_norm(named["x"], 2, named.get("weight"), named.get("bias")))

    assert ag.grad_check(loss, list(operands.values()), order=2)


@pytest.mark.parametrize("dtypes", [("f2", "f4"), ("f4", "f8"), ("f8", "f4")])
@pytest.mark.parametrize("length", [3, 4])
def test_operands_of_two_dtypes(dtypes, length):
    x, weight = (
        ag.Variable(numbers(d, *s), requires_grad=True)
        for d, s in zip(dtypes, ((2, 4, length), (4,)), strict=True)
    )
    y = F.group_norm(x, 2, weight, weight)
    ag.sum(y * y).backward()
    assert y.dtype == np.result_type(*dtypes)
    assert (x.grad.dtype, weight.grad.dtype) == dtypes
