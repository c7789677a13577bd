"""The same programs in HIPS autograd."""

import numpy as np
import pytest

import autograd_gpu as ag

x3 = np.array([0.5, -1.0, 2.0])


PROGRAMS = {
    "polynomial": lambda np, x: np.sum(x**3 - 2 * x * x + 1),
    "softmax": lambda np, x: np.sum(np.exp(x) / np.sum(np.exp(x)) * np.arange(3.0)),
    "products": lambda np, x: np.sum(np.outer(x, np.sin(x)) ** 2),
    "branches": lambda np, x: np.sum(np.where(x > 0, x * x, np.exp(x))),
    "norm": lambda np, x: np.sqrt(np.sum(x * x)),
    "stack": lambda np, x: np.sum(np.stack([x, x * x]) * np.concatenate([x, x]).reshape(2, 3)),
    "einsum": lambda np, x: np.einsum("i,j,ij->", x, x, np.outer(x, np.cos(x))),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("transform", ["grad", "hessian", "jacobian"])
def test_agrees_with_hips_autograd(name, transform):
    hips = pytest.importorskip("autograd", reason="HIPS autograd is not installed")
    import autograd.numpy as anp

    f = PROGRAMS[name]
    expected = getattr(hips, transform)(lambda x: f(anp, x))(x3)
    found = getattr(ag, transform)(lambda x: f(np, x))(x3)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
