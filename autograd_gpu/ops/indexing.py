"""Elements picked by an index, and put back.

Every index that NumPy knows is one here: integers, slices, None, Ellipsis, integer arrays, masks
and mixtures of these; arrays in it may be Variables.  On CuPy a mask makes the host wait, and array
indices out of range wrap around silently.
"""

from __future__ import annotations

from numbers import Integral, Number
from typing import Any

from autograd_gpu.backend import (
    BACKENDS,
    NAMESPACES,
    SEVERAL_DEVICES,
    Array,
    Namespace,
    backend_mismatch,
    current_backend,
    find_backend,
    same_home,
)
from autograd_gpu.callers import describe
from autograd_gpu.ops.debug import active, check_index
from autograd_gpu.placement import backend_beside, require_together
from autograd_gpu.primitive import primitive
from autograd_gpu.values import DIFFERENTIABLE
from autograd_gpu.variable import Variable

_BASIC = frozenset({int, slice, type(None), type(Ellipsis)})


def normal_index(x: Any, index: Any, op: str = "getitem") -> Any:
    """`index` for `x` with Variables unwrapped and lists made arrays of the backend of `x`.

    What is saved for the backward does not change when a list in it changes.  Raises IndexError,
    with the name of the op, for numbers that are no integers and for strings.
    """
    if index.__class__ in _BASIC:
        return index
    if index.__class__ is tuple:
        for entry in index:
            if entry.__class__ not in _BASIC:
                return tuple([_entry(x, entry, op) for entry in index])
        return index
    return _entry(x, index, op)


def _entry(x: Any, entry: Any, op: str) -> Any:
    if entry.__class__ in _BASIC:
        return entry
    if isinstance(entry, Variable):
        entry = entry.value
    elif isinstance(entry, slice):
        return entry
    elif isinstance(entry, (list, tuple)):
        backend = own_backend(x)
        if not _has_variables(entry):
            array = backend.asarray(entry)
        else:
            array = backend.asarray([v.tolist() if isinstance(v, Variable) else v for v in entry])
        # an empty list is a float64 array to NumPy
        return array if array.size else array.astype("int64")
    elif isinstance(entry, str) or (isinstance(entry, Number) and not isinstance(entry, Integral)):
        # CuPy would make integers of them: 1 of 1.5
        raise IndexError(
            f"{op}(x: {describe(x)}, index={entry!r}): an index is made of integers, slices, None, "
            "Ellipsis, arrays of integers and masks"
        )
    kind = entry.__class__
    if kind in BACKENDS:
        value = x.value if isinstance(x, Variable) else x
        home = BACKENDS.get(value.__class__)
        if home is not None and not same_home(home, BACKENDS[kind]):
            if entry.ndim:
                raise backend_mismatch("indexing", [value, entry])
            return _entry(x, entry.item(), op)
        if SEVERAL_DEVICES and value.__class__ is kind:
            require_together("indexing", value, entry)
    return entry


def _has_variables(entry: Any) -> bool:
    return any(isinstance(v, Variable) for v in entry)


def own_backend(x: Any) -> Any:
    value = x.value if isinstance(x, Variable) else x
    return backend_beside(value) if find_backend(value) is not None else current_backend()


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

    `x` has the shape that such an array has at `index`.  The gradient is the one at `index`, which
    CuPy waits for where `index` is a mask.

    >>> scatter_add(Variable([1.0, 2.0, 3.0]), [0, 0, 2], (4,))
    Variable(array([3., 0., 3., 0.], dtype=float32))
    """
    return scatter_add_(x, normal_index(x, index, "scatter_add"), shape)


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

    Where the index repeats an element, the last write wins and gets the gradient.  CuPy waits where
    it is a mask.  Raises TypeError where integers or bools would lose a gradient.

    >>> set_at(Variable([1.0, 2.0, 3.0]), [0, 2], 9.0)
    Variable(array([9., 2., 9.], dtype=float32))
    """
    result = set_at_(x, v, normal_index(x, index, "set_at"))
    if result.requires_grad and result.value.dtype.kind not in DIFFERENTIABLE:
        raise no_room(result, v)
    return result


def no_room(x: Any, v: Any) -> TypeError:
    """The error for a gradient that would be lost in integers."""
    return TypeError(
        f"x[index] = v: {v.dtype} in x of {x.dtype} would lose the gradient of v; use "
        f"x.astype(...) first, or v.detach()"
    )
