"""Order: what sorts, searches and tells distinct elements."""

from __future__ import annotations

from typing import Any, NamedTuple

from autograd_gpu.backend import (
    Array,
    Namespace,
)
from autograd_gpu.modes import recording
from autograd_gpu.ops.taking import take_, take_along_axis
from autograd_gpu.primitive import primitive
from autograd_gpu.variable import Variable


@primitive()
def argsort(
    xp: Namespace, x: Array, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Array:
    """The indices that sort `x` along `axis`; equal elements keep their order.

    >>> argsort(Variable([3.0, 1.0, 2.0])).tolist()
    [1, 2, 0]
    """
    return xp.argsort(x, axis=axis, descending=descending, stable=stable)


@primitive()
def sort_(
    xp: Namespace, x: Array, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Array:
    """`sort` without a gradient."""
    return xp.sort(x, axis=axis, descending=descending, stable=stable)


def sort(
    x: Any, /, axis: int | None = -1, descending: bool = False, stable: bool = True
) -> Variable:
    """`x` sorted along `axis`, or flat for None.  The gradient of an element goes to where it came
    from.

    >>> sort(Variable([3.0, 1.0, 2.0]), descending=True)
    Variable(array([3., 2., 1.], dtype=float32))
    """
    if recording.get() and isinstance(x, Variable) and x.requires_grad:
        if axis is None:
            x, axis = x.reshape(-1), 0
        return take_along_axis(x, argsort(x, axis, descending, stable), axis)
    return sort_(x, axis, descending, stable)


@primitive(outputs=True)
def nonzero(xp: Namespace, x: Array) -> tuple[Array, ...]:
    """The indices of the elements that are not 0, an array for each axis; CuPy waits for it."""
    return tuple(xp.nonzero(x))


@primitive()
def searchsorted(
    xp: Namespace, x1: Array, x2: Array, *, side: str = "left", sorter: Any = None
) -> Array:
    """Where in the sorted `x1` [N] each element of `x2` would be inserted.

    >>> searchsorted(Variable([1.0, 2.0, 3.0]), Variable([2.5])).tolist()
    [2]
    """
    sorter = sorter.value if isinstance(sorter, Variable) else sorter
    return xp.searchsorted(x1, x2, side=side, sorter=sorter)


@primitive(outputs=True)
def unique_all_(xp: Namespace, x: Array) -> tuple[Array, ...]:
    """The distinct elements, their first indices, the inverse and the counts."""
    return tuple(xp.unique_all(x))


class UniqueAll(NamedTuple):
    """What `unique_all` returns."""

    values: Variable
    indices: Variable
    inverse_indices: Variable
    counts: Variable


class UniqueCounts(NamedTuple):
    """What `unique_counts` returns."""

    values: Variable
    counts: Variable


class UniqueInverse(NamedTuple):
    """What `unique_inverse` returns."""

    values: Variable
    inverse_indices: Variable


def unique_all(x: Any, /) -> UniqueAll:
    """The distinct elements, their first indices, the inverse and the counts; CuPy waits for it.

    The gradient of a distinct element goes to where it comes first.

    >>> unique_all(Variable([3.0, 1.0, 3.0])).counts.tolist()
    [1, 2]
    """
    values, *others = unique_all_(x)
    if recording.get() and isinstance(x, Variable) and x.requires_grad:
        values = take_(x, others[0])
    return UniqueAll(values, *others)


def unique_counts(x: Any, /) -> UniqueCounts:
    """The distinct elements, and how often each occurs."""
    values, _, _, counts = unique_all(x)
    return UniqueCounts(values, counts)


def unique_inverse(x: Any, /) -> UniqueInverse:
    """The distinct elements, and for each element of `x` which of them it is."""
    values, _, inverse, _ = unique_all(x)
    return UniqueInverse(values, inverse)


def unique_values(x: Any, /) -> Variable:
    """The distinct elements, sorted."""
    return unique_all(x).values
