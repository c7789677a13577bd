"""Arrays put together and taken apart."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, cast

from autograd_gpu.backend import NAMESPACES, Array, Namespace
from autograd_gpu.primitive import primitive
from autograd_gpu.variable import Variable


def _lead(axis: int, ndim: int) -> tuple[slice, ...]:
    """What stands before the index of `axis`."""
    if not -ndim <= axis < ndim:
        raise IndexError(f"axis {axis} is out of range for {ndim} axes")
    return (slice(None),) * (axis % ndim)


def _arrays(xp: Namespace, operands: Sequence[Any]) -> Sequence[Any]:
    """`operands` with numbers as arrays without axes, real Python ones in the dtype of another."""
    if all(x.__class__ in NAMESPACES for x in operands):
        return operands
    if any(x is None for x in operands):
        raise TypeError("expected arrays, got None")
    array: Any = next(x for x in operands if x.__class__ in NAMESPACES)
    like = array.dtype

    def dtype(x: Any) -> Any:
        if hasattr(x, "dtype"):
            return x.dtype
        return None if x.__class__ is complex or like.kind in "biu" else like

    return [x if x.__class__ in NAMESPACES else xp.full((), x, dtype=dtype(x)) for x in operands]


def _concat_arrays(
    g: Any, arrays_shape: Sequence[tuple[int, ...]], axis: int | None, needs: Sequence[bool]
) -> list[Any]:
    lead = () if axis is None else _lead(axis, g.ndim)
    grads = []
    start = 0
    for shape, needed in zip(arrays_shape, needs, strict=True):
        size = shape[len(lead)] if axis is not None else _size(shape)
        if needed:
            part = g[(*lead, slice(start, start + size))]
            grads.append(part.reshape(shape) if axis is None else part)
        else:
            grads.append(None)
        start += size
    return grads


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for n in shape:
        size *= n
    return size


def _without_gaps(t: Sequence[Any], shapes: Sequence[tuple[int, ...]]) -> list[Any]:
    """Tangents with zeros where there is none."""
    first = next(x for x in t if x is not None)
    raw = first.value if isinstance(first, Variable) else first
    zeros = NAMESPACES[raw.__class__].zeros
    return [
        zeros(shape, dtype=first.dtype) if x is None else x
        for x, shape in zip(t, shapes, strict=True)
    ]


def _concat_tangent(xp: Namespace, t: Any, arrays_shape: Any, axis: int | None) -> Any:
    return xp.concat(_without_gaps(t, arrays_shape), axis=axis)


@primitive(arrays=_concat_arrays, tangent=_concat_tangent)
def concat(xp: Namespace, *arrays: Array, axis: int | None = 0) -> Array:
    """The arrays one after the other along an axis they have; flat ones for the axis None.

    Raises ValueError if their other axes differ.

    >>> concat([Variable([1.0]), Variable([2.0, 3.0])])
    Variable(array([1., 2., 3.], dtype=float32))
    """
    return xp.concat(_arrays(xp, arrays), axis=axis)


def _stack_arrays(g: Any, axis: int, needs: Sequence[bool]) -> list[Any]:
    lead = _lead(axis, g.ndim)
    return [g[(*lead, i)] if needed else None for i, needed in enumerate(needs)]


def _stack_tangent(xp: Namespace, t: Any, axis: int, y_shape: tuple[int, ...]) -> Any:
    shape = y_shape[: axis % len(y_shape)] + y_shape[axis % len(y_shape) + 1 :]
    return xp.stack(_without_gaps(t, [shape] * len(t)), axis=axis)


@primitive(arrays=_stack_arrays, tangent=_stack_tangent)
def stack(xp: Namespace, *arrays: Array, axis: int = 0) -> Array:
    """Arrays of one shape along a new axis; beside arrays without axes numbers do too.

    >>> stack([Variable(1.0), Variable(2.0)])
    Variable(array([1., 2.], dtype=float32))
    """
    given = _arrays(xp, arrays)
    first = given[0]
    ndim = first.ndim + 1
    where = (*_lead(axis, ndim), None)
    for other in given:
        if other.shape != first.shape:
            raise ValueError("all arrays must have one shape")
    return xp.concat([x[where] for x in given], axis=axis % ndim)


def _split_tangent(t: Any, axis: int, y_shape: Sequence[tuple[int, ...]]) -> tuple[Any, ...]:
    lead = _lead(axis, t.ndim)
    stops = list(accumulate(shape[axis] for shape in y_shape))
    return tuple([t[(*lead, slice(a, b))] for a, b in pairwise([0, *stops])])


@primitive(x=lambda xp, g, axis: xp.concat(g, axis=axis), outputs=True, tangent=_split_tangent)
def split(
    xp: Namespace, x: Array, *, indices_or_sections: int | Sequence[int], axis: int = 0
) -> tuple[Array, ...]:
    """Views of consecutive parts along `axis`: so many equal ones, or cut before the indices given.

    Raises ValueError where an axis cannot be cut into equal parts.

    >>> [x.shape for x in split(Variable([1.0, 2.0, 3.0, 4.0]), [1])]
    [(1,), (3,)]
    """
    lead = _lead(axis, x.ndim)
    size = x.shape[len(lead)]
    if isinstance(indices_or_sections, int):
        parts = indices_or_sections
        if parts < 1 or size % parts:
            raise ValueError(f"an axis of size {size} has no {parts} equal parts")
        width = size // parts
        return tuple([x[(*lead, slice(i * width, (i + 1) * width))] for i in range(parts)])
    cuts = [0, *map(operator.index, indices_or_sections), size]
    # As NumPy has it, an index may lie before the previous one or behind the end.
    slices = [slice(a, b) for a, b in pairwise(cuts)]
    parts_of = [range(size)[s] for s in slices]
    if sum(map(len, parts_of)) != size or any(
        a.stop != b.start for a, b in pairwise(parts_of) if a and b
    ):
        raise ValueError("the indices must not decrease")
    return tuple([x[(*lead, s)] for s in slices])


@primitive(
    x=lambda xp, g, axis: xp.stack(g, axis=axis),
    outputs=True,
    tangent=lambda t, axis: tuple([t[(*_lead(axis, t.ndim), i)] for i in range(t.shape[axis])]),
)
def unstack_(xp: Namespace, x: Array, *, axis: int = 0) -> tuple[Array, ...]:
    """`unstack` of an axis that is not empty."""
    lead = _lead(axis, x.ndim)
    return tuple([x[(*lead, i)] for i in range(x.shape[len(lead)])])


def unstack(x: Any, /, axis: int = 0) -> tuple[Variable, ...]:
    """The arrays along `axis`, without it.

    >>> a, b = unstack(Variable([1.0, 2.0]))
    >>> b
    Variable(array(2., dtype=float32))
    """
    x = x if isinstance(x, Variable) else Variable(x)
    if not x.ndim:
        raise ValueError("unstack: a 0-d array has no axis to take apart")
    if -x.ndim <= axis < x.ndim and not x.shape[axis]:
        return ()
    return cast(tuple[Variable, ...], unstack_(x, axis))
