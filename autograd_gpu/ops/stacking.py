"""NumPy's ways to put arrays together and to take them apart, by concat and split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograd_gpu.backend import Array
from autograd_gpu.ops.arguments import along, axis_of, beside, namespace_of, variable, variables
from autograd_gpu.ops.indexing import own_backend
from autograd_gpu.ops.joining import concat, split
from autograd_gpu.ops.shape import atleast_1d, atleast_2d, atleast_3d, broadcast_to, ravel, reshape
from autograd_gpu.ops.taking import take
from autograd_gpu.variable import Variable


def vstack(arrays: Sequence[Any], /) -> Variable:
    """Rows one below the other; arrays with more axes along the first.

    >>> vstack([Variable([1.0, 2.0]), Variable([3.0, 4.0])]).shape
    (2, 2)
    """
    return concat([atleast_2d(x) for x in variables(*_sequence("vstack", arrays))], axis=0)


def hstack(arrays: Sequence[Any], /) -> Variable:
    """Arrays side by side: along the second axis, vectors along their only one."""
    parts = [atleast_1d(x) for x in variables(*_sequence("hstack", arrays))]
    return concat(parts, axis=0 if parts and parts[0].ndim == 1 else 1)


def dstack(arrays: Sequence[Any], /) -> Variable:
    """Arrays one behind the other, along the third axis."""
    return concat([atleast_3d(x) for x in variables(*_sequence("dstack", arrays))], axis=2)


def column_stack(arrays: Sequence[Any], /) -> Variable:
    """Vectors as the columns of a matrix; matrices side by side."""
    parts = variables(*_sequence("column_stack", arrays))
    return concat([reshape(x, (-1, 1)) if x.ndim < 2 else x for x in parts], axis=1)


def _sequence(op: str, arrays: Any) -> Any:
    if isinstance(arrays, (list, tuple)) and not arrays:
        raise ValueError(f"{op}: at least one array is needed")
    return arrays


def block(arrays: Any, /) -> Variable:
    """An array from nested lists of blocks: the innermost along the last axis.

    >>> block([[Variable([[1.0]]), Variable([[2.0]])], [Variable([[3.0, 4.0]])]]).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    depth = _depth(arrays)
    ndim = max(depth, _most_axes(arrays))
    return _block(arrays, depth, ndim)


def _depth(arrays: Any) -> int:
    if not isinstance(arrays, list):
        return 0
    depths = {_depth(x) for x in arrays}
    if len(depths) != 1:
        raise ValueError("block: lists of one depth are needed, none of them empty")
    return depths.pop() + 1


def _most_axes(arrays: Any) -> int:
    if isinstance(arrays, list):
        return max(map(_most_axes, arrays))
    return variable(arrays).ndim


def _block(arrays: Any, depth: int, ndim: int) -> Variable:
    if not depth:
        x = variable(arrays)
        return reshape(x, (1,) * (ndim - x.ndim) + x.shape)
    return concat([_block(x, depth - 1, ndim) for x in arrays], axis=-depth)


def append(x: Any, values: Any, /, axis: int | None = None) -> Variable:
    """`values` after `x` along `axis`; both flat without one."""
    x = variable(x)
    values = beside(x, values)
    if axis is None:
        return concat([ravel(x), ravel(values)])
    return concat([x, values], axis=axis)


