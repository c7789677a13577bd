"""Matrices without elements: NumPy's values, and gradients of every order."""

import numpy as np
import pytest

import autograd_gpu as ag

SHAPES = [(0, 3), (3, 0), (0, 0), (2, 0, 3), (2, 3, 0)]


def outcome(f, x):
    try:
        return f(x)
    except ValueError:
        return None


@pytest.mark.parametrize("ord", [2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc"])
@pytest.mark.parametrize("shape", SHAPES)
def test_matrix_norms(shape, ord):
    x = ag.Variable(np.zeros(shape), requires_grad=True)
    expected = outcome(lambda x: np.linalg.matrix_norm(x, ord=ord), np.zeros(shape))
    y = outcome(lambda x: ag.linalg.matrix_norm(x, ord=ord), x)
    if expected is None:
        assert y is None
    else:
        np.testing.assert_array_equal(y.value, expected)
        ag.sum(y).backward()
        assert x.grad.shape == shape


@pytest.mark.parametrize("ord", [1, 2, 3, np.inf])
@pytest.mark.parametrize("axis", [0, -1, None])
@pytest.mark.parametrize("shape", SHAPES)
def test_vector_norms(shape, axis, ord):
    expected = np.linalg.vector_norm(np.zeros(shape), ord=ord, axis=axis)
    y = ag.linalg.vector_norm(ag.Variable(np.zeros(shape)), ord=ord, axis=axis)
    np.testing.assert_array_equal(y.value, expected)


@pytest.mark.parametrize("shape", SHAPES)
def test_rank(shape):
    expected = np.linalg.matrix_rank(np.zeros(shape))
    rank = ag.linalg.matrix_rank(ag.Variable(np.zeros(shape)))
    np.testing.assert_array_equal(rank.value, expected)


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0)])
def test_the_determinant_is_a_constant(shape):
    x = ag.Variable(np.zeros(shape), requires_grad=True)
    loss = ag.sum(ag.linalg.det(x) ** 2)
    assert loss.item() == np.sum(np.linalg.det(np.zeros(shape)) ** 2)
    for _ in range(2):
        (grad,) = ag.gradients([loss], [x], create_graph=True)
        assert grad.shape == shape
        loss = ag.sum(grad**2)
