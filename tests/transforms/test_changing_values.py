"""Functions that change their arguments, and results that are changed."""

import numpy as np
import pytest
from operands import leaf

import autograd_gpu as ag


def scale_first(x):
    x[0] = 5.0
    x *= 2.0
    return ag.sum(x * x)


@pytest.mark.parametrize(
    "derivative",
    [
        lambda f, x: ag.grad(f)(x),
        lambda f, x: ag.value_and_grad(f)(x)[1],
        lambda f, x: ag.vjp(f, x)[1](1.0)[0],
        lambda f, x: ag.jacobian(f)(x),
    ],
)
def test_a_function_may_change_its_argument(derivative):
    x = leaf([1.0, 2.0, 3.0])
    g = derivative(scale_first, x)
    np.testing.assert_array_equal(g.numpy(), [0.0, 16.0, 24.0])
    np.testing.assert_array_equal(x.numpy(), [1.0, 2.0, 3.0])
    ag.sum(g).backward()
    np.testing.assert_array_equal(x.grad, [0.0, 8.0, 8.0])


def test_products_of_a_function_that_changes_its_argument():
    x, v = leaf([1.0, 2.0, 3.0]), np.ones(3)
    np.testing.assert_array_equal(ag.hvp(scale_first)(x, v).numpy(), [0.0, 8.0, 8.0])
    y, dy = ag.jvp(scale_first, (x,), (v,))
    assert (y.item(), dy.item()) == (152.0, 40.0)


def test_results_share_memory_with_nothing_that_counts():
    x, g = np.array([1.0, 2.0]), np.ones(2)
    y, pull = ag.vjp(lambda x: ag.exp(x), x)
    expected = y.copy()
    y *= 100.0
    np.testing.assert_array_equal(pull(g)[0], expected)
    y, pull = ag.vjp(lambda x: x, x)
    y *= 100.0
    np.testing.assert_array_equal(x, [1.0, 2.0])
    assert not np.shares_memory(pull(g)[0], g)
    a, b = ag.grad(lambda x, y: ag.sum(x + y), (0, 1))(x, x)
    a *= 2.0
    np.testing.assert_array_equal(b, [1.0, 1.0])
    y, dy = ag.jvp(lambda x: x, x, g)
    assert not np.shares_memory(y, x)
    assert not np.shares_memory(dy, g)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda x, v: ag.vjp(lambda x: x * 2, x)[1](v), "pull: array 0 has dtype float32.*float64"),
        (lambda x, v: ag.jvp(lambda x: x * 2, x, v), "jvp: array 0 has dtype float32.*float64"),
        (lambda x, v: ag.hvp(ag.sum)(x, v), "hvp: array 0 has dtype float32.*float64"),
    ],
)
def test_vectors_of_another_dtype_are_refused(call, match):
    with pytest.raises(TypeError, match=match):
        call(np.ones(2), np.ones(2, np.float32))
