"""Functions applied along axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from autograd_gpu.ops.arguments import axes_of, axis_of, beside, variable
from autograd_gpu.ops.joining import stack
from autograd_gpu.ops.shape import expand_dims, moveaxis, reshape
from autograd_gpu.variable import Variable


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, /, *args: Any, **kwargs: Any
) -> Variable:
    """`func1d(row, *args, **kwargs)` of each row of `arr` along `axis`; its axes take that place.

    A call in Python for each row: ops that know axes are faster.

    >>> x = Variable([[1.0, 2.0], [3.0, 4.0]])
    >>> apply_along_axis(lambda row: row[0] * row[-1], 1, x).tolist()
    [2.0, 12.0]
    """
    x = variable(arr)
    axis = axis_of("apply_along_axis", axis, x.ndim)
    rows = moveaxis(x, axis, -1)
    lead = rows.shape[:-1]
    rows = reshape(rows, (-1, rows.shape[-1])) if x.size else rows
    if not x.size:
        raise ValueError(f"apply_along_axis: there are no rows in an array of shape {x.shape}")
    found = [beside(x, func1d(rows[i], *args, **kwargs)) for i in range(rows.shape[0])]
    y = stack(found)
    inner = y.shape[1:]
    y = reshape(y, (*lead, *inner))
    ends = range(len(lead), y.ndim)
    return moveaxis(y, tuple(ends), tuple(range(axis, axis + len(inner)))) if inner else y


def apply_over_axes(func: Callable[..., Any], a: Any, axes: int | Sequence[int]) -> Variable:
    """`func(a, axis)` for one axis after the other; what takes an axis away gets it back as 1.

    >>> apply_over_axes(sum, Variable([[1.0, 2.0], [3.0, 4.0]]), [0, 1]).tolist()
    [[10.0]]
    """
    y = variable(a)
    ndim = y.ndim
    for axis in axes_of(axes):
        axis = axis_of("apply_over_axes", axis, ndim)
        found = variable(func(y, axis))
        if found.ndim == ndim - 1:
            found = expand_dims(found, axis=axis)
        if found.ndim != ndim:
            raise ValueError(f"apply_over_axes: func made {found.shape} of {y.shape}")
        y = found
    return y
