"""Elements picked along one axis, and put there."""

from __future__ import annotations

from typing import Any

from autograd_gpu.backend import (
    Array,
    Namespace,
)
from autograd_gpu.ops.debug import active, check_index
from autograd_gpu.ops.indexing import (
    getitem_,
    normal_index,
    own_backend,
    set_at,
)
from autograd_gpu.placement import backend_beside
from autograd_gpu.primitive import primitive
from autograd_gpu.variable import Variable


@primitive(
    x=lambda xp, g, x_shape, indices, axis: _take_x(xp, g, x_shape, indices, axis),
    tangent="linear",
)
def take_(xp: Namespace, x: Array, indices: Array, *, axis: int | None = None) -> Array:
    """`take` with an array of indices."""
    if active:
        shape = (x.size,) if axis is None else x.shape[axis:][:1]
        check_index("take", x, shape, indices)
    return x.take(indices, axis)


def _take_x(
    xp: Namespace, g: Any, x_shape: tuple[int, ...], indices: Array, axis: int | None
) -> Any:
    if axis is None:
        size = 1
        for n in x_shape:
            size *= n
        return xp.scatter_add(g, indices, (size,)).reshape(x_shape)
    axis %= len(x_shape)
    return xp.scatter_add(g, (*(slice(None),) * axis, indices) if axis else indices, x_shape)


def take(x: Any, indices: Any, /, axis: int | None = None) -> Variable:
    """The elements of `x` at `indices` along `axis`, or of the flat array without one.

    Raises IndexError for an index out of range (on CuPy these wrap around), and TypeError for
    indices that are no integers.

    >>> take(Variable([[1.0, 2.0], [3.0, 4.0]]), [1, 0], axis=1)
    Variable(array([[2., 1.],
           [4., 3.]], dtype=float32))
    """
    if not isinstance(indices, Variable) and not hasattr(indices, "dtype"):
        indices = own_backend(x).asarray(indices)
        indices = indices if indices.size else indices.astype("int64")
    if indices.dtype.kind not in "iub":
        raise TypeError(f"take: indices are integers, not {indices.dtype}; see .astype('int64')")
    return take_(x, indices, axis)


def take_along_axis(x: Any, indices: Any, /, axis: int = -1) -> Variable:
    """`x[..., indices[..., i], ...]` along `axis` for each position on the other axes.

    `indices` has as many axes as `x`, and broadcasts against it on all but `axis`.  What argsort
    or argmax return goes here.

    >>> take_along_axis(Variable([[3.0, 1.0, 2.0]]), [[1, 2, 0]])
    Variable(array([[1., 2., 3.]], dtype=float32))
    """
    x = x if isinstance(x, Variable) else Variable(x)
    return getitem_(x, _along(x, indices, axis, "take_along_axis"))


def put_along_axis(x: Any, indices: Any, values: Any, axis: int = -1) -> Variable:
    """A copy of `x` with `values` where `take_along_axis` would read."""
    x = x if isinstance(x, Variable) else Variable(x)
    return set_at(x, _along(x, indices, axis, "put_along_axis"), values)


def _along(x: Variable, indices: Any, axis: int, op: str) -> tuple[Any, ...]:
    indices = normal_index(x, indices, op)
    ndim = x.ndim
    if getattr(indices, "ndim", None) != ndim:
        raise ValueError(f"{op}: indices need as many axes as x, {ndim}, not {indices!r:.80}")
    if not -ndim <= axis < ndim:
        raise IndexError(f"{op}: axis {axis} is out of range for {ndim} axes")
    axis %= ndim
    xp = backend_beside(x.value).xp
    return tuple(
        [
            indices if i == axis else xp.arange(n).reshape((1,) * i + (n,) + (1,) * (ndim - i - 1))
            for i, n in enumerate(x.shape)
        ]
    )
