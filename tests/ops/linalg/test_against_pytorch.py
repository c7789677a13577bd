"""Gradients are those of PyTorch."""

import numpy as np
import pytest
from matrices import complexes, gradient, hermitian, real, weights

import autograd_gpu as ag
from autograd_gpu import linalg

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
