"""Order statistics, and reductions that pass over NaN."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.arguments import along, axis_of, beside, namespace_of, variable
from autograd_gpu.ops.casts import astype
from autograd_gpu.ops.comparisons import isnan, logical_not
from autograd_gpu.ops.cumulative import cumulative_prod, cumulative_sum
from autograd_gpu.ops.elementwise import floor
from autograd_gpu.ops.indexing import argsort, scatter_add, sort, take, take_along_axis
from autograd_gpu.ops.powers import sqrt
from autograd_gpu.ops.reductions import (
    Axis,
    all_,
    argmax,
    argmin,
    max_,
    mean,
    min_,
    prod,
    sum_,
)
from autograd_gpu.ops.selection import where
from autograd_gpu.ops.shape import broadcast_to, expand_dims, moveaxis, ravel, reshape
from autograd_gpu.primitive import primitive
from autograd_gpu.variable import Variable

# Quantiles --------------------------------------------------------------------------------------

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


# Order ------------------------------------------------------------------------------------------


class TopK(NamedTuple):
    """What `topk` returns."""

    values: Variable
    indices: Variable


def topk(x: Any, /, k: int, axis: int = -1, *, largest: bool = True, sorted: bool = True) -> TopK:
    """The `k` largest (or smallest) elements along `axis`, in order, and their indices.

    >>> topk(Variable([3.0, 1.0, 2.0]), 2).values.tolist()
    [3.0, 2.0]
    """
    x = variable(x)
    axis = axis_of("topk", axis, x.ndim)
    if not 0 <= k <= x.shape[axis]:
        raise ValueError(f"topk: k={k} for {x.shape[axis]} elements along axis {axis}")
    indices = argsort(x, axis=axis, descending=largest)[along(axis, slice(k))]
    return TopK(take_along_axis(x, indices, axis), indices)


@primitive()
def argpartition_(xp: Namespace, x: Array, *, kth: Any, axis: int) -> Array:
    """`argpartition` along an axis."""
    return xp.argpartition(x, kth, axis)


def argpartition(x: Any, /, kth: Any, axis: int | None = -1) -> Variable:
    """The indices of `partition`; not differentiable."""
    x = variable(x)
    if axis is None:
        x, axis = ravel(x), -1
    return argpartition_(x, kth if isinstance(kth, int) else tuple(kth), axis)


def partition(x: Any, /, kth: Any, axis: int | None = -1) -> Variable:
    """`x` ordered so far along `axis` that element `kth` stands where sorting would put it."""
    x = variable(x)
    if axis is None:
        x, axis = ravel(x), -1
    return take_along_axis(x, argpartition(x, kth, axis), axis)


# NaN passed over --------------------------------------------------------------------------------


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
    x: Any, /, axis: Axis = None, *, correction: float = 0, keepdims: bool = False
) -> Variable:
    """The variance over `axis` of what is not NaN."""
    x, missing = _filled(x, 0)
    if x.dtype.kind not in "fcV":
        x = astype(x, "float64")
    count = _count(missing, _dtype(x), axis, True)
    centre = _quotient(sum_(x, axis, None, True), where(count > 0, count, 1.0))
    distance = where(missing, 0, x - centre)
    squares = (
        (distance * distance.conj()).real if distance.dtype.kind == "c" else distance * distance
    )
    count = _count(missing, _dtype(x), axis, keepdims)
    return _quotient(sum_(squares, axis, None, keepdims), count - correction)


def nanstd(
    x: Any, /, axis: Axis = None, *, correction: float = 0, keepdims: bool = False
) -> Variable:
    """The standard deviation over `axis` of what is not NaN; its gradient is 0 where it is 0."""
    return sqrt_at_0(nanvar(x, axis, correction=correction, keepdims=keepdims))


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


# Averages and counts ----------------------------------------------------------------------------


def ptp(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Variable:
    """The largest less the smallest element over `axis`."""
    return max_(x, axis, keepdims) - min_(x, axis, keepdims)


def average(
    x: Any, /, axis: Axis = None, weights: Any = None, *, keepdims: bool = False
) -> Variable:
    """The mean over `axis`, weighted with an array of the shape of `x` or one along `axis`."""
    x = variable(x)
    if weights is None:
        return mean(x, axis, None, keepdims)
    weights = beside(x, weights)
    if weights.shape != x.shape:
        if not isinstance(axis, int) or weights.shape != (x.shape[axis],):
            raise ValueError(
                f"average: weights of shape {weights.shape} for the shape {x.shape}, axis {axis}"
            )
        axis = axis_of("average", axis, x.ndim)
        weights = reshape(weights, (-1,) + (1,) * (x.ndim - axis - 1))
    total = sum_(broadcast_to(weights, x.shape), axis, None, keepdims)
    return sum_(x * weights, axis, None, keepdims) / total


def cov(m: Any, /, *, rowvar: bool = True, correction: float = 1) -> Variable:
    """The covariance matrix of variables, a row each, or with `rowvar=False` a column."""
    m = variable(m)
    x = expand_dims(m, axis=0) if m.ndim < 2 else m if rowvar else m.T
    x = x - mean(x, 1, None, True)
    other = x.conj() if x.dtype.kind == "c" else x
    y = (x @ other.T) / (x.shape[1] - correction)
    return reshape(y, ()) if m.ndim < 2 else y


def corrcoef(x: Any, /, *, rowvar: bool = True) -> Variable:
    """The correlation matrix of variables."""
    c = cov(x, rowvar=rowvar)
    if not c.ndim:
        return c / c
    n = c.shape[0]
    variances = reshape(ravel(c)[:: n + 1], (-1, 1))
    deviations = sqrt(variances.real if c.dtype.kind == "c" else variances)
    return c / deviations / deviations.T


@primitive(outputs=True)
def histogram_(
    xp: Namespace,
    x: Array,
    weights: Array | None = None,
    *,
    bins: Any = 10,
    range: Any = None,
    density: bool = False,
) -> tuple[Array, Array]:
    """`histogram` of arrays."""
    counts, edges = xp.histogram(x, bins=bins, range=range, weights=weights, density=density)
    return counts, edges


def histogram(
    x: Any, /, bins: Any = 10, range: Any = None, density: bool = False, weights: Any = None
) -> tuple[Variable, Variable]:
    """How many elements fall into each bin, and the bins' edges; not differentiable.

    Raises TypeError for weights that require a gradient; `bincount` has one for them.
    """
    if isinstance(weights, Variable) and weights.requires_grad:
        raise TypeError("histogram: no gradient flows to the weights; use bincount, or detach them")
    bins = bins.value if isinstance(bins, Variable) else bins
    found = histogram_(x, weights, bins, range, density)
    return found[0], found[1]


def bincount(
    x: Any, /, weights: Any = None, minlength: int = 0, *, length: int | None = None
) -> Variable:
    """How often each number from 0 on occurs in `x`, or the sums of its `weights`.

    Without `length`, the largest number is read on the host, which waits for a device.
    """
    x = variable(x)
    if x.ndim != 1 or x.dtype.kind not in "iub":
        raise TypeError(f"bincount: a 1-d array of integers is needed, not {x.dtype} {x.shape}")
    if length is None:
        length = max(int(max_(x)) + 1 if x.size else 0, minlength)
    if weights is None:
        weights = namespace_of(x).ones(x.shape, dtype="int64")
    return scatter_add(weights, x, (length,))


@primitive()
def digitize_(xp: Namespace, x: Array, bins: Array, *, right: bool) -> Array:
    """`digitize` of arrays."""
    return xp.digitize(x, bins, right)


def digitize(x: Any, /, bins: Any, right: bool = False) -> Variable:
    """The index of the bin that each element falls into; not differentiable."""
    x = variable(x)
    return digitize_(x, beside(x, bins), right)
