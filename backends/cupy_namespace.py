"""The namespace of the CuPy backend: array_api_compat's, with CuPy's deviations closed.

What is said of CuPy here holds for 14.2.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial, wraps
from types import ModuleType
from typing import Any

import array_api_compat.cupy as compat
import cupy as cp
import numpy as np

from autograd_gpu.backends import (
    convolution_nd,
    cupy_activations,
    cupy_batch_norm,
    cupy_cudnn_ops,
    cupy_gemm,
    cupy_images,
    cupy_joining,
    cupy_layer_norm,
    cupy_philox,
    cupy_reductions,
    cupy_rows,
    cupy_scatter,
)
from autograd_gpu.backends.cupy_fuse import fused_kernel
from autograd_gpu.backends.indexing import assign_last
from autograd_gpu.backends.special_functions import SpecialFunctions
from autograd_gpu.backends.windows import window_layout

Array = Any


def namespace() -> ModuleType:
    """A module with the array API's functions and those that `autograd_gpu.backend` adds."""
    xp = ModuleType("autograd_gpu.backends.cupy_namespace.xp", compat.__doc__)
    vars(xp).update({k: v for k, v in vars(compat).items() if not k.startswith("__")})
    vars(xp).update(
        adjoint_times=cupy_gemm.adjoint_times,
        argpartition=argpartition,
        asarray=asarray,
        assign=partial(assign_last, cp),
        attended=cupy_cudnn_ops.attended,
        attention_gradients=cupy_cudnn_ops.attention_gradients,
        batch_norm_gradients=cupy_batch_norm.batch_norm_gradients,
        channel_statistics=cupy_batch_norm.channel_statistics,
        channels_normalised=cupy_batch_norm.channels_normalised,
        clip=clip,
        # Real arrays and numbers return themselves from this method.
        conj=operator.methodcaller("conjugate"),
        cumsum=cumsum,
        cumulative_prod=_through_float32(compat.cumulative_prod),
        cumulative_sum=_through_float32(compat.cumulative_sum),
        fused_kernel=fused_kernel,
        erf=erf,
        group_norm_gradients=cupy_layer_norm.group_norm_gradients,
        groups_normalised=cupy_layer_norm.groups_normalised,
        layer_norm_gradients=cupy_layer_norm.layer_norm_gradients,
        masked=masked,
        matmul=matmul,
        normalised=cupy_layer_norm.layer_norm,
        prod=_through_float32(compat.prod),
        random_bits=cupy_philox.random_bits,
        random_unit=cupy_philox.random_unit,
        remainder=remainder,
        round=_through_float32(compat.round),
        scatter_add=cupy_scatter.scatter_add,
        sign=sign,
        softmax_cross_entropy=cupy_rows.softmax_cross_entropy,
        softmax_less_picked=cupy_rows.softmax_less_picked,
        special=SpecialFunctions(
            "cupyx.scipy.special", "it comes with CuPy and needs SciPy: pip install scipy"
        ),
        std=std,
        take=take,
        times_adjoint=cupy_gemm.times_adjoint,
        tril=_through_float32(compat.tril),
        triu=_through_float32(compat.triu),
        var=var,
        where=where,
        windows=windows,
    )
    vars(xp).update({name: _of_reals(getattr(xp, name)) for name in _OF_REALS})
    vars(xp).update(cupy_activations.bound())
    vars(xp).update(cupy_reductions.bound(xp))
    vars(xp).update(cupy_images.bound(xp))
    vars(xp).update(cupy_joining.bound(xp))
    vars(xp).update(convolution_nd.bound(xp))
    return xp


# A value is infinite if it is a number, but its difference to itself is none.
_remainder = cp.ElementwiseKernel(
    "T x, T y, T z",
    "T w",
    """
    const T zero = 0;
    w = z;
    if (y == y && y - y != zero && x - x == zero)
        w = (x < zero) == (y < zero) ? x : y;
    if (y == y && (x == zero || z == zero))
        w = y == zero ? z : y < zero ? static_cast<T>(-zero) : zero;
    """,
    "autograd_gpu_remainder",
)


def remainder(x: Any, y: Any) -> Array:
    """CuPy's, with the right values for infinite `y`, and zeros of the sign of `y`."""
    z = cp.remainder(x, y)
    if z.dtype.kind != "f":
        return z
    same = [v.astype(z.dtype, copy=False) if isinstance(v, cp.ndarray) else v for v in (x, y)]
    return _remainder(*same, z)


def is_bfloat16(dtype: Any) -> bool:
    """Whether `dtype` is ml_dtypes.bfloat16, which need not be installed."""
    return bool(dtype.itemsize == 2 and dtype.name == "bfloat16")


def asarray(
    obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None
) -> Array:
    """As in the array API; array_api_compat's enters a device each time, for 2 us."""
    if device is not None:
        return compat.asarray(obj, dtype=dtype, device=device, copy=copy)
    if copy is None:
        return cp.asarray(obj, dtype=dtype)
    out = cp.array(obj, dtype=dtype, copy=copy)
    if not copy and out is not obj:
        raise ValueError("asarray: a copy is needed and copy=False forbids it")
    return out


def matmul(a: Array, b: Array) -> Array:
    """The product by NumPy's rules; see `cupy_gemm.matmul`."""
    return cupy_gemm.matmul(a, b)


def clip(x: Array, min: Any = None, max: Any = None) -> Array:
    """`x` between `min` and `max`, with NumPy's promotion; None is no bound."""
    # CuPy's has no keywords `min` and `max`, and makes float32 of bfloat16.
    if min is None and max is None:
        return x.copy()
    if is_bfloat16(x.dtype):
        if min is not None:
            x = cp.maximum(x, _bfloat16_number(min, x.dtype))
        return x if max is None else cp.minimum(x, _bfloat16_number(max, x.dtype))
    return cp.clip(x, min, max)


