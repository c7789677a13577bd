"""Kernels of one's own, fused functions, and bfloat16."""

from __future__ import annotations

from typing import Any

import cupy as cp
import numpy as np
import pytest
from cupy_on_cpu import counting
from cupy_on_cpu.comparing import draw


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
