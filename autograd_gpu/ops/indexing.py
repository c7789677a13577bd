"""Elements picked by an index, put back, sorted and searched.

Every index that NumPy knows is one here: integers, slices, None, Ellipsis, integer arrays, masks
and mixtures of these; arrays in it may be Variables.  On CuPy a mask makes the host wait, and array
indices out of range wrap around silently.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from autograd_gpu.backend import (
    BACKENDS,
    NAMESPACES,
    Array,
    Namespace,
    backend_mismatch,
    current_backend,
    find_backend,
)
from autograd_gpu.modes import recording
from autograd_gpu.ops.debug import active, check_index
from autograd_gpu.primitive import primitive
from autograd_gpu.values import DIFFERENTIABLE
from autograd_gpu.variable import Variable

_BASIC = frozenset({int, slice, type(None), type(Ellipsis)})


def normal_index(x: Any, index: Any) -> Any:
    """`index` for `x` with Variables unwrapped and lists made arrays of the backend of `x`.

    What is saved for the backward does not change when a list in it changes.
    """
    if index.__class__ in _BASIC:
        return index
    if index.__class__ is tuple:
        for entry in index:
            if entry.__class__ not in _BASIC:
                return tuple([_entry(x, entry) for entry in index])
        return index
    return _entry(x, index)


def _entry(x: Any, entry: Any) -> Any:
    if entry.__class__ in _BASIC:
        return entry
    if isinstance(entry, Variable):
        entry = entry.value
    elif isinstance(entry, slice):
        return entry
    elif isinstance(entry, (list, tuple)):
        backend = _backend(x)
        if not _has_variables(entry):
            array = backend.asarray(entry)
        else:
            array = backend.asarray([v.tolist() if isinstance(v, Variable) else v for v in entry])
        # an empty list is a float64 array to NumPy
        return array if array.size else array.astype("int64")
    kind = entry.__class__
    if kind in BACKENDS:
        value = x.value if isinstance(x, Variable) else x
        if value.__class__ in BACKENDS and value.__class__ is not kind and entry.ndim:
            raise backend_mismatch("indexing", [value, entry])
    return entry


def _has_variables(entry: Any) -> bool:
    return any(isinstance(v, Variable) for v in entry)


def _backend(x: Any) -> Any:
    value = x.value if isinstance(x, Variable) else x
    return find_backend(value) or current_backend()


def is_basic(index: Any) -> bool:
    """Whether a normal index meets no element twice and gives a view: no arrays in it."""
    if index.__class__ in _BASIC:
        return True
    if index.__class__ is tuple:
        return all(entry.__class__ in _BASIC for entry in index)
    return isinstance(index, int) and not isinstance(index, bool)


@primitive(x=lambda xp, g, index, x_shape: xp.scatter_add(g, index, x_shape), tangent="linear")
def getitem_(xp: Namespace, x: Array, *, index: Any) -> Array:
    """`getitem` with a normal index."""
    if active:
        check_index("getitem", x, x.shape, index)
    return x[index]


def getitem(x: Any, index: Any) -> Variable:
    """`x[index]` with NumPy's rules; a view for an index without arrays.

    The gradients of elements that the index repeats add up.  Raises IndexError for an index out of
    range and TypeError for an array on another backend than `x`.

    >>> x = Variable([1.0, 2.0, 3.0], requires_grad=True)
    >>> x[[0, 0, 2]].sum().backward()
    >>> x.grad
    array([2., 0., 1.], dtype=float32)
    """
    if index.__class__ not in _BASIC:
        index = normal_index(x, index)
    return getitem_(x, index)


@primitive(
    x=lambda g, index: g[index],
    tangent=lambda xp, t, index, y_shape: xp.scatter_add(t, index, y_shape),
)
def scatter_add_(xp: Namespace, x: Array, *, index: Any, shape: tuple[int, ...]) -> Array:
    """`scatter_add` with a normal index."""
    if active:
        check_index("scatter_add", x, shape, index)
    return xp.scatter_add(x, index, shape)


def scatter_add(x: Any, index: Any, shape: tuple[int, ...]) -> Variable:
    """Zeros of `shape` with `x` added at `index`; repeated indices add up, in a fixed order.

    `x` has the shape that such an array has at `index`.  The gradient is the one at `index`.

    >>> scatter_add(Variable([1.0, 2.0, 3.0]), [0, 0, 2], (4,))
    Variable(array([3., 0., 3., 0.], dtype=float32))
    """
    return scatter_add_(x, normal_index(x, index), shape)


def _without(g: Any, index: Any) -> Any:
    """`g` with zeros at `index`."""
    if isinstance(g, Variable):
        return set_at_(g, 0, index)
    g = g.copy()
    g[index] = 0
    return g


def _set_value(
    xp: Namespace, g: Any, index: Any, x_shape: tuple[int, ...], v_shape: tuple[int, ...]
) -> Any:
    picked = g[index]
    if not is_basic(index):
        last = _last_writes(g, index, x_shape)
        if last is not None:
            picked = xp.where(last, picked, 0)
    extra = len(v_shape) - picked.ndim
    # An assignment drops leading axes of size 1, which no broadcast does.
    return picked.reshape((1,) * extra + tuple(picked.shape)) if extra > 0 else picked


def _last_writes(g: Any, index: Any, shape: tuple[int, ...]) -> Any:
    """Which of the places of `g[index]` an assignment wrote last; None for masks: all of them."""
    if getattr(index, "dtype", None) is not None and index.dtype.kind == "b":
        return None
    raw = g.value if isinstance(g, Variable) else g
    xp = NAMESPACES[raw.__class__]
    rows = hasattr(index, "dtype")  # one array: whole rows are written
    places = xp.zeros(shape[:1] if rows else shape, dtype="int64")
    count = places[index]
    order = xp.arange(count.size).reshape(count.shape)
    xp.assign(places, index, order)
    last = places[index] == order
    return last.reshape(count.shape + (1,) * (len(shape) - 1)) if rows else last


def _set_tangent(xp: Namespace, t: Any, index: Any, y_shape: tuple[int, ...]) -> Any:
    arrays = NAMESPACES[(t.value if isinstance(t, Variable) else t).__class__]
    shape = arrays.broadcast_to(arrays.zeros(()), y_shape)[index].shape
    t = t.reshape(t.shape[max(0, t.ndim - len(shape)) :])  # leading axes of size 1
    t = xp.broadcast_to(t, shape)
    last = None if is_basic(index) else _last_writes(t, index, y_shape)
    return xp.scatter_add(t if last is None else xp.where(last, t, 0), index, y_shape)


@primitive(
    x=lambda g, index: _without(g, index),
    v=_set_value,
    tangent={"x": "elementwise", "v": _set_tangent},
)
def set_at_(xp: Namespace, x: Array, v: Array, *, index: Any) -> Array:
    """`set_at` with a normal index."""
    if active:
        check_index("set_at", x, x.shape, index)
    out = x.copy()
    xp.assign(out, index, v)
    return out


def set_at(x: Any, index: Any, v: Any) -> Variable:
    """A copy of `x` with `v`, cast to its dtype, at `index`: `x[index] = v` as a function.

    Where the index repeats an element, the last write wins and gets the gradient.

    >>> set_at(Variable([1.0, 2.0, 3.0]), [0, 2], 9.0)
    Variable(array([9., 2., 9.], dtype=float32))
    """
    result = set_at_(x, v, normal_index(x, index))
    return result if result.value.dtype.kind in DIFFERENTIABLE else result.detach()


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

    Raises IndexError for an index out of range (on CuPy these wrap around).

    >>> take(Variable([[1.0, 2.0], [3.0, 4.0]]), [1, 0], axis=1)
    Variable(array([[2., 1.],
           [4., 3.]], dtype=float32))
    """
    if not isinstance(indices, Variable) and not hasattr(indices, "dtype"):
        indices = _backend(x).asarray(indices)
        indices = indices if indices.size else indices.astype("int64")
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
    indices = normal_index(x, indices)
    ndim = x.ndim
    if getattr(indices, "ndim", None) != ndim:
        raise ValueError(f"{op}: indices need as many axes as x, {ndim}, not {indices!r:.80}")
    if not -ndim <= axis < ndim:
        raise IndexError(f"{op}: axis {axis} is out of range for {ndim} axes")
    axis %= ndim
    xp = NAMESPACES[x.value.__class__]
    return tuple(
        [
            indices if i == axis else xp.arange(n).reshape((1,) * i + (n,) + (1,) * (ndim - i - 1))
            for i, n in enumerate(x.shape)
        ]
    )


# Order ------------------------------------------------------------------------------------------


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
