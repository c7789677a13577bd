"""Running sums and products along an axis."""

from __future__ import annotations

from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.reductions import wide
from autograd_gpu.primitive import primitive


def _axis(x: Array, axis: int | None) -> int:
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


@primitive(x=_cumulative_sum)
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
        y = xp.cumulative_sum(x, axis=axis, dtype=adding, include_initial=True)
    else:
        y = x.cumsum(axis, adding)
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
        y = xp.cumulative_prod(x, axis=axis, dtype=multiplying, include_initial=True)
    else:
        y = x.cumprod(axis, multiplying)
    return y if multiplying is dtype else y.astype(x.dtype)
