"""An infinite gradient of an element that a mask left out stays out."""

import numpy as np
import pytest

import autograd_gpu as ag

FUNCTIONS = {
    "relu": ag.relu,
    "clip": lambda x: ag.clip(x, 0.0, None),
    "maximum": lambda x: ag.maximum(x, 0.0),
    "where": lambda x: ag.where(x > 0, x, 0.0),
}


@pytest.mark.parametrize("size", [4, 20_000])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_square_root_of_what_is_cut_off(name, size):
    x = ag.Variable(np.resize([-1.0, 4.0], size), requires_grad=True)
    with np.errstate(divide="ignore"):
        ag.sqrt(FUNCTIONS[name](x)).sum().backward()
    np.testing.assert_array_equal(x.grad, np.resize([0.0, 0.25], size))


@pytest.mark.parametrize("size", [5, 20_000])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int64"])
def test_numbers_are_a_mask_where_they_are_not_0(size, dtype):
    mask = np.resize([0, -1, 2, 0, 3], size).astype(dtype)
    x = ag.Variable(np.resize([np.inf, 1.0, np.nan, np.nan, 2.0], size))
    expected = np.where(mask != 0, x.value, 0)
    np.testing.assert_array_equal(ag.ops.masked(x, mask).value, expected)


def test_the_larger_one_takes_an_infinite_gradient_alone():
    x = ag.Variable([0.0, -1.0], requires_grad=True)
    with np.errstate(divide="ignore"):
        ag.sqrt(ag.max(x)).backward()
    np.testing.assert_array_equal(x.grad, [np.inf, 0.0])


@pytest.mark.parametrize("f", [ag.leaky_relu, lambda x: ag.elu(x, alpha=1.0)])
def test_an_infinite_gradient_passes_a_slope(f):
    x = ag.Variable([-1.0, 4.0], requires_grad=True)
    f(x).backward(np.full(2, np.inf, np.float32))
    np.testing.assert_array_equal(x.grad, [np.inf, np.inf])
