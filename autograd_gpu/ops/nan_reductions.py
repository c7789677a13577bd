"""Reductions that pass over NaN."""

from __future__ import annotations

import math
from typing import Any

from autograd_gpu.ops.arguments import namespace_of, variable
from autograd_gpu.ops.casts import astype
from autograd_gpu.ops.comparisons import isnan, logical_not
from autograd_gpu.ops.cumulative import cumulative_prod, cumulative_sum
from autograd_gpu.ops.powers import sqrt
from autograd_gpu.ops.reductions import (
    Axis,
    all_,
    argmax,
    argmin,
    max_,
    min_,
    prod,
    sum_,
)
from autograd_gpu.ops.selection import where
from autograd_gpu.ops.shape import ravel
from autograd_gpu.variable import Variable


def _filled(x: Any, number: Any) -> tuple[Variable, Variable]:
    x = variable(x)
    missing = isnan(x)
    return where(missing, number, x), missing


def nansum(x: Any, /, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False) -> Variable:
    """The sum over `axis` with NaN as 0.

    >>> nansum(Variable([1.0, float("nan")])).item()
    1.0
    """
    return sum_(_filled(x, 0)[0], axis, dtype, keepdims)


def nanprod(x: Any, /, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False) -> Variable:
    """The product over `axis` with NaN as 1."""
    return prod(_filled(x, 1)[0], axis, dtype, keepdims)


def nancumsum(x: Any, /, axis: int | None = None, dtype: Any = None) -> Variable:
    """Running sums with NaN as 0, of the flat array without an axis."""
    x = _filled(x, 0)[0]
    return cumulative_sum(ravel(x) if axis is None else x, axis=axis or 0, dtype=dtype)


def nancumprod(x: Any, /, axis: int | None = None, dtype: Any = None) -> Variable:
    """Running products with NaN as 1, of the flat array without an axis."""
    x = _filled(x, 1)[0]
    return cumulative_prod(ravel(x) if axis is None else x, axis=axis or 0, dtype=dtype)


def _count(missing: Variable, dtype: Any, axis: Axis, keepdims: bool) -> Variable:
    present = astype(logical_not(missing), "float32" if dtype.itemsize == 2 else dtype)
    return sum_(present, axis=axis, keepdims=keepdims)


def _real(x: Variable) -> Any:
    if x.dtype.kind == "c":
        return "float32" if x.dtype.itemsize == 8 else "float64"
    return x.dtype if x.dtype.kind in "fV" else "float64"


def nanmean(x: Any, /, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False) -> Variable:
    """The mean over `axis` of what is not NaN; NaN where there is nothing."""
    x, missing = _filled(x, 0)
    if dtype is None and x.dtype.kind not in "fcV":
        dtype = "float64"
    total = sum_(x, axis, dtype, keepdims)
    return _quotient(total, _count(missing, _dtype(total), axis, keepdims))


def _dtype(x: Variable) -> Any:
    """The dtype of real numbers beside `x`."""
    return namespace_of(x).dtype(_real(x))


def _quotient(total: Variable, count: Variable) -> Variable:
    """total / count, NaN for a count of 0 or less, without a warning."""
    y = total / where(count > 0, count, 1.0)
    return astype(where(count > 0, y, math.nan), total.dtype)


def nanvar(
    x: Any,
    /,
    axis: Axis = None,
    dtype: Any = None,
    *,
    correction: float = 0,
    keepdims: bool = False,
) -> Variable:
    """The variance over `axis` of what is not NaN, computed in `dtype`."""
    x, missing = _filled(x, 0)
    if dtype is not None or x.dtype.kind not in "fcV":
        x = astype(x, dtype or "float64")
    count = _count(missing, _dtype(x), axis, True)
    centre = _quotient(sum_(x, axis, None, True), where(count > 0, count, 1.0))
    distance = where(missing, 0, x - centre)
    squares = (
        (distance * distance.conj()).real if distance.dtype.kind == "c" else distance * distance
    )
    count = _count(missing, _dtype(x), axis, keepdims)
    return _quotient(sum_(squares, axis, None, keepdims), count - correction)


def nanstd(
    x: Any,
    /,
    axis: Axis = None,
    dtype: Any = None,
    *,
    correction: float = 0,
    keepdims: bool = False,
) -> Variable:
    """The standard deviation over `axis` of what is not NaN; its gradient is 0 where it is 0."""
    return sqrt_at_0(nanvar(x, axis, dtype, correction=correction, keepdims=keepdims))


def sqrt_at_0(x: Variable) -> Variable:
    """The square root with the gradient 0 at 0."""
    zero = x == 0
    return where(zero, 0, sqrt(where(zero, 1, x)))


def nanmax(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Variable:
    """The largest element over `axis` that is not NaN; NaN where there is none."""
    return _extreme(max_, x, -math.inf, axis, keepdims)


def nanmin(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Variable:
    """The smallest element over `axis` that is not NaN; NaN where there is none."""
    return _extreme(min_, x, math.inf, axis, keepdims)


def _extreme(op: Any, x: Any, least: float, axis: Axis, keepdims: bool) -> Variable:
    x = variable(x)
    if x.dtype.kind not in "fV":
        return variable(op(x, axis, keepdims))
    x, missing = _filled(x, least)
    y = op(x, axis, keepdims)
    return where(all_(missing, axis, keepdims), math.nan, y)


def nanargmax(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Variable:
    """The index of the first largest element that is not NaN; 0 where all are."""
    return argmax(_filled(x, -math.inf)[0], axis, keepdims)


def nanargmin(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Variable:
    """The index of the first smallest element that is not NaN; 0 where all are."""
    return argmin(_filled(x, math.inf)[0], axis, keepdims)
