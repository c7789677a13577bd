"""Errors, and NumPy's spellings."""

import re

import numpy as np
import pytest
from matrices import (
    real,
)

import autograd_gpu as ag
from autograd_gpu import linalg

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
