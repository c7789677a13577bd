"""cuBLAS's arguments are checked, one by one."""

from __future__ import annotations

from typing import Any

import cupy as cp
import numpy as np
import pytest
from cupy_on_cpu import IllegalCall, counting
from cupy_on_cpu.comparing import draw


def gemm(a: Any, b: Any, c: Any, **changes: Any) -> None:
    """c = a @ b of row-major arrays by one gemmEx; `changes` plants an error."""
    from cupy.cuda import device
    from cupy_backends.cuda.libs import cublas

    data_type = {"f2": 2, "f4": 0, "f8": 1}
    (m, k), n = a.shape, b.shape[1]
    scale = np.dtype("f8" if c.dtype == "f8" else "f4")
    one, zero = np.ones(1, scale), np.zeros(1, scale)
    arguments = {
        "transa": 0, "transb": 0, "m": n, "n": m, "k": k, "alpha": one.ctypes.data,
        "A": b.data.ptr, "Atype": data_type[b.dtype.str[1:]], "lda": n,
        "B": a.data.ptr, "Btype": data_type[a.dtype.str[1:]], "ldb": k,
        "beta": zero.ctypes.data, "C": c.data.ptr, "Ctype": data_type[c.dtype.str[1:]], "ldc": n,
        "compute": 70 if c.dtype == "f8" else 68, "algo": 99,
    }  # fmt: skip
    cublas.gemmEx(device.get_cublas_handle(), *{**arguments, **changes}.values())


def test_gemm_half_to_float() -> None:
    a, b = draw((3, 4), "f2"), draw((4, 5), "f2", 1)
    c = cp.empty((3, 5), "f4")
    with counting() as counts:
        gemm(cp.asarray(a), cp.asarray(b), c)
    np.testing.assert_allclose(c.get(), a.astype("f4") @ b.astype("f4"), rtol=1e-6)
    (call,) = counts.blas
    assert (call.Atype, call.Ctype, call.m, call.n, call.k) == ("float16", "float32", 5, 3, 4)
    assert (call.alpha, call.beta, call.lda) == (1, 0, 5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lda": 4}, "lda = 4 is smaller than the 5 rows of A"),
        ({"ldb": 6}, "B .* reaches .* bytes beyond its allocation"),
        ({"m": -1}, "do not fit"),
        ({"transa": 3}, "transa = 3"),
        ({"A": 64}, "A .* is no memory of the device"),
        ({"Btype": 2}, "no product f4 x f2"),
        ({"compute": 70}, "no product f4 x f4 -> f4 with COMPUTE_64F"),
    ],
)
def test_wrong_gemm_arguments(changes: dict[str, int], message: str) -> None:
    a, b, c = cp.ones((3, 4), "f4"), cp.ones((4, 5), "f4"), cp.empty((3, 5), "f4")
    with pytest.raises(IllegalCall, match=message):
        gemm(a, b, c, **changes)


def test_gemm_into_its_own_input() -> None:
    a = cp.ones((4, 4))
    with pytest.raises(IllegalCall, match="C overlaps"):
        gemm(a, cp.ones((4, 4)), a)


def test_gemm_does_not_read_c_if_beta_is_0() -> None:
    c = cp.full((3, 5), np.nan)
    gemm(cp.ones((3, 4)), cp.ones((4, 5)), c)
    np.testing.assert_array_equal(c.get(), np.full((3, 5), 4.0))
