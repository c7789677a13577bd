"""Running sums and products along an axis."""

from __future__ import annotations

from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.arguments import axis_of, variable
from autograd_gpu.ops.exponentials import logaddexp
from autograd_gpu.ops.joining import concat
from autograd_gpu.ops.reductions import wide, widened
from autograd_gpu.ops.shape import moveaxis
from autograd_gpu.ops.taking import take_along_axis
from autograd_gpu.primitive import primitive
from autograd_gpu.variable import Variable


def _axis(x: Array, axis: int | None) -> int:
    if not x.ndim:
        raise ValueError("an array with at least one axis is needed")
    if axis is None:
        if x.ndim != 1:
            raise ValueError("axis is needed for an array that is not 1-d")
        return 0
    return axis


def _without_initial(g: Any, axis: int) -> Any:
    return g[(slice(None),) * (axis % g.ndim) + (slice(1, None),)]


def _cumulative_sum(xp: Namespace, g: Any, axis: int | None, include_initial: bool) -> Any:
    axis = axis or 0
    if include_initial:
        g = _without_initial(g, axis)
    return xp.flip(xp.cumulative_sum(xp.flip(g, axis=axis), axis=axis), axis=axis)


@primitive(x=_cumulative_sum, tangent="linear")
def cumulative_sum(
    xp: Namespace,
    x: Array,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Array:
    """The sum of all elements up to each one; `include_initial` puts a 0 before them.

    >>> cumulative_sum(Variable([1.0, 2.0, 3.0]))
    Variable(array([1., 3., 6.], dtype=float32))
    """
    axis = _axis(x, axis)
    adding = wide(x, dtype)
    if include_initial:
        y = xp.cumulative_sum(widened(x, adding), axis=axis, dtype=adding, include_initial=True)
    else:
        y = widened(x, adding).cumsum(axis, adding)
    return y if adding is dtype else y.astype(x.dtype)


def _cumulative_prod(xp: Namespace, g: Any, x: Any, axis: int | None, include_initial: bool) -> Any:
    """For each element the product before it times s, with s[i] = g[i] + x[i + 1] * s[i + 1].

    The recurrence is solved in log2(n) steps of doubling length.  Nothing is divided by, so that
    zeros are no exception.
    """
    axis = axis or 0
    if include_initial:
        g = _without_initial(g, axis)
    last = x.ndim - 1
    x, s = xp.moveaxis(xp.conj(x), axis, last), xp.moveaxis(g, axis, last)
    n = x.shape[-1]
    factor = x[..., 1:]  # the product of the next `step` elements
    step = 1
    while step < n:
        s = xp.concat([s[..., :-step] + factor * s[..., step:], s[..., -step:]], axis=-1)
        factor = factor[..., :-step] * factor[..., step:]
        step *= 2
    before = xp.cumulative_prod(x, axis=-1, include_initial=True)[..., :-1]
    return xp.moveaxis(before * s, last, axis)


@primitive(x=_cumulative_prod)
def cumulative_prod(
    xp: Namespace,
    x: Array,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Array:
    """The product of all elements up to each one; `include_initial` puts a 1 before them."""
    axis = _axis(x, axis)
    multiplying = wide(x, dtype)
    if include_initial:
        y = xp.cumulative_prod(
            widened(x, multiplying), axis=axis, dtype=multiplying, include_initial=True
        )
    else:
        y = widened(x, multiplying).cumprod(axis, multiplying)
    return y if multiplying is dtype else y.astype(x.dtype)


@primitive()
def best_before(xp: Namespace, x: Array, *, largest: bool) -> Array:
    """For each element along the last axis the index of the extreme one up to it, the first of
    equal ones; found in log2(n) steps of doubling length."""
    n = x.shape[-1]
    index = xp.broadcast_to(xp.arange(n), x.shape)
    step = 1
    while step < n:
        before, after = x[..., :-step], x[..., step:]
        better = (before >= after) if largest else (before <= after)
        better = better | (before != before)  # NaN stays
        rest = xp.where(better, index[..., :-step], index[..., step:])
        index = xp.concat([index[..., :step], rest], axis=-1)
        x = xp.concat([x[..., :step], xp.where(better, before, after)], axis=-1)
        step *= 2
    return index


def _extreme_so_far(op: str, x: Any, axis: int | None, largest: bool) -> Variable:
    x = variable(x)
    if axis is None and x.ndim != 1:
        raise ValueError(f"{op}: axis is needed for an array that is not 1-d")
    axis = axis_of(op, axis or 0, x.ndim)
    rows = moveaxis(x, axis, -1)
    return moveaxis(take_along_axis(rows, best_before(rows, largest)), -1, axis)


def cumulative_max(x: Any, /, axis: int | None = None) -> Variable:
    """The largest element up to each one; the first of equal ones gets the gradient.

    >>> cumulative_max(Variable([1.0, 3.0, 2.0])).tolist()
    [1.0, 3.0, 3.0]
    """
    return _extreme_so_far("cumulative_max", x, axis, True)


def cumulative_min(x: Any, /, axis: int | None = None) -> Variable:
    """The smallest element up to each one; the first of equal ones gets the gradient."""
    return _extreme_so_far("cumulative_min", x, axis, False)


def logcumsumexp(x: Any, /, axis: int | None = None) -> Variable:
    """log(cumulative_sum(exp(x))), without overflow, in log2(n) steps of doubling length."""
    x = variable(x)
    if axis is None and x.ndim != 1:
        raise ValueError("logcumsumexp: axis is needed for an array that is not 1-d")
    axis = axis_of("logcumsumexp", axis or 0, x.ndim)
    y = moveaxis(x, axis, -1)
    step = 1
    while step < y.shape[-1]:
        rest = logaddexp(y[..., :-step], y[..., step:])
        y = concat([y[..., :step], rest], axis=-1)
        step *= 2
    return moveaxis(y, -1, axis)
