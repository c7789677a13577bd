"""Batch norm's steps on the GPU, in a few launches; half types are computed in float32."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Any

import cupy as cp

Array = Any


def _compute(x: Array) -> str:
    return "double" if x.dtype.char == "d" else "float"


def _columns(x: Array) -> tuple[int, ...]:
    return (-1, *[1] * (x.ndim - 2))


def _result(x: Array, *more: Array | None) -> Any:
    return cp.result_type(x, *(m for m in more if m is not None))


@cache
def _moment(centred: bool, compute: str) -> Any:
    value = "(C(x) - C(mean)) * (C(x) - C(mean))" if centred else "C(x)"
    return cp.ReductionKernel(
        "X x, M mean, float64 share" if centred else "X x, float64 share",
        "Y y",
        value,
        "a + b",
        "y = Y(a * C(share))",
        "0",
        f"autograd_gpu_channel_{'variance' if centred else 'mean'}",
        reduce_type=compute,
        preamble=f"typedef {compute} C;",
    )


@cache
def _along(compute: str) -> Any:
    return cp.ReductionKernel(
        "G g, X x, M mean, I inverse",
        "Y y",
        "C(g) * (C(x) - C(mean)) * C(inverse)",
        "a + b",
        "y = Y(a)",
        "0",
        "autograd_gpu_batch_norm_along",
        reduce_type=compute,
        preamble=f"typedef {compute} C;",
    )


@cache
def _normalise(weight: bool, bias: bool, compute: str) -> Any:
    inputs = "X x, M mean, I inverse" + ", W weight" * weight + ", B bias" * bias
    scale = "C(inverse) * C(weight)" if weight else "C(inverse)"
    shift = " + C(bias)" if bias else ""
    return cp.ElementwiseKernel(
        inputs,
        "Y y",
        f"y = Y((C(x) - C(mean)) * ({scale}){shift})",
        "autograd_gpu_batch_norm",
        preamble=f"typedef {compute} C;",
    )


@cache
def _gradient(weight: bool, compute: str) -> Any:
    scale = "C(inverse) * C(weight)" if weight else "C(inverse)"
    return cp.ElementwiseKernel(
        "G g, X x, M mean, I inverse, A along, T total, float64 share" + ", W weight" * weight,
        "Y y",
        f"""
        const C normal = (C(x) - C(mean)) * C(inverse);
        y = Y((C(g) - (normal * C(along) + C(total)) * C(share)) * ({scale}));
        """,
        "autograd_gpu_batch_norm_gradient",
        preamble=f"typedef {compute} C;",
    )


def channel_statistics(x: Array) -> tuple[Array, Array]:
    """Mean and variance [C] of the channels of `x` [N, C, ...], over all other axes."""
    compute, axes = _compute(x), (0, *range(2, x.ndim))
    share = x.shape[1] / prod(x.shape)
    kind = cp.float32 if x.dtype.itemsize == 2 else x.dtype
    mean = cp.empty(x.shape[1], kind)
    variance = cp.empty(x.shape[1], kind)
    _moment(False, compute)(x, share, mean, axis=axes)
    _moment(True, compute)(x, mean.reshape(_columns(x)), share, variance, axis=axes)
    return mean, variance


def channels_normalised(
    x: Array, mean: Array, inverse: Array, weight: Array | None, bias: Array | None
) -> Array:
    """(x - mean) · inverse · weight + bias, all but `x` [C]."""
    columns = _columns(x)
    given = [v.reshape(columns) for v in (mean, inverse, weight, bias) if v is not None]
    kernel = _normalise(weight is not None, bias is not None, _compute(x))
    return kernel(x, *given, cp.empty(x.shape, _result(x, weight, bias)))


def batch_norm_gradients(
    g: Array,
    x: Array,
    mean: Array,
    inverse: Array,
    weight: Array | None,
    needs: Sequence[bool],
) -> tuple[Array | None, Array, Array]:
    """The gradients of `batch_norm` for its operands, where they are needed."""
    compute, columns, axes = _compute(x), _columns(x), (0, *range(2, x.ndim))
    mean, inverse = mean.reshape(columns), inverse.reshape(columns)
    along = cp.empty(x.shape[1], mean.dtype)
    total = cp.empty(x.shape[1], mean.dtype)
    _along(compute)(g, x, mean, inverse, along, axis=axes)
    _moment(False, compute)(g, 1.0, total, axis=axes)
    grad_x = None
    if needs[0]:
        share = x.shape[1] / prod(x.shape)
        more = () if weight is None else (weight.reshape(columns),)
        grad_x = _gradient(weight is not None, compute)(
            g, x, mean, inverse, along.reshape(columns), total.reshape(columns), share, *more,
            cp.empty(x.shape, x.dtype),
        )  # fmt: skip
    return grad_x, along, total