def _bfloat16_number(value: Any, dtype: Any) -> Any:
    # ml_dtypes knows no weak numbers: bfloat16 with a Python float gives float32
    return dtype.type(value) if isinstance(value, int | float) else value


def where(condition: Array, x: Any, y: Any) -> Array:
    """`x` where `condition` holds, else `y`."""
    # CuPy makes float32 of bfloat16 here.  The bits need no arithmetic.
    dtypes = [v.dtype for v in (x, y) if isinstance(v, cp.ndarray)]
    if dtypes and all(map(is_bfloat16, dtypes)):
        dtype = dtypes[0]
        x, y = (
            v.view(np.uint16)
            if isinstance(v, cp.ndarray)
            else np.asarray(v, dtype).view(np.uint16)[()]
            for v in (x, y)
        )
        return cp.where(condition, x, y).view(dtype)
    return cp.where(condition, x, y)


def var(
    x: Array,
    *,
    axis: int | tuple[int, ...] | None = None,
    correction: float = 0,
    keepdims: bool = False,
) -> Array:
    """The variance over `axis`, divided by the number of elements less `correction`."""
    # CuPy says `ddof` for `correction`, and makes float64 of bfloat16.
    if is_bfloat16(x.dtype):
        wide = x.astype(np.float32)
        return cp.var(wide, axis=axis, ddof=correction, keepdims=keepdims).astype(x.dtype)
    return cp.var(x, axis=axis, ddof=correction, keepdims=keepdims)


def std(
    x: Array,
    *,
    axis: int | tuple[int, ...] | None = None,
    correction: float = 0,
    keepdims: bool = False,
) -> Array:
    """The square root of `var`."""
    return cp.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


def cumsum(x: Array, axis: int | None = None, dtype: Any = None) -> Array:
    """Cumulative sums."""
    # CuPy's kernel for it does not compile for bfloat16.
    if dtype is None and is_bfloat16(x.dtype):
        return cp.cumsum(x.astype(np.float32), axis).astype(x.dtype)
    return cp.cumsum(x, axis, dtype)


def _through_float32(plain: Callable[..., Array]) -> Callable[..., Array]:
    """`plain` for bfloat16 too: CuPy has no kernel for it there, or makes float32 of it."""

    @wraps(plain)
    def function(x: Array, /, *args: Any, **options: Any) -> Array:
        if not is_bfloat16(x.dtype):
            return plain(x, *args, **options)
        dtype = options.get("dtype")
        return plain(x.astype(np.float32), *args, **options).astype(
            x.dtype if dtype is None else dtype
        )

    return function


_OF_REALS = ("atan2", "copysign", "hypot", "nextafter")


def _of_reals(plain: Callable[..., Array]) -> Callable[..., Array]:
    """`plain` with a TypeError for complex numbers, for which CuPy's kernel does not compile."""

    @wraps(plain)
    def function(a: Any, b: Any, /) -> Array:
        try:
            return plain(a, b)
        except cp.cuda.compiler.CompileException as error:
            if "c" in {np.result_type(v).kind for v in (a, b)}:
                raise TypeError("it is for real numbers only") from error
            raise

    return function


def argpartition(x: Array, kth: int | tuple[int, ...], axis: int) -> Array:
    """A whole argsort, as CuPy's own is too; that one looks at `kth` on the device."""
    n = x.shape[axis]
    for k in kth if isinstance(kth, tuple) else (kth,):
        if not -n <= k < n:
            raise ValueError(f"kth={k} is out of bounds for {n} elements")
    return cp.argsort(x, axis)


_masked = cp.ElementwiseKernel(
    "T x, M mask", "T y", "y = mask != M(0) ? x : T(0)", "autograd_gpu_masked"
)


def masked(x: Array, mask: Array) -> Array:
    """`x` where the mask holds, 0 elsewhere, also where `x` is infinite or NaN."""
    return _masked(x, mask)


def take(x: Array, indices: Any, /, *, axis: int | None = None) -> Array:
    """Elements of `x` along `axis`; indices on the host are copied to the device."""
    return cp.take(x, indices, axis)


_sign = cp.ElementwiseKernel(
    "T x", "T y", "y = x != x ? x : T((x > 0) - (x < 0))", "autograd_gpu_sign"
)


def sign(x: Array) -> Array:
    """-1, 0 or 1; NaN for NaN; `x / abs(x)` for complex numbers."""
    # CuPy's gives 0 for NaN, and array_api_compat corrects that by a mask, which waits.
    if x.dtype.kind == "f":
        return _sign(x)
    if x.dtype.kind == "c":
        return cp.where(x == 0, x, x / cp.abs(x))
    return cp.sign(x)


def erf(x: Array) -> Array:
    """The error function of real `x`, elementwise; half types are computed in float32."""
    from cupyx.scipy.special import erf as function  # its import takes 0.3 s

    # CuPy's makes a wider type of half ones.
    if x.dtype.itemsize == 2 and x.dtype.kind in "fV":
        return function(x.astype(np.float32)).astype(x.dtype)
    return function(x)


def windows(
    x: Array, size: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]
) -> Array:
    """A view [..., *out, *size] of the windows over the last `len(size)` axes of `x`.

    Not to be written to, which CuPy cannot forbid.  See `window_layout` for sizes and errors.
    """
    shape, strides = window_layout(x.shape, x.strides, size, stride, dilation)
    # as_strided's result does not say that it is a view, that of view() does
    return cp.lib.stride_tricks.as_strided(x, shape, strides).view()