def array_split(x: Any, indices_or_sections: Any, /, axis: int = 0) -> list[Variable]:
    """`split` into so many parts, of which the first may be longer by one."""
    x = variable(x)
    if isinstance(indices_or_sections, int):
        n = indices_or_sections
        if n < 1:
            raise ValueError(f"array_split: at least one part is needed, not {n}")
        size = x.shape[axis_of("array_split", axis, x.ndim)]
        indices_or_sections = [i * (size // n) + min(i, size % n) for i in range(1, n)]
    return list(_parts(x, indices_or_sections, axis))


def _parts(x: Variable, indices_or_sections: Any, axis: int) -> Any:
    if hasattr(indices_or_sections, "tolist"):
        indices_or_sections = indices_or_sections.tolist()
    return split(x, indices_or_sections, axis)


def vsplit(x: Any, indices_or_sections: Any, /) -> list[Variable]:
    """`split` along the first axis, of at least two."""
    return _split("vsplit", x, indices_or_sections, 0, 2)


def hsplit(x: Any, indices_or_sections: Any, /) -> list[Variable]:
    """`split` along the second axis, that of a vector along its only one."""
    x = variable(x)
    return _split("hsplit", x, indices_or_sections, 0 if x.ndim == 1 else 1, 1)


def dsplit(x: Any, indices_or_sections: Any, /) -> list[Variable]:
    """`split` along the third axis."""
    return _split("dsplit", x, indices_or_sections, 2, 3)


def _split(op: str, x: Any, indices_or_sections: Any, axis: int, least: int) -> list[Variable]:
    x = variable(x)
    if x.ndim < least:
        raise ValueError(f"{op}: at least {least} axes are needed, the shape is {x.shape}")
    return list(_parts(x, indices_or_sections, axis))


def _places(op: str, obj: Any, n: int) -> list[int]:
    """The indices that `obj` means, on an axis of size n; arrays are read on the host."""
    if isinstance(obj, slice):
        return list(range(*obj.indices(n)))
    given = obj.tolist() if hasattr(obj, "tolist") else obj
    if isinstance(given, (list, tuple)) and given and all(isinstance(i, bool) for i in given):
        if len(given) != n:
            raise ValueError(f"{op}: a mask of {len(given)} elements for an axis of size {n}")
        return [i for i, chosen in enumerate(given) if chosen]
    return [int(i) for i in (given if isinstance(given, (list, tuple)) else [given])]


def delete(x: Any, obj: Any, /, axis: int | None = None) -> Variable:
    """`x` without what is at `obj` (an index, a slice, indices or a mask) along `axis`.

    >>> delete(Variable([1.0, 2.0, 3.0]), 1).tolist()
    [1.0, 3.0]
    """
    x = variable(x)
    if axis is None:
        x, axis = ravel(x), 0
    axis = axis_of("delete", axis, x.ndim)
    n = x.shape[axis]
    gone = set()
    for i in _places("delete", obj, n):
        if not -n <= i < n:
            raise IndexError(f"delete: index {i} is out of range for axis {axis} of size {n}")
        gone.add(i % n)
    return take(x, _constant(x, [i for i in range(n) if i not in gone]), axis)


def insert(x: Any, obj: Any, values: Any, /, axis: int | None = None) -> Variable:
    """`x` with `values` put before the elements at `obj` (an index, a slice or indices).

    >>> insert(Variable([1.0, 3.0]), 1, 2.0).tolist()
    [1.0, 2.0, 3.0]
    """
    x = variable(x)
    if axis is None:
        x, axis = ravel(x), 0
    axis = axis_of("insert", axis, x.ndim)
    n = x.shape[axis]
    places = _places("insert", obj, n)
    for i in places:
        if not -n <= i <= n:
            raise IndexError(f"insert: index {i} is out of range for axis {axis} of size {n}")
    places = [i + n if i < 0 else i for i in places]
    values = beside(x, values)
    if len(places) == 1 and not isinstance(obj, (slice, list, tuple)) and values.ndim:
        # One index: the values are one hyperplane, or several of them on their own axis.
        if values.ndim < x.ndim:
            values = reshape(values, (1,) * (x.ndim - 1 - values.ndim) + values.shape)
            values = reshape(values, (*values.shape[:axis], 1, *values.shape[axis:]))
        places = places * values.shape[axis] if x.ndim > 1 else places * values.size
    shape = (*x.shape[:axis], len(places), *x.shape[axis + 1 :])
    values = broadcast_to(_as_dtype(values, x.dtype), shape)
    both = concat([x, values], axis=axis)
    # Stable: of several at one place, the order is kept.
    keys = [(i, 1, i) for i in range(n)] + [(p, 0, n + j) for j, p in enumerate(places)]
    return take(both, _constant(x, [key[2] for key in sorted(keys)]), axis)


def _constant(x: Variable, indices: list[int]) -> Array:
    return own_backend(x).constant(indices, "int64")


def _as_dtype(x: Variable, dtype: Any) -> Variable:
    return x if x.dtype == dtype else x.astype(dtype)


def resize(x: Any, shape: int | Sequence[int], /) -> Variable:
    """The elements of `x` again and again, until they fill `shape`."""
    x = ravel(variable(x))
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    size = 1
    for n in shape:
        size *= n
    if not x.size:
        raise ValueError("resize: there are no elements to repeat")
    indices = namespace_of(x).arange(size) % x.size
    return reshape(take(x, indices), shape)


def trim_zeros(x: Any, /, trim: str = "fb") -> Variable:
    """A vector without its leading and trailing zeros; it is read on the host."""
    x = variable(x)
    if x.ndim != 1:
        raise ValueError(f"trim_zeros: a vector is needed, the shape is {x.shape}")
    places = [i for i, v in enumerate(x.tolist()) if v != 0]
    if not places:
        return variable(x[:0])
    first = places[0] if "f" in trim.lower() else 0
    stop = places[-1] + 1 if "b" in trim.lower() else None
    return variable(x[along(0, slice(first, stop))])
