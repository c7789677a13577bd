"""Linear algebra where the table does not reach: compositions, vectors that are free to turn,
equal eigenvalues, singular matrices, derivatives of the third order, errors."""

import re

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu import linalg

RNG = np.random.default_rng(0)


def real(*shape):
    return RNG.uniform(-1, 1, shape) + np.eye(*shape[-2:]) * 2


def complexes(*shape):
    return real(*shape) + 1j * RNG.uniform(-1, 1, shape)


def hermitian(x):
    return (x + np.conj(np.swapaxes(x, -1, -2))) / 2


def turned(values, draws=real):
    """A Hermitian matrix with these eigenvalues."""
    q = np.linalg.qr(draws(len(values), len(values)))[0]
    return hermitian((q * np.array(values)) @ np.conj(q.T))


def gradient(f, x):
    v = ag.Variable(x, requires_grad=True)
    y = f(v)
    y.backward()
    return v.grad


def weights(*shape):
    return np.random.default_rng(7).uniform(-1, 1, shape)


def h(x):
    """The conjugate transpose."""
    return ag.conj(x.mT)


# What does not depend on phases ---------------------------------------------------------------


def projected(u):
    """A loss of the spans of the single columns."""
    n, k = u.shape[-2:]
    total = 0
    for i in range(k):
        column = u[..., :, i : i + 1]
        w = weights(n, n) * (i + 1) + 1j * weights(n, n).T
        total = total + ag.sum(ag.real(ag.matmul(column, h(column)) * w))
    return total


def spanned(u):
    n = u.shape[-1]
    w = weights(u.shape[-2], u.shape[-2])
    return ag.sum(ag.real(ag.matmul(u, h(u)) * (w + 1j * w**2)) * n)


def svd_loss(x, full):
    u, s, vh = linalg.svd(x, full_matrices=full)
    k = s.shape[-1]
    middle = ag.matmul(u[..., :, :k] * s[..., None, :] ** 2, vh[..., :k, :])
    loss = ag.sum(ag.real(middle * (1 + 2j))) + projected(u[..., :, :k])
    loss = loss + projected(h(vh)[..., :, :k])
    for m in (u, h(vh)):
        if m.shape[-1] > k:
            loss = loss + spanned(m[..., :, k:]) + spanned(m[..., :, k:]) ** 2
    return loss


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("draws", [real, complexes])
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 2)])
@pytest.mark.parametrize("full", [True, False])
def test_svd_of_losses_that_do_not_depend_on_phases(shape, draws, full, order):
    assert ag.grad_check(lambda x: svd_loss(x, full), [draws(*shape)], order=order)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("draws", [real, complexes])
@pytest.mark.parametrize("stack", [(), (2,)])
def test_eigh_of_losses_that_do_not_depend_on_phases(draws, stack, order):
    def loss(x):
        w, v = linalg.eigh(x)
        return ag.sum(w**2) + projected(v) + ag.sum(ag.real((v * ag.exp(w)[..., None, :]) @ h(v)))

    assert ag.grad_check(loss, [draws(*stack, 3, 3)], order=order)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("draws", [real, complexes])
@pytest.mark.parametrize("stack", [(), (2,)])
def test_eig_of_losses_that_do_not_depend_on_phases(draws, stack, order):
    def loss(x):
        w, v = linalg.eig(x)
        return ag.sum(ag.real(w**2 + 1j * w**3)) + projected(v)

    x = draws(*stack, 3, 3) + np.diag([0, 2, 5])
    assert ag.grad_check(loss, [x], order=order)
    assert ag.grad_check(lambda x: ag.sum(ag.abs(linalg.eigvals(x))), [x], order=order)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("draws", [real, complexes])
@pytest.mark.parametrize("shape", [(4, 2), (2, 4, 2), (2, 3)])
def test_complete_qr_of_losses_of_the_span_of_new_columns(shape, draws, order):
    def loss(x):
        q, r = linalg.qr(x, mode="complete")
        k = min(shape[-2:])
        own = ag.sum(ag.real(q[..., :, :k] * weights(shape[-2], k)))
        new = spanned(q[..., :, k:]) ** 2 if q.shape[-1] > k else 0
        return own + new + ag.sum(ag.abs(r[..., :k, :]) ** 2 * weights(k, shape[-1]))

    assert ag.grad_check(loss, [draws(*shape)], order=order)


# Equal values ---------------------------------------------------------------------------------

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


# Singular matrices, and high orders -----------------------------------------------------------


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


# Compositions ---------------------------------------------------------------------------------

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


def test_pinv_of_matrices_of_constant_rank():
    x = real(4, 2)
    assert ag.grad_check(lambda a, b: linalg.pinv(a @ b, 1e-8), [x, real(2, 3)])


# PyTorch --------------------------------------------------------------------------------------

TORCH = {
    "solve": (lambda m, x: m.solve(x, x[..., :2]), 0),
    "inv": (lambda m, x: m.inv(x), 0),
    "pinv": (lambda m, x: m.pinv(x[..., :2]), 0),
    "det": (lambda m, x: m.det(x), 0),
    "slogdet": (lambda m, x: m.slogdet(x)[1], 0),
    "cholesky": (lambda m, x: m.cholesky(x), 1),
    "qr": (lambda m, x: m.qr(x)[1], 0),
    "tall qr": (lambda m, x: m.qr(x[..., :2])[0], 0),
    "svdvals": (lambda m, x: m.svdvals(x), 0),
    "eigh": (lambda m, x: m.eigh(x)[0], 1),
    "eigenvectors": (lambda m, x: abs(m.eigh(x)[1]), 1),
    "eigvals": (lambda m, x: (m.eigvals(x) ** 3).real.sum(-1), 0),
    "left": (lambda m, x: abs(m.svd(x)[0]), 0),
    "right": (lambda m, x: abs(m.svd(x)[2]), 0),
    "vector_norm": (lambda m, x: m.vector_norm(x, 3), 0),
    "nuc": (lambda m, x: m.matrix_norm(x, "nuc"), 0),
    "inf": (lambda m, x: m.norm(x, float("inf"), (-2, -1)), 0),
    "power": (lambda m, x: m.matrix_power(x, 3), 0),
    "cross": (lambda m, x: m.cross(x, x[..., ::1, :] * x), 0),
}


