"""The test equipment itself: real CuPy under an emulated CUDA runtime.  `pytest --cupy-on-cpu`."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import cupy_on_cpu
import numpy as np
import pytest
from cupy_on_cpu import CannotStart, IllegalCall, NotEmulated, counting, nvrtc

TESTS = Path(__file__).parent

if not cupy_on_cpu.is_started():
    pytest.skip(
        "the emulated CUDA runtime is tested only with --cupy-on-cpu", allow_module_level=True
    )

import cupy as cp  # noqa: E402  the emulation has to be started first
import cupyx  # noqa: E402

FLOATS = ["f4", "f8", "f2", "c8", "c16"]


def draw(shape: tuple[int, ...], dtype: Any = "f8", seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        return rng.integers(0, 10, shape).astype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    x = rng.uniform(-2, 2, shape)
    return (x + 1j * rng.uniform(-2, 2, shape) if dtype.kind == "c" else x).astype(dtype)


def check(
    f: Callable[..., Any], *arrays: Any, rtol: float | None = None, dtypes: bool = True
) -> None:
    """`f(xp, *arrays)` gives the same for CuPy as for NumPy."""
    expected = f(np, *arrays)
    got = f(cp, *[cp.asarray(x) for x in arrays])
    pairs = zip(got, expected, strict=True) if isinstance(expected, tuple) else [(got, expected)]
    for g, e in pairs:
        e = np.asarray(e)
        assert isinstance(g, cp.ndarray)
        assert g.shape == e.shape
        if dtypes:
            assert g.dtype == e.dtype
        precision = np.finfo(e.dtype).eps if e.dtype.kind in "fc" else 0
        np.testing.assert_allclose(
            g.get(), e, rtol=20 * precision if rtol is None else rtol, atol=20 * precision
        )


# --- values ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", FLOATS)
def test_elementwise(dtype: str) -> None:
    x, y = draw((3, 4), dtype), draw((4,), dtype, 1)
    check(lambda xp, x, y: x * y + x / (y * y + 3) - 2 * x, x, y)
    check(lambda xp, x: xp.exp(x) + xp.tanh(x) + xp.sqrt(x * x + 1), x)


@pytest.mark.parametrize(
    "name",
    ["exp", "expm1", "log1p", "sin", "cos", "arctan", "sinh", "cbrt", "floor", "rint", "sign"],
)
def test_unary_functions(name: str) -> None:
    check(lambda xp, x: getattr(xp, name)(xp.abs(x) + x / 3), draw((2, 5)))


@pytest.mark.parametrize("dtype", ["i4", "i8", "u1", "?"])
def test_integers(dtype: str) -> None:
    x, y = draw((3, 4), dtype), draw((3, 1), dtype, 1)
    check(lambda xp, x, y: (x & y, x | y, x == y, xp.maximum(x, y)), x, y)
    if dtype != "?":
        check(lambda xp, x, y: (x + y, x * y, x // (y + 1), x % (y + 1), x << 1), x, y)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_overloads_that_c_and_cuda_resolve_differently(dtype: str) -> None:
    x = draw((7,), dtype)
    check(lambda xp, x: (xp.abs(x), xp.log10(x + 3), x ** (x + 3) if x.dtype.kind == "c" else x), x)
    if np.dtype(dtype).kind == "f":
        check(lambda xp, x: (xp.fabs(x), xp.sinc(x), xp.copysign(x, -1), xp.hypot(x, 2)), x)
    else:
        check(lambda xp, x: (xp.log2(x), xp.reciprocal(x), xp.angle(x), xp.sqrt(x)), x)


def test_special_values() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5])
    check(lambda xp, x: (xp.isnan(x), xp.isinf(x), xp.signbit(x), xp.nan_to_num(x)), x)
    check(lambda xp, x: (xp.maximum(x, 1), xp.fmax(x, 1), xp.max(x), xp.nanmax(x)), x)


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2)])
@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod", "var"])
def test_reductions(name: str, axis: Any) -> None:
    x = draw((3, 4, 5))
    check(lambda xp, x: getattr(xp, name)(x, axis=axis), x, rtol=1e-12)
    check(lambda xp, x: getattr(xp, name)(x, axis=axis, keepdims=True), x, rtol=1e-12)
    check(lambda xp, x: getattr(xp, name)(x.transpose(2, 0, 1)[::2], axis=axis), x, rtol=1e-12)


def test_large_reduction_uses_all_threads_of_a_block() -> None:
    x = draw((3, 5000))
    check(
        lambda xp, x: (x.sum(axis=1), x.argmax(axis=1), x.any(), xp.linalg.norm(x)), x, rtol=1e-12
    )
    check(lambda xp, x: xp.sum(x, axis=0), x)


def test_scans() -> None:
    x = draw((3, 2000))
    check(
        lambda xp, x: (xp.cumsum(x), xp.cumsum(x, axis=1), xp.cumprod(x[:, :9], axis=0)),
        x,
        rtol=1e-10,
    )


def test_indexing() -> None:
    x, rows, mask = draw((5, 6)), np.array([3, 0, 3]), draw((5, 6), "?", 1)
    check(
        lambda xp, x, rows, mask: (x[1:, ::-2], x[rows], x[rows, 1], x[mask], x[..., None]),
        x,
        rows,
        mask,
    )
    check(
        lambda xp, x, rows: (xp.take(x, rows, axis=1), xp.take_along_axis(x, rows[:, None], 1)),
        x[:3],
        rows % 3,
    )

    def assign(xp: Any, x: Any, mask: Any) -> Any:
        y = x.copy()
        y[0] = 7
        y[1:3, 2:] = x[3:, 2:]
        y[mask] = -1
        return y

    check(assign, x, mask)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4"])
def test_scatter_add(dtype: str) -> None:
    index, value = np.array([2, 0, 2, 2]), draw((4, 3), dtype)
    expected = np.zeros((4, 3), dtype)
    np.add.at(expected, index, value)
    got = cp.zeros((4, 3), dtype)
    cp.add.at(got, cp.asarray(index), cp.asarray(value))
    np.testing.assert_allclose(got.get(), expected, rtol=1e-2 if dtype == "f2" else 1e-6)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u1", "c8", "f2"])
def test_sorting(dtype: str) -> None:
    x = draw((4, 7), dtype)
    check(lambda xp, x: (xp.sort(x), xp.sort(x, axis=0), xp.argsort(x.ravel(), kind="stable")), x)
    if dtype == "f8":
        x[0, 0] = np.nan
        check(lambda xp, x: (xp.sort(x, axis=None), xp.argsort(x), xp.lexsort(x)), x)
        check(
            lambda xp, x: (xp.unique(x.round()), xp.median(x[1:]), xp.searchsorted(x[1], x[2])),
            np.sort(x),
        )


def test_shapes() -> None:
    x = draw((2, 3, 4))
    check(lambda xp, x: xp.concatenate([x, x[:1]]), x)
    check(
        lambda xp, x: (
            xp.stack([x, x], 1),
            xp.pad(x, 1),
            xp.roll(x, 2),
            xp.tile(x, 2),
            xp.flip(x, 0),
        ),
        x,
    )
    check(
        lambda xp, x: (
            xp.where(x > 0, x, 0),
            xp.tril(x),
            xp.broadcast_to(x[0], (5, 3, 4)),
            xp.repeat(x, 2),
        ),
        x,
    )
    check(lambda xp, x: (xp.arange(5), xp.linspace(0, 1, 7), xp.eye(3), xp.zeros((0, 2))), x)


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


# --- bfloat16 -------------------------------------------------------------------------------------
def test_bfloat16() -> None:
    bf16 = pytest.importorskip("ml_dtypes").bfloat16
    x, y = draw((3, 4), "f4").astype(bf16), draw((4, 5), "f4", 1).astype(bf16)
    a, b = cp.asarray(x), cp.asarray(y)
    assert (a * a + a).dtype == bf16
    np.testing.assert_array_equal((a * a + a).get(), x * x + x)
    np.testing.assert_allclose(cp.exp(a).get().astype("f4"), np.exp(x.astype("f4")), rtol=1e-2)
    np.testing.assert_allclose(
        a.sum(axis=1).get().astype("f4"), x.astype("f4").sum(axis=1), rtol=2e-2
    )
    with counting() as c:
        product = a @ b
    assert [(call.name, call.Atype, call.compute) for call in c.blas] == [
        ("gemmEx", "bfloat16", "COMPUTE_32F")
    ]
    np.testing.assert_allclose(
        product.get().astype("f4"), x.astype("f4") @ y.astype("f4"), rtol=1e-2, atol=1e-2
    )


# --- kernels of the user's ------------------------------------------------------------------------
def test_elementwise_kernel() -> None:
    kernel = cp.ElementwiseKernel(
        "T x, raw T w, int64 n", "T y, float64 z", "y = x * w[i % n]; z = y + 1;", "gather"
    )
    x, w = cp.arange(6.0, dtype="f4"), cp.asarray([2, 3], "f4")
    y, z = kernel(x, w, 2)
    np.testing.assert_array_equal(y.get(), [0, 3, 4, 9, 8, 15])
    assert (y.dtype, z.dtype) == (np.float32, np.float64)


def test_reduction_kernel() -> None:
    kernel = cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2")
    x = draw((4, 700))
    np.testing.assert_allclose(kernel(cp.asarray(x), axis=1).get(), np.linalg.norm(x, axis=1))


def test_raw_kernel_with_shared_memory_and_barriers() -> None:
    kernel = cp.RawKernel(
        r"""
        extern "C" __global__ void block_sum(const float* x, float* y, int n) {
          extern __shared__ float part[];
          int i = blockIdx.x * blockDim.x + threadIdx.x;
          part[threadIdx.x] = i < n ? x[i] : 0.f;
          __syncthreads();
          for (int half = blockDim.x / 2; half > 0; half /= 2) {
            if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
            __syncthreads();
          }
          if (threadIdx.x == 0) y[blockIdx.x] = part[0];
        }""",
        "block_sum",
    )
    x, y = cp.arange(1000, dtype="f4"), cp.empty(4, "f4")
    kernel((4,), (256,), (x, y, np.int32(1000)), shared_mem=1024)
    np.testing.assert_array_equal(
        y.get(), [x.get()[i : i + 256].sum() for i in range(0, 1000, 256)]
    )


def test_raw_kernel_with_warp_operations() -> None:
    kernel = cp.RawKernel(
        r"""
        extern "C" __global__ void warp(int* y) {
          int i = threadIdx.x, sum = i;
          for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
          y[i] = sum;
          unsigned odd = __ballot_sync(0xffffffff, i & 1);
          if (i == 0) y[64] = odd;
          int n = __syncthreads_count(i < 7);
          if (i == 0) y[65] = n;
          y[66 + i] = __shfl_up_sync(0xffffffff, i, 1, 8);
        }""",
        "warp",
    )
    y = cp.empty(130, "i4")
    kernel((1,), (64,), (y,))
    lanes = np.arange(64)
    got = y.get()
    np.testing.assert_array_equal(got[:64], np.where(lanes < 32, 496, 496 + 1024))
    assert got[64] == np.int32(np.uint32(0xAAAAAAAA).view(np.int32))
    assert got[65] == 7
    np.testing.assert_array_equal(got[66:], np.where(lanes % 8 == 0, lanes, lanes - 1))


def test_raw_module_with_templates_and_constants() -> None:
    module = cp.RawModule(
        code=r"""
        template <class T> __global__ void fill(T* x) { x[threadIdx.x] = T(threadIdx.x) / 2; }
        extern "C" {
        __constant__ float weight[2];
        __global__ void scale(float* x) { x[threadIdx.x] *= weight[1]; }
        }""",
        name_expressions=["fill<float>", "fill<double>"],
    )
    x, d = cp.empty(4, "f4"), cp.empty(4, "f8")
    with counting() as c:
        module.get_function("fill<float>")((1,), (4,), (x,))
        module.get_function("fill<double>")((1,), (4,), (d,))
        module.get_global("weight").copy_from_host(np.array([0, 3], "f4").ctypes.data, 8)
        module.get_function("scale")((1,), (4,), (x,))
    np.testing.assert_array_equal(x.get(), [0, 1.5, 3, 4.5])
    np.testing.assert_array_equal(d.get(), [0, 0.5, 1, 1.5])
    assert c.kernels == ["fill<float>", "fill<double>", "scale"]


def test_fusion() -> None:
    def f(a: Any, b: Any) -> Any:
        return cp.exp(a) * b + a

    fused = cp.fuse(f)
    a, b = cp.asarray(draw((5,))), cp.asarray(draw((5,), seed=1))
    expected = f(a, b).get()
    fused(a, b)
    with counting() as c:
        got = fused(a, b)
    np.testing.assert_allclose(got.get(), expected, rtol=1e-14)
    assert c.launches == 1


# --- counters -------------------------------------------------------------------------------------
def test_counters() -> None:
    host = np.ones((2, 3), "f4")
    with counting() as up:
        x = cp.asarray(host)
    assert (up.to_device, up.to_host, up.waits, up.launches) == (1, 0, 0, 0)
    assert up.sizes == [24]
    with counting() as work:
        y = (x * 2).sum(axis=1)
    assert work.kernels == ["cupy_multiply__float32_float_float32", "cupy_sum"]
    assert (work.to_device, work.to_host, work.waits, work.allocations) == (0, 0, 0, 2)
    with counting() as down:
        y.get()
    assert (down.to_device, down.to_host, down.waits) == (0, 1, 1)
    assert down.copies[0].size == 8


@pytest.mark.parametrize(
    "wait",
    [
        lambda x: float(x[0]),
        lambda x: bool(x[0] > 0),
        lambda x: x[x > 0],
        lambda x: cp.nonzero(x),
        lambda x: x.tolist(),
        lambda x: cp.cuda.get_current_stream().synchronize(),
        lambda x: cp.cuda.Device().synchronize(),
    ],
)
def test_waits_are_counted(wait: Callable[[Any], Any]) -> None:
    x = cp.arange(4.0)
    with counting() as c:
        wait(x)
    assert c.waits >= 1


def test_nothing_is_counted_outside_and_counts_nest() -> None:
    x = cp.ones(3)
    with counting() as outer:
        x + 1
        with counting() as inner:
            x + 1
    x + 1
    assert (outer.launches, inner.launches) == (2, 1)


def test_replacements_are_no_transfers_and_no_waits() -> None:
    x = cp.eye(3)
    with counting() as c:
        cp.linalg.inv(x)
        cp.sort(x)
        cp.fft.fft(x)
    assert (c.to_host, c.to_device, c.waits) == (0, 0, 0)
    assert c.replaced == ["linalg.inv", "thrust.sort", "cufft.Plan1d.fft"]


# --- cuBLAS ---------------------------------------------------------------------------------------
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


# --- what goes wrong must be seen -----------------------------------------------------------------
def test_unset_memory_is_nan_also_when_the_pool_reuses_it() -> None:
    for _ in range(2):
        x = cp.empty((5, 3))
        assert cp.isnan(x.sum())
        x[...] = 1
        del x


def test_nvrtc_judges_every_kernel() -> None:
    kernel = cp.ElementwiseKernel("T x", "T y", "y = x > 0 ? x : zero", "undeclared")
    with pytest.raises(cp.cuda.compiler.CompileException, match='identifier "zero" is undefined'):
        kernel(cp.ones(3))


def test_a_kernel_without_c_name_is_not_found() -> None:
    kernel = cp.RawKernel("__global__ void f(float* x) { x[0] = 1; }", "f")
    with pytest.raises(cp.cuda.driver.CUDADriverError, match="NOT_FOUND"):
        kernel((1,), (1,), (cp.ones(1, "f4"),))


def test_writing_beyond_an_array() -> None:
    kernel = cp.RawKernel('extern "C" __global__ void f(float* x) { x[threadIdx.x] = 1; }', "f")
    x = cp.empty(5, "f4")
    kernel((1,), (6,), (x,))
    with pytest.raises(IllegalCall, match="beyond the end of an array of 20 bytes"):
        cupy_on_cpu.check_margins()


def test_illegal_launches() -> None:
    kernel = cp.RawKernel('extern "C" __global__ void g(float* x) { assert(x[0] == 1); }', "g")
    x = cp.zeros(1, "f4")
    with pytest.raises(IllegalCall, match=r"no launch with grid \(1, 1, 1\), block \(2000, 1, 1\)"):
        kernel((1,), (2000,), (x,))
    with pytest.raises(IllegalCall, match="60000 bytes of dynamic shared memory"):
        kernel((1,), (1,), (x,), shared_mem=60000)
    with pytest.raises(RuntimeError, match="device-side assert"):
        kernel((1,), (1,), (x,))


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: cp.random.rand(3), "cuRAND"),
        (lambda: cp.random.default_rng(0), "cuRAND"),
        (lambda: cp.random.permutation(3), "cuRAND"),
        (lambda: cp.cuda.cusolver.spotrf(1), "cuSOLVER is not emulated: spotrf"),
        (lambda: cp.cuda.cublas.saxpy(1), "cuBLAS is not emulated: saxpy"),
        (lambda: cp.cuda.cub.device_reduce(1), "CUB"),
        (lambda: cp.cuda.nccl.NcclCommunicator(1, 2, 3), "NCCL"),
        (lambda: cp.cuda.MemoryAsyncPool(), "deviceGetMemPool"),
        (lambda: cp.cuda.runtime.ipcGetMemHandle(1), "ipcGetMemHandle"),
        (lambda: cp.cuda.Stream().launch_host_func(print, 1), "launchHostFunc"),
    ],
)
def test_what_is_not_emulated_raises_by_name(call: Callable[[], Any], name: str) -> None:
    with pytest.raises(NotEmulated, match=name):
        call()


def test_sparse_and_textures_raise_by_name() -> None:
    sparse = pytest.importorskip("cupyx.scipy.sparse")
    with pytest.raises(NotEmulated, match="cuSPARSE"):
        sparse.csr_matrix(cp.eye(2))
    texture = cp.cuda.texture
    with pytest.raises(NotEmulated, match="texture memory"):
        texture.CUDAarray(texture.ChannelFormatDescriptor(32, 0, 0, 0, 0), 3)


# --- streams, graphs, memory ----------------------------------------------------------------------
def test_capture_and_replay() -> None:
    a, y = cp.arange(4.0), cp.zeros(4)
    stream = cp.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        cp.add(a, 1.0, out=y)
        y *= 2.0
        with pytest.raises(NotImplementedError, match="cuBLAS API during stream capture"):
            cp.ones((2, 2)) @ cp.ones((2, 2))
        graph = stream.end_capture()
    np.testing.assert_array_equal(y.get(), np.zeros(4))
    a[...] = 10
    with counting() as c:
        graph.launch(stream)
    np.testing.assert_array_equal(y.get(), np.full(4, 22.0))
    assert (c.graph_launches, c.launches) == (1, 4)


@pytest.fixture
def capturing() -> Iterator[Callable[..., Any]]:
    """Begins a capture on a stream of its own, which is current until the test is over."""
    streams = []

    def begin(mode: int = cp.cuda.runtime.streamCaptureModeRelaxed, blocking: bool = False) -> Any:
        stream = cp.cuda.Stream(non_blocking=not blocking)
        streams.append(stream)
        stream.__enter__()
        stream.begin_capture(mode)
        return stream

    yield begin
    for stream in streams:
        with suppress(cp.cuda.runtime.CUDARuntimeError):
            stream.end_capture()
        stream.__exit__()


def fails(status: str) -> Any:
    return pytest.raises(cp.cuda.runtime.CUDARuntimeError, match=f"cudaError{status}:")


@pytest.mark.parametrize(
    "call",
    [
        lambda stream, event: stream.synchronize(),
        lambda stream, event: cp.cuda.Device().synchronize(),
        lambda stream, event: stream.done,
        lambda stream, event: event.synchronize(),
        lambda stream, event: cp.cuda.runtime.memcpy(ONES.data.ptr, ONES.data.ptr, 8, 3),
        lambda stream, event: cp.sort(ONES),
    ],
)
def test_waits_spoil_a_capture(capturing, call) -> None:
    stream = capturing()
    event = cp.cuda.Event()
    event.record(stream)
    with fails("StreamCaptureUnsupported"):
        call(stream, event)
    with pytest.raises(RuntimeError, match="an error has invalidated the capture"):
        stream.is_capturing()
    with fails("StreamCaptureInvalidated"):
        ONES.fill(2)
    with fails("StreamCaptureInvalidated"):
        stream.end_capture()
    # and the stream is as good as new
    stream.begin_capture()
    y = ONES + 1
    graph = stream.end_capture()
    graph.launch(stream)
    stream.synchronize()
    assert y.get().tolist() == [2.0, 2.0]


ONES = cp.ones(2)


def test_allocations_in_a_capture_depend_on_its_mode(capturing) -> None:
    runtime = cp.cuda.runtime
    runtime.free(runtime.malloc(512))
    stream = capturing(runtime.streamCaptureModeRelaxed)
    runtime.free(runtime.malloc(512))
    stream.end_capture()
    for mode in (runtime.streamCaptureModeThreadLocal, runtime.streamCaptureModeGlobal):
        stream = capturing(mode)
        with fails("StreamCaptureUnsupported") as caught:
            runtime.malloc(512)
        assert "an allocation" in caught.value.__notes__[0]
        with fails("StreamCaptureInvalidated"):
            stream.end_capture()


@pytest.mark.parametrize(("mode", "is_spoiled"), [(0, True), (1, False), (2, False)])
def test_allocations_of_other_threads_beside_a_capture(capturing, mode, is_spoiled) -> None:
    stream = capturing(mode)
    with ThreadPoolExecutor(1) as pool:
        address = pool.submit(cp.cuda.runtime.malloc, 512)
        assert isinstance(address.exception(), RuntimeError) == is_spoiled
    if is_spoiled:
        with fails("StreamCaptureInvalidated"):
            stream.end_capture()
    else:
        assert stream.is_capturing()
        stream.end_capture()
        cp.cuda.runtime.free(address.result())


def test_captures_and_other_streams(capturing) -> None:
    stream, other = capturing(), cp.cuda.Stream(non_blocking=True)
    inside, outside = cp.cuda.Event(), cp.cuda.Event()
    outside.record(other)
    with other:
        assert (ONES + 1).get().tolist() == [2.0, 2.0]  # not in the capture
    stream.record(inside)
    with pytest.raises(NotEmulated, match="capture of several streams"):
        other.wait_event(inside)
    stream.wait_event(inside)
    with fails("StreamCaptureIsolation"):
        stream.wait_event(outside)
    with fails("StreamCaptureInvalidated"):
        stream.end_capture()
    blocking = capturing(blocking=True)
    with cp.cuda.Stream.null, fails("StreamCaptureImplicit"):
        ONES.fill(1)
    blocking.end_capture()
    with fails("IllegalState"):
        blocking.end_capture()


# --- nvmath-python's cuBLAS -----------------------------------------------------------------------
def product(a: Any, b: Any, out: Any, handle: int) -> None:
    """`out[...] = a @ b` in float32 and C order."""
    from nvmath.bindings import cublas

    (m, k), n = a.shape, b.shape[1]
    one, zero = np.ones(1, "f4"), np.zeros(1, "f4")
    cublas.gemm_ex(
        handle, 0, 0, n, m, k, one.ctypes.data, b.data.ptr, 0, n, a.data.ptr, 0, k,
        zero.ctypes.data, out.data.ptr, 0, n, 68, -1,
    )  # fmt: skip


def test_nvmaths_products_can_be_captured(capturing) -> None:
    from nvmath.bindings import cublas

    a, b = (cp.asarray(draw(shape, "f4")) for shape in ((2, 3), (3, 4)))
    out, workspace = cp.empty((2, 4), "f4"), cp.empty(1 << 20, "u1")
    handle = cublas.create()
    product(a, b, out, handle)
    np.testing.assert_allclose(out.get(), a.get() @ b.get(), rtol=1e-6)
    stream = capturing()
    cublas.set_stream(handle, stream.ptr)
    cublas.set_workspace(handle, workspace.data.ptr, workspace.nbytes)
    with counting() as c:
        product(a, b, out, handle)
    assert not c.blas
    graph = stream.end_capture()
    a *= 2
    with counting() as c:
        graph.launch(stream)
    assert [call.name for call in c.blas] == ["gemmEx"]
    np.testing.assert_allclose(out.get(), a.get() @ b.get(), rtol=1e-6)


def test_nvmaths_products_need_a_workspace_in_a_capture(capturing) -> None:
    from nvmath.bindings import cublas

    x, workspace = cp.ones((2, 2), "f4"), cp.empty(1 << 20, "u1")
    handle = cublas.create()
    stream = capturing()
    cublas.set_workspace(handle, workspace.data.ptr, workspace.nbytes)
    cublas.set_stream(handle, stream.ptr)  # which forgets the workspace
    with pytest.raises(IllegalCall, match="cuBLAS would allocate a workspace in the capture"):
        product(x, x, cp.empty((2, 2), "f4"), handle)
    with pytest.raises(IllegalCall, match="not aligned to 256 bytes"):
        cublas.set_workspace(handle, workspace.data.ptr + 8, 1 << 10)
    with pytest.raises(IllegalCall, match="cuBLAS's workspace .* beyond its allocation"):
        cublas.set_workspace(handle, workspace.data.ptr, 1 << 30)
    cublas.destroy(handle)
    with pytest.raises(IllegalCall, match="no handle of nvmath's cuBLAS"):
        product(x, x, x, handle)


def test_nvmath_has_these_functions() -> None:
    """The real package, where it is installed, in a process without the emulation."""
    code = """
    import importlib.util, inspect
    if importlib.util.find_spec("nvmath") is not None:
        from nvmath.bindings import cublas
        import cupy_on_cpu.cublas, cupy_on_cpu.nvmath as stand_in
        for name, function in stand_in._NAMES.items():
            ours = inspect.signature(getattr(stand_in.NvmathCublas, function))
            theirs = inspect.signature(getattr(cublas, name))
            assert len(ours.parameters) - 1 == len(theirs.parameters), name
        print("compared")
    """
    if run(code) != "compared\n":
        pytest.skip("nvmath-python is not installed")


def test_threads_share_the_device() -> None:
    def work(seed: int) -> bool:
        x = draw((40, 40), seed=seed)
        y = cp.asarray(x)
        return all(
            np.allclose(((y @ y) + cp.exp(y)).sum().get(), (x @ x + np.exp(x)).sum())
            for _ in range(20)
        )

    work(0)
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))


def test_memory_limit() -> None:
    pool = cp.get_default_memory_pool()
    before = pool.get_limit()
    pool.set_limit(size=pool.total_bytes() + 4096)
    try:
        with pytest.raises(cp.cuda.memory.OutOfMemoryError):
            cp.empty(pool.total_bytes() + (1 << 20))  # more than any free piece
    finally:
        pool.set_limit(size=before)
    with pytest.raises(cp.cuda.memory.OutOfMemoryError):
        cp.empty(1 << 50)


def test_implicit_conversions_raise_as_on_a_device() -> None:
    x = cp.ones(3)
    with pytest.raises(TypeError, match="Implicit conversion to a NumPy array is not allowed"):
        np.asarray(x)
    with pytest.raises(TypeError, match="Unsupported type"):
        x + np.ones(3)


# --- NVRTC alone ----------------------------------------------------------------------------------
def test_nvrtc_checks() -> None:
    relu = cp.ElementwiseKernel("T x, S s", "T y", "y = x > T(0) ? T(x * T(s)) : T(0)", "relu")
    assert nvrtc.assert_compiles(nvrtc.check_elementwise(relu, scalars=["s"])) == 36
    l2 = cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2")
    assert nvrtc.assert_compiles(nvrtc.check_reduction(l2)) == 9
    raw = cp.RawKernel('extern "C" __global__ void f(float* x) { x[0] = 1; }', "f")
    assert nvrtc.assert_compiles(nvrtc.check_raw(raw)) == 3


def test_nvrtc_reports_line_and_caret() -> None:
    wrong = cp.ElementwiseKernel("T x", "T y", "y = tanhh(x)", "wrong")
    with pytest.raises(AssertionError, match=r"kernel.cu\(\d+\): error: .*tanhh[^^]*\^"):
        nvrtc.assert_compiles(nvrtc.check_elementwise(wrong, [{"T": "f4"}]))
    wrong = cp.ReductionKernel("T x", "T y", "x", "a + c", "y = a", "0", "wrong")
    assert all('"c" is undefined' in str(c.error) for c in nvrtc.check_reduction(wrong))
    missing = cp.RawKernel('extern "C" __global__ void f(float* x) {}', "g")
    assert "no kernel called ['g']" in str(nvrtc.check_raw(missing)[0].error)


# --- starting -------------------------------------------------------------------------------------
def run(code: str) -> str:
    """The output of a script that has the tests on its path."""
    text = f"import sys; sys.path.insert(0, {str(TESTS)!r})\n{textwrap.dedent(code)}"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", text], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_version_pin_names_both_versions() -> None:
    with pytest.raises(CannotStart, match=r"CuPy 15.1.0 is installed.* written for CuPy 14.2"):
        cupy_on_cpu.check_version("15.1.0")
    with pytest.raises(CannotStart):
        cupy_on_cpu.check_version("14.20.0")
    cupy_on_cpu.check_version("14.2.7")


def test_start_after_cupy_is_refused() -> None:
    code = """
        import cupy, cupy_on_cpu
        try:
            cupy_on_cpu.start()
        except cupy_on_cpu.CannotStart as error:
            print(error)
    """
    assert "imported before" in run(code)


def test_a_plain_script_starts_it_and_ends_quietly() -> None:
    code = """
        from cupy_on_cpu import counting, start
        start()
        import cupy as cp
        x = cp.ones((2, 3))
        with counting() as c:
            y = (x @ x.T).sum()
        print(c.waits, c.launches, [call.name for call in c.blas], float(y))
    """
    assert run(code).strip() == "0 1 ['gemmEx'] 12.0"


def test_run_as_a_module(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sys, cupy\nprint(sys.argv[1:], cupy.arange(3).sum())\n")
    done = subprocess.run(
        [sys.executable, "-m", "cupy_on_cpu", str(script), "a"],
        capture_output=True, text=True, cwd=TESTS, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "['a'] 3"
