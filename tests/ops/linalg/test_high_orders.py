"""Singular matrices, and derivatives of the third order."""

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


@pytest.mark.parametrize("x", [np.eye(3), real(3, 3)])
def test_third_derivatives_of_det(x):
    first = ag.grad(lambda x: linalg.det(x))
    second = ag.grad(lambda x: ag.sum(first(x) * weights(3, 3)))
    third = ag.grad(lambda x: ag.sum(second(x) * weights(3, 3).T))(x)
    step = 1e-5 * real(3, 3)
    difference = np.sum((second(x + step) - second(x - step)) * weights(3, 3).T)
    np.testing.assert_allclose(np.sum(third * step) * 2, difference, rtol=1e-6)


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
