"""Values: products, linear algebra, Fourier transforms and special functions."""

from __future__ import annotations

from typing import Any

import cupy as cp
import cupyx
import numpy as np
import pytest
from cupy_on_cpu.comparing import FLOATS, check, draw


@pytest.mark.parametrize("dtype", [*FLOATS, "i4"])
@pytest.mark.parametrize("layout", ["NN", "NT", "TN", "TT"])
def test_matmul_2d(dtype: str, layout: str) -> None:
    a, b = draw((3, 4), dtype), draw((4, 5), dtype, 1)
    if layout[0] == "T":
        a = np.ascontiguousarray(a.T).T
    if layout[1] == "T":
        b = np.ascontiguousarray(b.T).T
    got = cp.asarray(a, order="K") @ cp.asarray(b, order="K")
    expected = a.astype("f4") @ b.astype("f4") if dtype == "f2" else a @ b
    np.testing.assert_allclose(got.get(), expected, rtol=3e-3 if dtype == "f2" else 1e-5)
    assert got.dtype == dtype


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
@pytest.mark.parametrize(
    "shapes", [((2, 3, 4), (2, 4, 5)), ((2, 3, 4), (4, 5)), ((3, 4), (2, 2, 4, 5))]
)
def test_matmul_batched(dtype: str, shapes: Any) -> None:
    a, b = draw(shapes[0], dtype), draw(shapes[1], dtype, 1)
    check(
        lambda xp, a, b: (xp.matmul(a, b), xp.einsum("...ij,...jk->...ki", a, b)), a, b, rtol=1e-5
    )


def test_tensordot_and_einsum() -> None:
    a, b = draw((2, 3, 4)), draw((3, 4, 5), seed=1)
    check(
        lambda xp, a, b: (xp.tensordot(a, b, 2), xp.einsum("ijk,jkl->li", a, b), xp.dot(a, b[0])),
        a,
        b,
        rtol=1e-12,
    )


def test_linalg() -> None:
    a = draw((4, 4)) + 4 * np.eye(4)
    s, stack = a @ a.T, np.stack([a, a.T])
    b = draw((4, 3), seed=1)
    check(lambda xp, a, b: (xp.linalg.solve(a, b), xp.linalg.solve(a, b[:, 0])), a, b, rtol=1e-12)
    check(
        lambda xp, x: (xp.linalg.inv(x), xp.linalg.det(x), *xp.linalg.slogdet(x)), stack, rtol=1e-12
    )
    check(lambda xp, s: (xp.linalg.cholesky(s), xp.linalg.eigvalsh(s)), s, rtol=1e-12)
    check(lambda xp, s: tuple(xp.linalg.eigh(s)), s, rtol=1e-10)
    check(lambda xp, b: (*xp.linalg.svd(b), *xp.linalg.qr(b)), b, rtol=1e-12)
    check(lambda xp, b: (xp.linalg.pinv(b), xp.linalg.norm(b, 2)), b, rtol=1e-10)
    check(lambda xp, a: xp.linalg.matrix_power(a, -2), a, rtol=1e-10)


def test_singular_matrices_give_nan_or_raise() -> None:
    a = cp.stack([cp.eye(2), cp.zeros((2, 2))])
    inverse = cp.linalg.inv(a).get()
    np.testing.assert_array_equal(inverse[0], np.eye(2))
    assert np.isnan(inverse[1]).all()
    with cupyx.errstate(linalg="raise"), pytest.raises(np.linalg.LinAlgError):
        cp.linalg.inv(a)


def test_solve_triangular() -> None:
    from cupyx.scipy.linalg import solve_triangular

    a, b = draw((4, 4)) + 4 * np.eye(4), draw((4, 2), seed=1)
    for lower in (True, False):
        triangle = np.tril(a) if lower else np.triu(a)
        x = solve_triangular(cp.asarray(a), cp.asarray(b), lower=lower)
        np.testing.assert_allclose(triangle @ x.get(), b, rtol=1e-12)


@pytest.mark.parametrize("axes", [(0,), (1, 2), (0, 1), (0, 2)])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_fft(axes: Any, norm: Any) -> None:
    x, z = draw((4, 6, 5), "f4"), draw((4, 6, 5), "c8", 1)
    check(lambda xp, x: xp.fft.rfftn(x, axes=axes, norm=norm), x, rtol=1e-4)
    check(lambda xp, z: xp.fft.fftn(z, axes=axes, norm=norm), z, rtol=1e-4)
    check(lambda xp, z: xp.fft.ifftn(z, axes=axes, norm=norm), z, rtol=1e-4)
    check(lambda xp, z: xp.fft.irfftn(z, axes=axes, norm=norm), z, rtol=1e-4)
    check(
        lambda xp, x: (xp.fft.fft(x), xp.fft.rfft(x, 7), xp.fft.hfft(x), xp.fft.fftshift(x)),
        x,
        rtol=1e-4,
    )


def test_special_functions() -> None:
    special = pytest.importorskip("cupyx.scipy.special")
    reference = pytest.importorskip("scipy.special")
    x = np.linspace(-0.99, 0.99, 41)
    for name in ("erf", "erfc", "erfinv", "expit", "ndtr", "i0", "i1", "erfcx"):
        got = getattr(special, name)(cp.asarray(x)).get()
        np.testing.assert_allclose(got, getattr(reference, name)(x), rtol=1e-12, atol=1e-15)
    tiny = np.array([1e-300, 1e-20, 1e-5, 0.3, 1, 1.7, 1.999999])
    for name, y in (("erfcinv", tiny), ("ndtri", tiny / 2), ("erfinv", tiny / 2)):
        got = getattr(special, name)(cp.asarray(y)).get()
        np.testing.assert_allclose(got, getattr(reference, name)(y), rtol=1e-12, atol=1e-15)
    for name in ("gammaln", "digamma", "erfcx"):
        got = getattr(special, name)(cp.asarray(x + 26)).get()
        np.testing.assert_allclose(got, getattr(reference, name)(x + 26), rtol=1e-12)
    z = np.array([1 + 2j, -3.5 + 0.1j, 100 + 5j, 0.3])
    np.testing.assert_allclose(
        special.digamma(cp.asarray(z)).get(), reference.digamma(z), rtol=1e-12
    )
    for got, expected in zip(special.sici(cp.asarray(z)), reference.sici(z), strict=True):
        np.testing.assert_allclose(got.get(), expected, rtol=1e-12)
