"""Equal eigenvalues and singular values, between which vectors are free to turn."""

import numpy as np
import pytest
from matrices import complexes, gradient, h, hermitian, real, spanned, turned, weights

import autograd_gpu as ag
from autograd_gpu import linalg

DEGENERATE = ([1.0, 1, 1], [2.0, 2, 5], [1.0, 3, 3, 3], [1.0, 1, 4, 4], [0.0, 0, 2])


@pytest.mark.parametrize("draws", [real, complexes])
@pytest.mark.parametrize("values", DEGENERATE)
def test_equal_eigenvalues_have_the_gradient_of_losses_of_eigenvalues(values, draws):
    x = turned(values, draws)
    w, v = np.linalg.eigh(x)
    expected = (v * np.exp(w)) @ np.conj(v.T)
    for f in (lambda x: linalg.eigh(x).eigenvalues, linalg.eigvalsh):
        found = gradient(lambda x, f=f: ag.sum(ag.exp(f(x))), x)
        np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize("draws", [real, complexes])
@pytest.mark.parametrize("values", DEGENERATE)
@pytest.mark.parametrize("identity", [True, False])
def test_equal_eigenvalues_have_the_gradient_of_functions_of_matrices(values, draws, identity):
    x = np.diag(values) + 0 * draws(1, 1) if identity else turned(values, draws)
    n = len(values)
    for w in (weights(n, n), np.ones((n, n))):

        def loss(x, w=w):
            e, v = linalg.eigh(x)
            return ag.sum(ag.real(((v * ag.exp(e)[..., None, :]) @ h(v)) * w))

        expected = gradient(lambda x, w=w: ag.sum(ag.real(linalg.expm(x) * w)), x)
        np.testing.assert_allclose(gradient(loss, x), hermitian(expected), atol=1e-8)


@pytest.mark.parametrize("draws", [real, complexes])
def test_equal_eigenvalues_have_the_gradient_of_losses_of_spans(draws):
    x = turned([1.0, 1, 4, 6], draws)
    loss = lambda x: spanned(linalg.eigh(x).eigenvectors[:, :2])  # noqa: E731
    found = gradient(loss, x)
    assert np.abs(found).max() > 0.01
    step = hermitian(draws(4, 4)) * 1e-5
    difference = (loss(ag.Variable(x + step)) - loss(ag.Variable(x - step))).item()
    np.testing.assert_allclose(np.sum(np.conj(found) * step).real * 2, difference, rtol=1e-6)


def test_equal_singular_values():
    q = np.linalg.qr(real(3, 3))[0]
    w = weights(3, 3)
    nuclear = gradient(lambda x: linalg.matrix_norm(x, ord="nuc"), q)
    np.testing.assert_allclose(nuclear, q, atol=1e-12)

    def polar(x):
        u, _, vh = linalg.svd(x)
        return ag.sum((u @ vh) * w)

    # The polar factor of q + e turns with the skew part of qᵀ e alone.
    skew = q.T @ w - w.T @ q
    np.testing.assert_allclose(gradient(polar, q), q @ skew / 2, atol=1e-12)

    def rebuilt(x):
        u, s, vh = linalg.svd(x, full_matrices=False)
        return ag.sum(((u * s) @ vh) * w[:, : x.shape[1]])

    for x in (q, np.eye(3), np.eye(3)[:, :2] * 2):
        np.testing.assert_allclose(gradient(rebuilt, x), w[:, : x.shape[1]], atol=1e-12)


def test_ties_of_singular_values_share_the_gradient_of_the_largest():
    np.testing.assert_allclose(
        gradient(lambda x: linalg.matrix_norm(x, ord=2), np.eye(2)), np.eye(2) / 2, atol=1e-12
    )
