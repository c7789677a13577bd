"""matmul on CuPy arrays by cuBLAS itself, with transposed views and half types as they are.

CuPy 14.2's own matmul copies every transposed operand of a batch, sends batched float16 through
float32 and fails for batched bfloat16.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import lru_cache
from typing import Any

import cupy as cp
import numpy as np
from cupy.cuda import device
from cupy_backends.cuda.libs import cublas

from autograd_gpu.backends.cupy_gemm_batched import gemm_batched_ex, pointers
from autograd_gpu.backends.cupy_graph_blas import route
from autograd_gpu.backends.gemm_plan import OP_C, OP_T, Plan, plan

Array = Any

# cudaDataType_t
_CUDA_TYPES = {"float32": 0, "float64": 1, "float16": 2, "complex64": 4, "complex128": 5}
_CUDA_TYPES["bfloat16"] = 14
_COMPUTE_32F, _COMPUTE_32F_FAST_TF32, _COMPUTE_64F = 68, 77, 70
_GEMM_DEFAULT = -1

_tf32 = os.environ.get("CUPY_TF32") == "1"


def set_tf32(enabled: bool) -> None:
    """Let float32 and complex64 products use TensorFloat-32: faster, with 10 bits of mantissa.

    Off unless the environment variable CUPY_TF32, which CuPy knows too, is 1.
    """
    global _tf32
    _tf32 = enabled


def matmul(
    a: Array,
    b: Array,
    out: Array | None = None,
    alpha: complex = 1,
    beta: complex = 0,
    conj: tuple[bool, bool] = (False, False),
) -> Array:
    """`alpha * a @ b + beta * out` by NumPy's rules for shapes; `out` may be any view.

    float16, bfloat16, float32, float64, complex64 and complex128; half types are summed in float32
    and may be added into a float32 `out`.  `conj` says whether `a` and `b` are to be conjugated,
    which takes no kernel where cuBLAS reads them transposed.  Integers and bools are CuPy's matter.
    Waits for nothing.  ValueError where shapes, TypeError where the dtype of `out` does not fit.
    """
    dtype = a.dtype
    if dtype != b.dtype:
        dtype = np.result_type(dtype, b.dtype)
        a, b = a.astype(dtype, copy=False), b.astype(dtype, copy=False)
    if _cuda_type(dtype) is None:
        if out is not None or alpha != 1 or beta != 0:
            raise TypeError(f"matmul: {dtype} has no out, alpha and beta")
        return cp.matmul(a, b)
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError("matmul: operands need an axis; use * with numbers")
    shape = _result_shape(a.shape, b.shape)
    if out is None:
        out = cp.empty(shape, dtype)
        beta = 0
    elif out.shape != shape:
        raise ValueError(f"matmul: out has shape {out.shape}, the product {shape}")
    # vectors become matrices; the views share their memory
    target = out
    if b.ndim == 1:
        b, target = b[:, None], target[..., None]
    if a.ndim == 1:
        a, target = a[None], target[..., None, :]
    _gemm(a, b, target, alpha, beta, conj if dtype.kind == "c" else _NEITHER)
    return out


_NEITHER = (False, False)


def times_adjoint(a: Array, b: Array) -> Array:
    """`a` times the conjugate transposes of `b`."""
    return matmul(a, b.swapaxes(-1, -2), conj=(False, True))


def adjoint_times(a: Array, b: Array) -> Array:
    """The conjugate transposes of `a` times `b`."""
    return matmul(a.swapaxes(-1, -2), b, conj=(True, False))


@lru_cache
def _cuda_type(dtype: Any) -> int | None:
    return _CUDA_TYPES.get(dtype.name)


@lru_cache(maxsize=4096)
def _result_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    k = b[-2] if len(b) > 1 else b[0]
    if a[-1] != k:
        raise ValueError(f"matmul: the inner sizes of {a} and {b} differ")
    batch = a[:-2]
    if a[:-2] != b[:-2]:
        batch = np.broadcast_shapes(a[:-2], b[:-2])
    return batch + (a[-2:-1] if len(a) > 1 else ()) + (b[-1:] if len(b) > 1 else ())


def _gemm(
    a: Array,
    b: Array,
    out: Array,
    alpha: complex,
    beta: complex,
    conj: tuple[bool, bool] = _NEITHER,
) -> None:
    item, out_item = a.itemsize, out.itemsize
    has_pointers = route.products is not None or gemm_batched_ex() is not None
    todo = plan(
        a.shape, a.strides, b.shape, b.strides, out.shape, out.strides, item, out_item,
        has_pointers,
    )  # fmt: skip
    if conj != _NEITHER and todo != _NOTHING:
        conjugated = _conjugated(todo, conj)
        if conjugated is None:
            a, b = (cp.conj(x) if c else x for x, c in zip((a, b), conj, strict=True))
            _gemm(a, b, out, alpha, beta)
            return
        todo = conjugated
    if any(todo.copies):
        copy_a, copy_b, copy_out = todo.copies
        a = cp.ascontiguousarray(a) if copy_a else a
        b = cp.ascontiguousarray(b) if copy_b else b
        if copy_out:
            dense = out.copy(order="C") if beta != 0 else cp.empty(out.shape, out.dtype)
            _gemm(a, b, dense, alpha, beta)
            out[...] = dense
        else:
            _gemm(a, b, out, alpha, beta)
        return
    if not todo.calls:
        if out.size:  # an empty sum
            out[...] = out * beta if beta != 0 else 0
        return
    if device.get_device_id() != a.data.device_id:
        raise ValueError(f"matmul: operands live on {a.device}, which is not the current device")
    if route.products is None:
        handle = device.get_cublas_handle()
        gemm, strided, batched = cublas.gemmEx, cublas.gemmStridedBatchedEx, gemm_batched_ex()
    else:
        handle, gemm, strided, batched = route.products.calls()
    kind, out_kind, compute, scalar = _types(a.dtype, out.dtype, _tf32)
    _, alpha_ptr = _host_scalar(alpha, scalar)
    _, beta_ptr = _host_scalar(beta, scalar)
    pa, pb, pc = a.data.ptr, b.data.ptr, out.data.ptr
    if todo.axes:
        assert batched is not None  # the plan was told
        (c,) = todo.calls
        at = pointers((pa, pb, pc), todo.axes, (item, item, out_item))
        x, y, z = (at.data.ptr + i * at.strides[0] for i in range(3))
        if c.swapped:
            x, y = y, x
        batched(
            handle, c.transa, c.transb, c.m, c.n, c.k,
            alpha_ptr, x, kind, c.lda, y, kind, c.ldb,
            beta_ptr, z, out_kind, c.ldc, c.count, compute, _GEMM_DEFAULT,
        )  # fmt: skip
        return
    for c in todo.calls:
        at_a, at_b, at_c = c.offsets
        x, y = pa + at_a * item, pb + at_b * item
        if c.swapped:
            x, y = y, x
        z = pc + at_c * out_item
        if c.count == 1:
            gemm(
                handle, c.transa, c.transb, c.m, c.n, c.k,
                alpha_ptr, x, kind, c.lda, y, kind, c.ldb,
                beta_ptr, z, out_kind, c.ldc, compute, _GEMM_DEFAULT,
            )  # fmt: skip
        else:
            strided(
                handle, c.transa, c.transb, c.m, c.n, c.k,
                alpha_ptr, x, kind, c.lda, c.stridea, y, kind, c.ldb, c.strideb,
                beta_ptr, z, out_kind, c.ldc, c.stridec, c.count, compute, _GEMM_DEFAULT,
            )  # fmt: skip


_NOTHING = Plan(())


def _conjugated(todo: Plan, conj: tuple[bool, bool]) -> Plan | None:
    """The plan with conjugates, or None: cuBLAS takes them of what it transposes, and no other."""
    calls = []
    for c in todo.calls:
        first, second = reversed(conj) if c.swapped else conj
        if (first and c.transa != OP_T) or (second and c.transb != OP_T):
            return None
        calls.append(
            replace(c, transa=OP_C if first else c.transa, transb=OP_C if second else c.transb)
        )
    return replace(todo, calls=tuple(calls)) if calls else None


@lru_cache
def _types(dtype: Any, out: Any, tf32: bool) -> tuple[int, int, int, str]:
    """CUDA's data types of the operands and of the result, the compute type, the scalars' type."""
    half = dtype.itemsize == 2
    if out != dtype and not (half and out.name == "float32"):
        raise TypeError(f"matmul: a product of {dtype} cannot be written into {out}")
    if out.name in ("float64", "complex128"):
        compute = _COMPUTE_64F
    elif tf32 and not half:
        compute = _COMPUTE_32F_FAST_TF32
    else:
        compute = _COMPUTE_32F
    scalar = out.char if out.itemsize > 2 else "f"
    return _CUDA_TYPES[dtype.name], _CUDA_TYPES[out.name], compute, scalar


@lru_cache(maxsize=256)
def _host_scalar(value: complex, char: str) -> tuple[Any, int]:
    """`value` in host memory, where cuBLAS reads it, kept alive by the cache; and its address.

    cuBLAS reads it before the call returns, so a value may leave the cache later.
    """
    array = np.array(value, char)
    return array, array.ctypes.data
