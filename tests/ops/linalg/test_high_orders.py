"""Singular matrices, and derivatives of the third order."""

import math

import numpy as np
import pytest
from matrices import complexes, real, weights

import autograd_gpu as ag
from autograd_gpu import linalg


@pytest.mark.parametrize("draws", [real, complexes])
@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_second_derivatives_of_det_of_singular_matrices(rank, draws):
    x = draws(4, rank) @ draws(rank, 4)
    assert ag.grad_check(linalg.det, [x], atol=1e-5)
    assert ag.grad_check(linalg.det, [x], order=2, atol=1e-5)


def compound(x, e):
    """The derivatives of det at x along e: t ** k in det(x + t e), by interpolation."""
    t = np.cos(np.pi * (np.arange(12) + 0.5) / 12) * 1.5
    polynomial = np.polynomial.Polynomial.fit(t, [np.linalg.det(x + s * e) for s in t], len(x))
    return polynomial.convert().coef


@pytest.mark.parametrize("draws", [real, complexes])
@pytest.mark.parametrize("n", [2, 3, 5, 10])
@pytest.mark.parametrize("nullity", [0, 1, 2, 3, 10])
def test_derivatives_of_det_of_singular_matrices_to_the_fourth_order(n, nullity, draws):
    rank = max(n - nullity, 0)
    x = draws(n, rank) @ draws(rank, n) / max(rank, 1)
    if nullity == 0 and draws is real:
        x = np.eye(n)
    e = weights(n, n) + (1j * weights(n, n).T if draws is complexes else 0)
    expected = compound(x, e)

    def along(t):
        return ag.real(linalg.det(ag.Variable(x) + t * e))

    for k in range(1, 5):
        along = ag.grad(along)
        coefficient = expected[k].real * math.factorial(k) if k <= n else 0.0
        np.testing.assert_allclose(along(np.array(0.0)), coefficient, rtol=1e-6, atol=1e-8)


THIRD = {
    "solve": lambda x: linalg.solve(x, weights(3, 2)),
    "inv": linalg.inv,
    "cholesky": lambda x: linalg.cholesky(x @ x.mT + np.eye(3)),
    "qr": lambda x: linalg.qr(x).R,
    "svd": lambda x: linalg.svd(x).U,
    "eigh": lambda x: linalg.eigh(x @ x.mT).eigenvectors,
    "pinv": lambda x: linalg.pinv(x[:, :2]),
    "expm": linalg.expm,
    "slogdet": lambda x: linalg.slogdet(x).logabsdet,
    "norm": lambda x: linalg.vector_norm(x, axis=1, ord=3),
    "nuc": lambda x: linalg.matrix_norm(x, ord="nuc"),
}


@pytest.mark.parametrize("name", THIRD)
def test_third_derivatives(name):
    x = real(3, 3) + np.diag([0, 1, 3])
    loss = lambda x: ag.sum(ag.sin(THIRD[name](x)))  # noqa: E731
    first = ag.grad(loss)
    second = ag.grad(lambda x: ag.sum(first(x) * weights(3, 3)))
    third = ag.grad(lambda x: ag.sum(second(x) * weights(3, 3).T))(x)
    step = 1e-5 * weights(3, 3)
    difference = np.sum((second(x + step) - second(x - step)) * weights(3, 3).T)
    np.testing.assert_allclose(np.sum(third * step) * 2, difference, rtol=1e-5, atol=1e-11)


def test_a_singular_matrix_has_no_gradient_of_its_logarithm():
    v = ag.Variable(np.ones((2, 2)), requires_grad=True)
    sign, log = linalg.slogdet(v)
    assert (sign.item(), log.item()) == (0, -np.inf)
    with pytest.raises(np.linalg.LinAlgError):
        log.backward()
