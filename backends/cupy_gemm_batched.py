"""Batches of products that no single stride describes: cublasGemmBatchedEx, with pointers.

The pointers are computed on the device, from the same few numbers that a loop would use.  CuPy 14.2
has no such function, so it is called in the library that CuPy has loaded.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import cupy as cp
import numpy as np
from cupy_backends.cuda.libs import cublas

from autograd_gpu.backends.gemm_plan import MOST_AXES, Axis

Array = Any

_THREADS = 128
_SIZES = range(MOST_AXES)
_NUMBERS = [f"{name}{i}" for i in _SIZES for name in ("size", "a", "b", "c")]
_pointers = cp.RawKernel(
    """
extern "C" __global__ void autograd_gpu_gemm_pointers(
    unsigned long long* out, int count, long long a, long long b, long long c, NUMBERS
) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    long long rest = i, index;
    ADVANCE
    out[i] = a;
    out[count + i] = b;
    out[2 * count + i] = c;
}
""".replace("NUMBERS", ", ".join(f"long long {name}" for name in _NUMBERS)).replace(
        "ADVANCE",
        "\n".join(
            f"index = rest % size{i}; rest /= size{i}; "
            f"a += index * a{i}; b += index * b{i}; c += index * c{i};"
            for i in reversed(_SIZES)
        ),
    ),
    "autograd_gpu_gemm_pointers",
)


def pointers(addresses: Sequence[int], axes: Sequence[Axis], widths: Sequence[int]) -> Array:
    """Addresses [3, n] of the matrices of A, B and C at each index into `axes`.

    `axes` are (size, strides of A, B and C), outermost first; `widths` are the item sizes.
    """
    count = 1
    numbers = [1, 0, 0, 0] * (MOST_AXES - len(axes))
    for size, *strides in axes:
        count *= size
        numbers += [size, *(s * w for s, w in zip(strides, widths, strict=True))]
    out = cp.empty((3, count), np.uint64)
    _pointers(
        (-(-count // _THREADS),), (_THREADS,), (out, np.int32(count), *addresses, *numbers)
    )  # fmt: skip
    return out


@cache
def gemm_batched_ex() -> Callable[..., None] | None:
    """cublasGemmBatchedEx by the names and order of cuBLAS's arguments; None where it is not found.

    The current stream is the one that it runs on.
    """
    own = getattr(cublas, "gemmBatchedEx", None)
    if own is not None:
        return own  # type: ignore[no-any-return]
    try:
        library = ctypes.CDLL(f"libcublas.so.{cp.cuda.runtime.runtimeGetVersion() // 1000}")
        function = library.cublasGemmBatchedEx
    except (OSError, AttributeError):
        return None
    i, p = ctypes.c_int, ctypes.c_void_p
    function.argtypes = [p, i, i, i, i, i, p, p, i, i, p, i, i, p, p, i, i, i, i, i]
    function.restype = i

    def call(handle: int, *arguments: int) -> None:
        cublas.setStream(handle, cp.cuda.get_current_stream().ptr)
        status = function(handle, *arguments)
        if status:
            raise RuntimeError(f"cublasGemmBatchedEx failed with cublasStatus_t {status}")

    return call
