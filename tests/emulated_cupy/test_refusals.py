"""What goes wrong is seen, and what is not emulated refuses by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy as cp
import cupy_on_cpu
import pytest
from cupy_on_cpu import IllegalCall, NotEmulated


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
