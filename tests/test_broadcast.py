"""sum_to against broadcasting itself: it is the transpose of broadcast_to."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import mutually_broadcastable_shapes

import autograd_gpu as ag
from autograd_gpu import ops
from autograd_gpu.broadcast import sum_to

NUMPY = ag.backend.load_backend("numpy").xp


@settings(max_examples=200, deadline=None)
@given(mutually_broadcastable_shapes(num_shapes=1, base_shape=(2, 1, 3), min_side=0))
def test_sum_to_is_the_transpose_of_broadcast_to(shapes):
    (shape,) = shapes.input_shapes
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape)
    g = rng.standard_normal(shapes.result_shape)
    # <broadcast(x), g> == <x, sum_to(g)>
    if np.broadcast_shapes(shape, shapes.result_shape) != shapes.result_shape:
        return
    summed = sum_to(NUMPY, g, shape)
    assert np.shape(summed) == shape
    np.testing.assert_allclose(
        np.sum(np.broadcast_to(x, g.shape) * g), np.sum(x * summed), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize(
    ("given", "shape"),
    [
        ((32, 4), (4,)),
        ((32, 4), (1, 4)),
        ((2, 3, 4), ()),
        ((2, 3, 4), (1, 1)),
        ((2, 3, 4), (3, 1)),
        ((0, 3), (3,)),
        ((0, 3), (1, 3)),
        ((3,), (3,)),
    ],
)
def test_raw_and_recorded(given, shape):
    g = np.arange(float(np.prod(given))).reshape(given)
    raw = sum_to(NUMPY, g, shape)
    v = ag.Variable(g, requires_grad=True)
    recorded = sum_to(ops, v, shape)
    assert recorded.shape == shape
    np.testing.assert_array_equal(recorded.value, raw)
    if shape != given:
        ones = np.ones(shape)
        recorded.backward(ones)
        np.testing.assert_array_equal(v.grad, np.broadcast_to(ones, given))


def test_a_bias_gets_the_column_sums():
    x = ag.Variable(np.ones((32, 4)))
    bias = ag.Variable(np.zeros(4), requires_grad=True)
    g = np.random.default_rng(1).standard_normal((32, 4))
    (x + bias).backward(g)
    np.testing.assert_allclose(bias.grad, g.sum(axis=0))


@pytest.mark.parametrize("shape", [(2,), (3, 3), (4, 2, 3), (5, 1, 2, 3)])
def test_what_was_never_broadcast(shape):
    with pytest.raises(ValueError, match=r"\(2, 3\) cannot be summed to the shape"):
        sum_to(NUMPY, np.ones((2, 3)), shape)
