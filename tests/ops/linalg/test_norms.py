"""Norms and conditions."""

import numpy as np
import pytest
from matrices import (
    complexes,
    gradient,
    real,
)

import autograd_gpu as ag
from autograd_gpu import linalg

NORMS = (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)


@pytest.mark.parametrize("ord", NORMS)
@pytest.mark.parametrize("draws", [real, complexes])
def test_matrix_norms(ord, draws):
    x = draws(2, 3, 4)
    for axis in ((-2, -1), (0, 2), (1, 0)):
        for keepdims in (False, True):
            f = lambda x: linalg.norm(x, ord, axis, keepdims)  # noqa: B023, E731
            np.testing.assert_allclose(f(x).numpy(), np.linalg.norm(x, ord, axis, keepdims))
            assert ag.grad_check(f, [x])
    if ord is not None:
        np.testing.assert_allclose(
            linalg.matrix_norm(x, keepdims=True, ord=ord).numpy(),
            np.linalg.norm(x, ord, (-2, -1), True),
        )
        f = lambda x: linalg.norm(x, ord)  # noqa: E731
        np.testing.assert_allclose(f(x[0]).numpy(), np.linalg.norm(x[0], ord))
        assert np.abs(gradient(f, np.zeros((2, 2)))).max() == 0


@pytest.mark.parametrize("ord", [None, 0, 1, 2, 3, 0.5, -1, -2, np.inf, -np.inf])
@pytest.mark.parametrize("draws", [real, complexes])
def test_vector_norms(ord, draws):
    x = draws(2, 3)
    for axis in (0, -1):
        f = lambda x: linalg.norm(x, ord, axis, True)  # noqa: B023, E731
        np.testing.assert_allclose(f(x).numpy(), np.linalg.norm(x, ord, axis, True))
        assert ag.grad_check(f, [x])
    f = lambda x: linalg.norm(x, ord)  # noqa: E731
    np.testing.assert_allclose(f(x[0]).numpy(), np.linalg.norm(x[0], ord))
    if ord not in (-1, -2):  # NumPy warns
        assert np.abs(gradient(f, np.zeros(3))).max() == 0


def test_norm_without_order_is_of_all_elements():
    x = real(2, 3, 4)
    np.testing.assert_allclose(linalg.norm(x).item(), np.linalg.norm(x))
    with pytest.raises(ValueError, match=r"norm: ord=2 without an axis"):
        linalg.norm(x, 2)
    with pytest.raises(ValueError, match=r"ord='nuc' is no order for vectors"):
        linalg.norm(x, "nuc", 1)
    with pytest.raises(ValueError, match=r"ord=3 is no order for matrices"):
        linalg.norm(x, 3, (0, 1))


@pytest.mark.parametrize("p", [None, 2, -2, "fro", "nuc", 1, -1, np.inf])
def test_cond(p):
    x = real(2, 3, 3)
    np.testing.assert_allclose(linalg.cond(x, p).numpy(), np.linalg.cond(x, p))
    assert ag.grad_check(lambda x: linalg.cond(x, p), [x])
