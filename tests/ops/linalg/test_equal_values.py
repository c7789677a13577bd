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


def second(f, x, e):
    """The gradient of the derivative of f along e."""
    first = ag.grad(lambda x: ag.real(ag.sum(f(x))))
    return ag.grad(lambda x: ag.sum(ag.real(first(x) * np.conj(e))))(x)


@pytest.mark.parametrize("draws", [real, complexes])
@pytest.mark.parametrize("values", DEGENERATE)
@pytest.mark.parametrize("identity", [True, False])
def test_second_derivatives_of_losses_of_equal_eigenvalues(values, draws, identity):
    n = len(values)
    x = np.diag(values) + 0 * draws(1, 1) if identity else turned(values, draws)
    e = hermitian(draws(n, n))
    pairs = (
        (lambda w: ag.sum(ag.exp(w)), lambda x: ag.trace(linalg.expm(x))),
        (
            lambda w: ag.sum((w - values[0]) ** 2),
            lambda x: ag.trace(x @ x) - 2 * values[0] * ag.trace(x),
        ),
        (lambda w: ag.sum(w**2) * ag.sum(w**3), lambda x: ag.trace(x @ x) * ag.trace(x @ x @ x)),
    )
    for direction in (e, e - np.diag(np.diag(e))):
        for of_values, of_matrix in pairs:
            expected = hermitian(second(of_matrix, x, direction))
            for f in (linalg.eigvalsh, lambda x: linalg.eigh(x).eigenvalues):
                found = second(lambda x, f=f, g=of_values: g(f(x)), x, direction)
                np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("draws", [real, complexes])
@pytest.mark.parametrize("values", DEGENERATE)
@pytest.mark.parametrize("extra", [0, 1])
def test_second_derivatives_of_losses_of_equal_singular_values(values, draws, extra):
    n = len(values)
    left, right = np.linalg.qr(draws(n + extra, n))[0], np.linalg.qr(draws(n, n))[0]
    x, e = (left * np.array(values)) @ right, draws(n + extra, n)
    square = lambda x: h(x) @ x  # noqa: E731
    expected = second(lambda x: ag.trace(square(x) @ square(x)), x, e)
    for f in (linalg.svdvals, lambda x: linalg.svd(x).S):
        found = second(lambda x, f=f: f(x) ** 4, x, e)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("draws", [real, complexes])
def test_second_and_third_derivatives_of_losses_of_spans(draws):
    x, e = turned([1.0, 1, 4, 4], draws), hermitian(draws(4, 4))
    sign = lambda x: linalg.matrix_function(x, lambda w: ag.tanh((w - 2.5) * 1e3))  # noqa: E731
    one = np.eye(4)
    w = weights(4, 4) + 1j * weights(4, 4).T

    def of_vectors(x):
        v = linalg.eigh(x).eigenvectors[:, :2]
        return ag.real(ag.sum((v @ h(v)) * w))

    def of_matrix(x):
        return ag.real(ag.sum((one - sign(x)) / 2 * w))

    def along(f, order):
        g = lambda t: f(ag.Variable(x) + t * e)  # noqa: E731
        for _ in range(order):
            g = ag.grad(g)
        return g(np.array(0.0))

    for order in (1, 2, 3):
        np.testing.assert_allclose(along(of_vectors, order), along(of_matrix, order), rtol=1e-7)


def test_vectors_of_equal_eigenvalues_are_in_general_position():
    # Along the axes the loss has no gradient for the values, and none for the vectors' lengths.
    w = np.array([[0.0, 1], [1, 0]])

    def loss(x):
        e, v = linalg.eigh(x)
        return ag.sum(((v * ag.exp(e)) @ v.mT) * w)

    np.testing.assert_allclose(gradient(loss, np.eye(2)), np.e * w, atol=1e-12)
    v = linalg.eigh(ag.Variable(np.eye(2), requires_grad=True)).eigenvectors.numpy()
    np.testing.assert_allclose(v @ v.T, np.eye(2), atol=1e-15)
    np.testing.assert_array_equal(linalg.eigh(np.eye(2)).eigenvectors.numpy(), np.eye(2))


def test_without_full_rank_only_flat_functions_of_singular_values_are_right():
    x = np.outer([1.0, 2.0, -1.0], [0.5, 1.0, 2.0])

    def made_of(h):
        def f(x):
            u, s, vh = ag.linalg.svd(x)
            return (u * h(s)) @ vh

        return f

    assert ag.grad_check(made_of(lambda s: s**3), [x])
    with pytest.raises(ag.GradCheckError):
        ag.grad_check(made_of(lambda s: s), [x])
