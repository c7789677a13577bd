"""What needs less than sorting: the largest few, and partitions."""

from __future__ import annotations

from typing import Any, NamedTuple

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.arguments import along, axis_of, variable
from autograd_gpu.ops.shape import ravel
from autograd_gpu.ops.sorting import (
    argsort,
)
from autograd_gpu.ops.taking import (
    take_along_axis,
)
from autograd_gpu.primitive import primitive
from autograd_gpu.variable import Variable


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
