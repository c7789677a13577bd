"""NumPy's own GELU against the formula in float64, over many blocks."""

import math
from functools import partial

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu.backends import numpy_activations

EXTREMES = [0.0, -0.0, 6.0, -6.0, 10.0, -10.0, 10.5, -10.5, 25.5, -25.5]
EXTREMES += [1e15, -1e15, 3e38, -3e38, np.inf, -np.inf]


@pytest.fixture(params=["compiled", "exp2", "tanh"])
def many_blocks(monkeypatch, request):
    """By the compiled core for float32, or by either function, whichever is the faster one on this
    processor."""
    if request.param != "compiled":
        monkeypatch.setattr(numpy_activations, "extension", None)
    elif numpy_activations.extension is None:
        pytest.skip("the compiled core is not built, or switched off")
    monkeypatch.setattr(numpy_activations, "FEW", 64)
    monkeypatch.setattr(numpy_activations, "BLOCK", 64)
    monkeypatch.setattr(numpy_activations, "EXP2", request.param == "exp2")


def numbers(dtype, seed=0):
    return 3 * np.random.default_rng(seed).standard_normal((15, 27)).astype(dtype)


def by_formula(x):
    """GELU and its derivative in float64."""
    x = np.clip(x.astype("f8"), -1e3, 1e3)
    c, k = math.sqrt(2 / math.pi), 0.044715 * math.sqrt(2 / math.pi)
    t = np.tanh(c * x + k * x**3)
    return 0.5 * x * (1 + t), 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * (c + 3 * k * x * x)


@pytest.mark.parametrize(("dtype", "error"), [("f4", 3e-6), ("f8", 1e-14)])
@pytest.mark.parametrize("turned", [False, True])
def test_values_and_gradients(many_blocks, dtype, error, turned):
    x, g = numbers(dtype), numbers(dtype, seed=1)
    if turned:
        x, g = x.T, g.T
    value, slope = by_formula(x)
    y = numpy_activations.gelu_tanh_value(x)
    grad = numpy_activations.gelu_tanh_gradient(g, x)
    assert y.dtype == grad.dtype == x.dtype
    assert y.base is None
    np.testing.assert_allclose(y, value, atol=error)
    np.testing.assert_allclose(grad, g * slope, atol=5 * error)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_extremes(many_blocks, dtype):
    x = np.array(EXTREMES * 10, dtype)
    grad = numpy_activations.gelu_tanh_gradient(np.ones_like(x), x)
    np.testing.assert_allclose(grad, by_formula(x)[1], atol=1e-7)
    x[3] = np.nan
    is_nan = np.isnan(numpy_activations.gelu_tanh_gradient(np.ones_like(x), x))
    assert is_nan[3]
    assert is_nan.sum() == 1


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_values_of_extremes(many_blocks, dtype):
    x = np.array(EXTREMES[:-1] * 10, dtype)
    with np.errstate(all="raise", under="ignore"):
        y = numpy_activations.gelu_tanh_value(x)
    # far out it is x or 0, up to the last digit of the largest numbers
    np.testing.assert_allclose(y, np.where(x > 10, x, by_formula(x)[0]), rtol=1e-6, atol=1e-7)
    x[3], x[5] = np.nan, -np.inf  # 0 times infinity, as in the formula and in PyTorch
    with np.errstate(invalid="ignore"):
        is_nan = np.isnan(numpy_activations.gelu_tanh_value(x))
    assert is_nan[[3, 5]].all()
    assert is_nan.sum() == 2


def test_a_far_number_changes_no_other(many_blocks):
    x = numbers("f4").reshape(-1)
    g = np.ones_like(x)
    far = x.copy()
    far[::50] = 1e20
    near = far == x
    for function in (
        numpy_activations.gelu_tanh_value,
        partial(numpy_activations.gelu_tanh_gradient, g),
    ):
        np.testing.assert_array_equal(function(far)[near], function(x)[near])


def test_others_take_the_general_form(many_blocks):
    few, half = numbers("f8")[0], numbers("f2")
    assert numpy_activations.gelu_tanh_value(few) is NotImplemented
    assert numpy_activations.gelu_tanh_gradient(half, half) is NotImplemented
    x = ag.Variable(half, requires_grad=True)
    ag.gelu(x, "tanh").backward(np.ones_like(half))
    np.testing.assert_allclose(x.grad, by_formula(half)[1], atol=5e-3)


def test_the_second_derivative(many_blocks):
    x = ag.Variable(numbers("f8"), requires_grad=True)
    (first,) = ag.gradients(ag.sum(ag.gelu(x, "tanh")), [x], create_graph=True)
    second = ag.gradients(ag.sum(first), x)
    near = 1e-5
    difference = by_formula(x.value + near)[1] - by_formula(x.value - near)[1]
    np.testing.assert_allclose(second.value, difference / (2 * near), atol=1e-8)


def test_the_compiled_form_is_exact_to_float32():
    if numpy_activations.extension is None:
        pytest.skip("the compiled core is not built, or switched off")
    x = np.linspace(-12, 12, 100_001, dtype="f4").reshape(1, -1)
    value, slope = by_formula(x)
    y = numpy_activations.gelu_tanh_value(x)
    grad = numpy_activations.gelu_tanh_gradient(np.ones_like(x), x)
    assert np.abs(y - value).max() < 6e-7  # half a unit in the last place of 10
    assert np.abs(grad - slope).max() < 3e-7
    with pytest.raises(TypeError, match="arrays of float32"):
        numpy_activations.extension.gelu((x, y[:, :5]), 0, 100)
    with pytest.raises(TypeError, match="a tuple of two or three arrays"):
        numpy_activations.extension.gelu((x,), 0, 100)


def test_arrays_at_any_address():
    """As in a file that is read or mapped from some byte on."""
    x, g = np.random.default_rng(0).normal(size=(2, 333)).astype("f4")
    results = []
    for offset in (0, 1):
        memory = np.zeros((2, x.nbytes + 8), np.uint8)[:, offset : offset + x.nbytes]
        odd, upstream = memory[0].view("f4"), memory[1].view("f4")
        odd[...], upstream[...] = x, g
        assert odd.flags.aligned == (offset == 0)
        v = ag.Variable(odd, requires_grad=True)
        y = ag.gelu(v, "tanh")
        y.backward(upstream)
        results.append((y.value, v.grad))
    np.testing.assert_array_equal(*results)