class Ours:
    """Our functions, with PyTorch's order of parameters where the array API has another."""

    def __getattr__(self, name):
        return getattr(linalg, name)

    def vector_norm(self, x, ord):
        return linalg.vector_norm(x, ord=ord)

    def matrix_norm(self, x, ord):
        return linalg.matrix_norm(x, ord=ord)


@pytest.mark.parametrize("draws", [real, complexes])
@pytest.mark.parametrize("name", TORCH)
def test_gradients_are_those_of_pytorch(name, draws):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    function, is_hermitian = TORCH[name]
    x = draws(2, 3, 3)
    if is_hermitian:
        x = x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(3)
    t = torch.tensor(x, requires_grad=True)
    y = function(torch.linalg, t)
    w = weights(*y.shape)
    (y * torch.tensor(w)).sum().abs().backward()
    found = gradient(lambda x: ag.abs(ag.sum(function(Ours(), x) * w)), x)
    expected = hermitian(t.grad.numpy()) if is_hermitian else t.grad.numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


# Errors ---------------------------------------------------------------------------------------

SQUARE = ("inv", "det", "slogdet", "cholesky", "eigh", "eigvalsh", "eig", "expm")


@pytest.mark.parametrize("name", SQUARE)
def test_matrices_that_are_not_square(name):
    with pytest.raises(np.linalg.LinAlgError, match=rf"{name}: square .* float64\[2, 3\]"):
        getattr(linalg, name)(np.ones((2, 3)))


def test_errors_name_the_op_and_the_shapes():
    v = ag.Variable(np.zeros((2, 2)), requires_grad=True)
    for call, name in [
        (lambda: linalg.inv(v), r"inv\(x: float64\[2, 2\]\)"),
        (lambda: linalg.solve(v, np.ones(2)), r"solve\(.*float64\[2, 2\].*float64\[2\]\)"),
        (lambda: linalg.cholesky(v), r"cholesky\(x: float64\[2, 2\]\)"),
    ]:
        with pytest.raises(np.linalg.LinAlgError) as caught:
            call()
        assert any(re.search(name, note) for note in caught.value.__notes__)
    with pytest.raises(np.linalg.LinAlgError, match=r"solve: square"):
        linalg.solve(np.ones((2, 3)), np.ones(2))
    with pytest.raises(ValueError, match=r"solve\(.*float64\[2, 2\].*float64\[3\]"):
        linalg.solve(np.eye(2), np.ones(3))
    with pytest.raises(ValueError, match=r"solve\(.*float64\[2, 2, 2\].*float64\[3, 2, 1\]"):
        linalg.solve(np.ones((2, 2, 2)), np.ones((3, 2, 1)))
    for name in ("svd", "qr", "pinv", "svdvals", "matrix_rank"):
        with pytest.raises(np.linalg.LinAlgError, match=rf"{name}: matrices .* float64\[3\]"):
            getattr(linalg, name)(np.ones(3))
    with pytest.raises(ValueError, match="matrix_power: square"):
        linalg.matrix_power(np.ones((2, 3)), 2)
    with pytest.raises(ValueError, match=r"cross\(.*three elements"):
        linalg.cross(np.ones(2), np.ones(2))
    with pytest.raises(IndexError, match=r"cross\(.*axis 2"):
        linalg.cross(np.ones(3), np.ones(3), axis=2)
    with pytest.raises(ValueError, match="qr: mode"):
        linalg.qr(np.eye(2), mode="full")
    with pytest.raises(ValueError, match="lstsq: .* do not fit"):
        linalg.lstsq(np.ones((2, 3)), np.ones(3))
    with pytest.raises(ValueError, match="multi_dot: at least two"):
        linalg.multi_dot([np.eye(2)])


def test_a_singular_matrix_has_no_gradient_of_its_logarithm():
    v = ag.Variable(np.ones((2, 2)), requires_grad=True)
    sign, log = linalg.slogdet(v)
    assert (sign.item(), log.item()) == (0, -np.inf)
    with pytest.raises(np.linalg.LinAlgError):
        log.backward()


# NumPy's spellings ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.linalg.solve(x, x[0]),
        lambda x: np.linalg.pinv(x, rcond=1e-3),
        lambda x: np.linalg.matrix_rank(x, tol=1e-3),
        lambda x: np.linalg.norm(x, "nuc", axis=(0, 1)),
        lambda x: np.linalg.multi_dot([x, x, x]),
        lambda x: np.linalg.svd(x, full_matrices=False)[1],
        lambda x: np.linalg.eigvalsh(x @ x.T),
        lambda x: np.cross(x, x[::-1], axis=0),
        lambda x: np.cross(x, x[::-1], axisa=0, axisc=0),
        lambda x: np.diagonal(x, 1),
        lambda x: np.trace(x),
    ],
)
def test_numpy_functions(call):
    x = real(3, 3)
    y = call(ag.Variable(x))
    assert isinstance(y, ag.Variable)
    np.testing.assert_allclose(y.numpy(), call(x))
