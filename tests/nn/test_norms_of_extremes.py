"""Norms of rows far from 0, of constant ones, and of numbers whose powers are beyond the dtype."""

import numpy as np
import pytest

import autograd_gpu as ag

F = ag.nn.functional


def batch(x, eps):
    zeros, ones = (np.full(x.shape[1], v, x.dtype) for v in (0, 1))
    return F.batch_norm(x, zeros, ones, training=True, eps=eps)


def layer(x, eps):
    return F.layer_norm(x, x.shape[-1:], eps=eps)


# Shapes on both sides of where NumPy's forms in blocks of memory begin, and the axes of a mean.
CASES = {
    "layer": (layer, (3, 513), (1,)),
    "layer in blocks": (layer, (300, 513), (1,)),
    "small images": (lambda x, eps: F.instance_norm(x, eps=eps), (3, 4, 14, 14), (2, 3)),
    "large images": (lambda x, eps: F.instance_norm(x, eps=eps), (9, 10, 20, 20), (2, 3)),
    "short channels": (lambda x, eps: F.instance_norm(x, eps=eps), (99, 10, 4, 4), (2, 3)),
    "small batch": (batch, (515, 4), (0,)),
    "batch of images": (batch, (5, 4, 13, 13), (0, 2, 3)),
}


@pytest.mark.parametrize("value", [1 / 3, -7.77e5, 1234567.0])
@pytest.mark.parametrize("case", CASES)
def test_what_is_constant_has_no_deviation(case, value):
    function, shape, _ = CASES[case]
    x = ag.Variable(np.full(shape, value, "float32"), requires_grad=True)
    y = function(x, 1e-5)
    g = np.random.default_rng(0).normal(size=shape).astype("float32")
    y.backward(g)
    assert np.abs(y.numpy()).max() < 1e-4
    assert np.abs(x.grad).max() < 1.01 * np.abs(g).max() * 2 / np.sqrt(1e-5)


@pytest.mark.parametrize("scale", [1e-13, 1.0, 1e15])
@pytest.mark.parametrize("offset", [0.0, 100.0])
@pytest.mark.parametrize("case", CASES)
def test_scales_whose_third_powers_are_too_small_or_large(case, offset, scale):
    function, shape, axes = CASES[case]
    rng = np.random.default_rng(1)
    x, g = (rng.normal(size=shape).astype("float32") for _ in range(2))
    x = (x + np.float32(offset)) * np.float32(scale)
    got = ag.Variable(x, requires_grad=True)
    y = function(got, 1e-30)
    y.backward(g)
    wide, h = x.astype(float), g.astype(float)
    wide -= wide.mean(axes, keepdims=True)
    deviation = np.sqrt((wide**2).mean(axes, keepdims=True) + 1e-30)
    normal = wide / deviation
    grad = h - h.mean(axes, keepdims=True) - normal * (h * normal).mean(axes, keepdims=True)
    accuracy = 2e-5 if offset else 2e-6  # there are fewer digits beside a large mean
    np.testing.assert_allclose(y.numpy(), normal, atol=accuracy)
    np.testing.assert_allclose(got.grad * deviation, grad, atol=3 * accuracy)
