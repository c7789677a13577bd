"""What is made of the primitives: systems of equations, products, tensors, triangles."""

import numpy as np
import pytest
from matrices import RNG, complexes, real, turned, weights

import autograd_gpu as ag
from autograd_gpu import linalg


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("unit", [True, False])
def test_solve_triangular(lower, unit):
    a, b = complexes(2, 3, 3), real(3, 2)
    triangle = np.tril(a) if lower else np.triu(a)
    if unit:
        i = np.arange(3)
        triangle[..., i, i] = 1
    f = lambda a, b: linalg.solve_triangular(a, b, lower=lower, unit_diagonal=unit)  # noqa: E731
    np.testing.assert_allclose(f(a, b).numpy(), np.linalg.solve(triangle, b))
    assert ag.grad_check(f, [a, b])
    assert ag.grad_check(f, [a, b], order=2)


@pytest.mark.parametrize("shapes", [((5, 3), (5,)), ((5, 3), (5, 2)), ((2, 4), (2,))])
def test_lstsq(shapes):
    a, b = (RNG.uniform(-1, 1, shape) for shape in shapes)
    expected = np.linalg.lstsq(a, b, rcond=None)
    x, residuals, rank, s = linalg.lstsq(a, b)
    np.testing.assert_allclose(x.numpy(), expected[0])
    np.testing.assert_allclose(residuals.numpy(), expected[1])
    assert rank == expected[2]
    np.testing.assert_allclose(s.numpy(), expected[3])
    assert ag.grad_check(lambda a, b: linalg.lstsq(a, b).x, [a, b])
    assert ag.grad_check(lambda a, b: linalg.lstsq(a, b).x, [a, b], order=2)
    if residuals.size:
        assert ag.grad_check(lambda a, b: linalg.lstsq(a, b).residuals, [a, b])


@pytest.mark.parametrize("order", [1, 2])
def test_matrices_of_constant_rank(order):
    a, b, right = real(4, 2), real(2, 3), real(4, 2)
    assert ag.grad_check(lambda a, b: linalg.pinv(a @ b, 1e-8), [a, b], order=order)
    f = lambda a, b, c: linalg.lstsq(a @ b, c, 1e-8).x  # noqa: E731
    assert ag.grad_check(f, [a, b, right], order=order)


@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 7])
@pytest.mark.parametrize("draws", [real, complexes])
def test_matrix_power(n, draws):
    x = draws(2, 3, 3) / 2
    np.testing.assert_allclose(linalg.matrix_power(x, n).numpy(), np.linalg.matrix_power(x, n))
    assert ag.grad_check(lambda x: linalg.matrix_power(x, n), [x], rtol=1e-3)


@pytest.mark.parametrize(
    "shapes",
    [((2, 3), (3, 4)), ((2, 30), (30, 4), (4, 5), (5, 1)), ((3,), (3, 2), (2,)), ((3,), (3, 2))],
)
def test_multi_dot(shapes):
    xs = [RNG.uniform(-1, 1, shape) for shape in shapes]
    np.testing.assert_allclose(linalg.multi_dot(xs).numpy(), np.linalg.multi_dot(xs))
    assert ag.grad_check(lambda *xs: linalg.multi_dot(xs), xs)


def test_tensors():
    a, b = RNG.uniform(-1, 1, (2, 3, 6)), RNG.uniform(-1, 1, (2, 3))
    np.testing.assert_allclose(linalg.tensorsolve(a, b).numpy(), np.linalg.tensorsolve(a, b))
    c = np.moveaxis(a, 2, 0)
    np.testing.assert_allclose(
        linalg.tensorsolve(c, b, axes=(0,)).numpy(), np.linalg.tensorsolve(c, b, axes=(0,))
    )
    np.testing.assert_allclose(linalg.tensorinv(a).numpy(), np.linalg.tensorinv(a))
    assert ag.grad_check(linalg.tensorsolve, [a, b])
    assert ag.grad_check(linalg.tensorinv, [a])


@pytest.mark.parametrize("draws", [real, complexes])
def test_triangles(draws):
    x = turned([1.0, 2, 4], draws)
    junk = weights(3, 3)
    for UPLO, given in (
        ("L", np.tril(x) + np.triu(junk, 1)),
        ("U", np.triu(x) + np.tril(junk, -1)),
    ):
        np.testing.assert_allclose(linalg.eigvalsh(given, UPLO).numpy(), [1, 2, 4])
        np.testing.assert_allclose(linalg.eigh(given, UPLO).eigenvalues.numpy(), [1, 2, 4])
        assert ag.grad_check(lambda x, UPLO=UPLO: linalg.eigvalsh(x, UPLO), [given])
    with pytest.raises(ValueError, match=r"UPLO"):
        linalg.eigh(x, "l")


@pytest.mark.parametrize("draws", [real, complexes])
def test_upper_cholesky(draws):
    x = turned([1.0, 2, 4], draws)
    np.testing.assert_allclose(
        linalg.cholesky(x, upper=True).numpy(), np.conj(np.linalg.cholesky(x).T)
    )
    assert ag.grad_check(lambda x: linalg.cholesky(x, upper=True), [x])


def test_trace_and_names():
    x = real(2, 3, 4)
    np.testing.assert_allclose(linalg.trace(x, 1).numpy(), np.trace(x, 1, 1, 2))
    assert linalg.trace(x.astype("float32"), dtype="float64").dtype == "float64"
    assert linalg.qr(x)._fields == ("Q", "R")
    assert linalg.svd(x)._fields == ("U", "S", "Vh")
    assert linalg.eigh(real(2, 2))._fields == ("eigenvalues", "eigenvectors")
    assert linalg.slogdet(real(2, 2))._fields == ("sign", "logabsdet")
    assert linalg.qr(x, mode="r").shape == (2, 3, 4)
    np.testing.assert_allclose(linalg.svd(x, compute_uv=False).numpy(), linalg.svd(x).S.numpy())
    assert linalg.inv(np.array([[2, 0], [0, 1]])).dtype == "float64"
    assert linalg.expm(np.array([[2, 0], [0, 1]])).dtype == "float64"
    assert linalg.expm(np.zeros((0, 0))).shape == (0, 0)


def test_second_derivatives_of_slogdet_through_sign_and_logarithm():
    x = RNG.normal(size=(3, 3)) + 1j * RNG.normal(size=(3, 3))

    def loss(x):
        sign, logarithm = ag.linalg.slogdet(x)
        return ag.real(sign * (1 + 2j)) + logarithm * ag.imag(sign)

    assert ag.grad_check(loss, [x], order=2)
