"""Quantiles, percentiles and medians, by any of NumPy's methods."""

from __future__ import annotations

import math
from typing import Any

from autograd_gpu.ops.arguments import axis_of, beside, namespace_of, variable
from autograd_gpu.ops.casts import astype
from autograd_gpu.ops.comparisons import isnan, logical_not
from autograd_gpu.ops.elementwise import floor
from autograd_gpu.ops.reductions import (
    Axis,
    sum_,
)
from autograd_gpu.ops.selection import where
from autograd_gpu.ops.shape import moveaxis, ravel, reshape
from autograd_gpu.ops.sorting import (
    sort,
)
from autograd_gpu.ops.taking import (
    take,
    take_along_axis,
)
from autograd_gpu.variable import Variable

# Where quantile q of n sorted elements lies: alpha + q (n + 1 - alpha - beta) - 1, counted from 0.
CONTINUOUS = {
    "linear": (1.0, 1.0),
    "hazen": (0.5, 0.5),
    "interpolated_inverted_cdf": (0.0, 1.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
    "weibull": (0.0, 0.0),
}

DISCRETE = ("higher", "inverted_cdf", "lower", "midpoint", "nearest")


def quantile(
    x: Any,
    /,
    q: Any,
    axis: Axis = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
) -> Variable:
    """The quantiles `q` (a number or an array, between 0 and 1) over `axis`.

    The axes of `q` come first in the result.  `method` is one of NumPy's, of the discontinuous ones
    'lower', 'higher', 'nearest', 'midpoint' and 'inverted_cdf'.  Rows with a NaN give NaN.  The
    gradient goes to the elements between which a quantile lies, and to `q`.

    >>> quantile(Variable([1.0, 2.0, 3.0, 4.0]), 0.5).item()
    2.5
    """
    return _quantile("quantile", x, q, axis, method, keepdims, False)


def nanquantile(
    x: Any, /, q: Any, axis: Axis = None, *, method: str = "linear", keepdims: bool = False
) -> Variable:
    """`quantile` of the elements that are not NaN; NaN where there are none."""
    return _quantile("nanquantile", x, q, axis, method, keepdims, True)


def percentile(
    x: Any, /, q: Any, axis: Axis = None, *, method: str = "linear", keepdims: bool = False
) -> Variable:
    """`quantile` in percent."""
    return _quantile("percentile", x, _hundredth(q), axis, method, keepdims, False)


def nanpercentile(
    x: Any, /, q: Any, axis: Axis = None, *, method: str = "linear", keepdims: bool = False
) -> Variable:
    """`nanquantile` in percent."""
    return _quantile("nanpercentile", x, _hundredth(q), axis, method, keepdims, True)


def median(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Variable:
    """The middle element over `axis`, or the mean of the two in the middle; NaN beside a NaN.

    >>> median(Variable([3.0, 1.0, 2.0])).item()
    2.0
    """
    return _quantile("median", x, 0.5, axis, "linear", keepdims, False)


def nanmedian(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Variable:
    """`median` of the elements that are not NaN; NaN where there are none."""
    return _quantile("nanmedian", x, 0.5, axis, "linear", keepdims, True)


def _hundredth(q: Any) -> Any:
    if isinstance(q, (list, tuple)):
        return [_hundredth(item) for item in q]
    return q / 100


def _quantile(
    op: str, x: Any, q: Any, axis: Axis, method: str, keepdims: bool, skip_nan: bool
) -> Variable:
    if method not in CONTINUOUS and method not in DISCRETE:
        raise ValueError(f"{op}: method {method!r} is none of {(*CONTINUOUS, *DISCRETE)}")
    x = variable(x)
    if x.dtype.kind not in "fV":
        if x.dtype.kind == "c":
            raise TypeError(f"{op}: complex numbers have no order")
        x = astype(x, "float64")
    _check_q(op, q)
    q = beside(x, q)
    if q.dtype != x.dtype and q.dtype.kind not in "fV":
        q = astype(q, x.dtype)
    rows, shape = _rows(op, x, axis)  # [..., n]
    n = rows.shape[-1]
    if not n:
        raise ValueError(f"{op}: there are no elements along axis {axis}")
    rows = sort(rows)
    last = rows[..., -1:]
    xp = namespace_of(x)
    if skip_nan:
        count = sum_(astype(logical_not(isnan(rows.detach())), q.dtype), axis=-1, keepdims=True)
        size: Any = where(count == 0, 1.0, count)
    else:
        size = n
    h = _position(ravel(q), size, method)  # [..., Q]
    h = where(h < 0, 0.0, where(h > size - 1, h * 0 + (size - 1), h))
    below = floor(h.detach())
    lower = astype(below, "int64")
    if h.ndim == 1:
        lead = rows.shape[:-1]
        upper = Variable(xp.minimum(lower.value + 1, n - 1))
        first, second = take(rows, lower, axis=-1), take(rows, upper, axis=-1)
    else:
        lead = rows.shape[:-1]
        upper = Variable(xp.minimum(lower.value + 1, astype(size, "int64").value - 1))
        first, second = take_along_axis(rows, lower), take_along_axis(rows, upper)
    weight = h - below
    y = where(weight == 0, first, first + (second - first) * weight)
    # Both neighbours, also where the weight is 0: there the slope in q is that to the right.
    if q.requires_grad:
        y = y + where(weight == 0, (second - first).detach() * (h - h.detach()), 0.0)
    if not skip_nan:
        y = where(isnan(last), last, y)
    y = reshape(moveaxis(y, -1, 0), q.shape + lead)
    return reshape(y, q.shape + shape) if keepdims else y


def _check_q(op: str, q: Any) -> None:
    for item in q if isinstance(q, (list, tuple)) else (q,):
        if isinstance(item, (int, float)) and not 0 <= item <= 1:
            raise ValueError(f"{op}: a quantile lies between 0 and 1 (percent: 100), not {item}")


def _position(q: Variable, n: Any, method: str) -> Variable:
    """Where the quantiles lie between n sorted elements, counted from 0."""
    if method in CONTINUOUS:
        alpha, beta = CONTINUOUS[method]
        if alpha == beta == 1:
            return variable(q * (n - 1))
        return variable(q * (n + 1 - alpha - beta) + (alpha - 1))
    h = (q * (n - 1)).detach()
    down = floor(h)
    if method == "lower":
        return down
    if method == "higher":
        return -floor(-h)
    if method == "midpoint":
        return where(h == down, h, down + 0.5)
    if method == "nearest":  # halves to even, as NumPy
        return Variable(namespace_of(h).round(h.value))
    return -floor(-(q * n).detach()) - 1


def _rows(op: str, x: Variable, axis: Axis) -> tuple[Variable, tuple[int, ...]]:
    """`x` with the axes that are reduced as its last one, and the shape with them kept as 1."""
    if axis is None:
        return ravel(x), (1,) * x.ndim
    axes = [axis_of(op, a, x.ndim) for a in (axis if isinstance(axis, tuple) else (axis,))]
    kept = tuple([1 if i in axes else n for i, n in enumerate(x.shape)])
    if len(axes) == 1:
        return moveaxis(x, axes[0], -1), kept
    x = moveaxis(x, axes, range(-len(axes), 0))
    return reshape(x, (*x.shape[: -len(axes)], math.prod(x.shape[-len(axes) :]))), kept
