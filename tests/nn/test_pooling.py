"""Pooling: values, derivatives, ties, errors."""

import numpy as np
import pytest
from operands import normal, on

import autograd_gpu as ag
import autograd_gpu.nn.functional as F


def test_max_pool2d(backend):
    x = on(backend, np.arange(16.0).reshape(1, 1, 4, 4), True)
    y = F.max_pool2d(x, 2)
    assert y.tolist() == [[[[5, 7], [13, 15]]]]
    ag.sum(y).backward()
    expected = np.zeros((4, 4))
    expected[1::2, 1::2] = 1
    np.testing.assert_array_equal(ag.Variable(x.grad).numpy()[0, 0], expected)


@pytest.mark.parametrize("options", [(2,), (3, 1, 1), ((2, 3), 2, 1, 1, True), (2, 1, 0, 2)])
def test_pooling_derivatives(backend, options):
    x = normal(2, 2, 6, 7)
    assert ag.grad_check(lambda x: F.max_pool2d(x, *options), [x], fast=True)
    pooled = F.max_pool2d(on(backend, x), *options)
    np.testing.assert_array_equal(pooled.numpy(), F.max_pool2d(x, *options).value)

    def derivatives(name):
        v = on(name, x, True)
        first = ag.gradients(ag.sum(F.max_pool2d(v, *options) ** 3), v, create_graph=True)
        return first.numpy(), ag.gradients(ag.sum(first**2), v).numpy()

    for actual, expected in zip(derivatives(backend), derivatives("numpy"), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-12)


def test_the_first_of_equal_maxima_gets_the_gradient():
    x = ag.Variable(np.ones((1, 1, 2, 4)), True)
    ag.sum(F.max_pool2d(x, 2)).backward()
    assert x.grad.tolist() == [[[[1, 0, 1, 0], [0, 0, 0, 0]]]]


def test_max_pool2d_of_integers_and_nan():
    assert F.max_pool2d(np.arange(4).reshape(1, 1, 2, 2), 2, padding=1).dtype == np.int64
    assert np.isnan(F.max_pool2d([[[[1.0, float("nan")], [0.0, 2.0]]]], 2).item())


def test_pooling_refuses():
    x = np.ones((1, 1, 4, 4))
    with pytest.raises(ValueError, match="more than half"):
        F.max_pool2d(x, 2, padding=2)
    with pytest.raises(ValueError, match="does not fit"):
        F.avg_pool2d(x, 5)
    with pytest.raises(ValueError, match="pair"):
        F.max_pool2d(x, (1, 2, 3))
