"""The same elements in another shape or order; views wherever NumPy gives views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.callers import named
from autograd_gpu.ops.arguments import axes_of, variables
from autograd_gpu.ops.taking import take
from autograd_gpu.primitive import primitive
from autograd_gpu.variable import Variable

# Methods of arrays are used where Variable has them too: NumPy's functions for the same things
# take two to ten times as long.


def _reshaped(t: Any, y_shape: tuple[int, ...]) -> Any:
    return t.reshape(y_shape)


@primitive(x=lambda g, x_shape: g.reshape(x_shape), tangent=_reshaped)
def reshape(
    xp: Namespace, x: Array, *, shape: int | Sequence[int], copy: bool | None = None
) -> Array:
    """The same elements in C order in another shape; one size may be -1.

    `copy=False` raises ValueError where the elements cannot stay where they are.

    >>> reshape(Variable([1.0, 2.0, 3.0, 4.0]), (2, -1)).shape
    (2, 2)
    """
    if copy is None:
        return x.reshape(shape)
    return xp.reshape(x, (shape,) if isinstance(shape, int) else shape, copy=copy)


def _inverse(axes: Sequence[int] | None) -> tuple[int, ...] | None:
    if axes is None:
        return None
    n = len(axes)
    inverse = [0] * n
    for i, axis in enumerate(axes):
        inverse[axis] = i
    return tuple(inverse)


@primitive(x=lambda g, axes: g.transpose(_inverse(axes)), tangent="linear")
def permute_dims(xp: Namespace, x: Array, *, axes: Sequence[int] | None = None) -> Array:
    """Axis i of the result is axis `axes[i]` of `x`; reversed by default.  A view.

    >>> permute_dims(Variable([[1.0, 2.0, 3.0]]), (1, 0)).shape
    (3, 1)
    """
    return x.transpose(axes)


def transpose(x: Any, axes: Sequence[int] | None = None) -> Variable:
    """NumPy's name for `permute_dims`."""
    return permute_dims(x, axes)


@primitive(x=lambda g: g.swapaxes(-1, -2), tangent="linear")
def matrix_transpose(xp: Namespace, x: Array) -> Array:
    """The last two axes swapped: [..., M, N] to [..., N, M].  A view.

    Raises ValueError for fewer than two axes.
    """
    if x.ndim < 2:
        raise ValueError("at least two axes are needed")
    return x.swapaxes(-1, -2)


@primitive(x=lambda g, axis1, axis2: g.swapaxes(axis1, axis2), tangent="linear")
def swapaxes(xp: Namespace, x: Array, *, axis1: int, axis2: int) -> Array:
    """Two axes swapped.  A view."""
    return x.swapaxes(axis1, axis2)


@primitive(
    x=lambda xp, g, source, destination: xp.moveaxis(g, destination, source), tangent="linear"
)
def moveaxis(
    xp: Namespace,
    x: Array,
    *,
    source: int | Sequence[int],
    destination: int | Sequence[int],
) -> Array:
    """The axes `source` moved to the positions `destination`, the others kept in order.  A view."""
    return xp.moveaxis(x, source, destination)


def _as_tuple(axis: int | Sequence[int] | None) -> tuple[int, ...] | None:
    return None if axis is None else axes_of(axis)


@primitive(x=lambda g, x_shape: g.reshape(x_shape), tangent=_reshaped)
def expand_dims(xp: Namespace, x: Array, *, axis: int | Sequence[int] = 0) -> Array:
    """Axes of size 1 inserted, so that they stand at `axis` in the result.  A view.

    Raises IndexError for an axis out of range, ValueError for a repeated one.

    >>> expand_dims(Variable([1.0, 2.0]), -1).shape
    (2, 1)
    """
    if not isinstance(axis, int):
        return xp.expand_dims(x, axis)
    if not -x.ndim - 1 <= axis <= x.ndim:
        raise IndexError(f"axis {axis} is out of range for {x.ndim + 1} axes")
    return x[(slice(None),) * (axis if axis >= 0 else axis + x.ndim + 1) + (None,)]


@primitive(x=lambda g, x_shape: g.reshape(x_shape), tangent=_reshaped)
def squeeze(xp: Namespace, x: Array, *, axis: int | Sequence[int] | None = None) -> Array:
    """Axes of size 1 removed: those given, or all.  A view.

    Raises ValueError for an axis of another size.
    """
    return x.squeeze(_as_tuple(axis))


@primitive(x=lambda g: g, tangent=lambda t: t)
def broadcast_to(xp: Namespace, x: Array, *, shape: int | Sequence[int]) -> Array:
    """`x` repeated along new and along stretched axes by NumPy's broadcasting.  A view.

    Raises ValueError if the shape of `x` does not broadcast to `shape`.

    >>> broadcast_to(Variable([1.0, 2.0]), (3, 2)).shape
    (3, 2)
    """
    return xp.broadcast_to(x, shape)


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape to which arrays of these shapes broadcast; ValueError if they do not.

    >>> broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    result: list[int] = []
    for i in range(max(map(len, shapes), default=0)):
        sizes = {shape[-1 - i] for shape in shapes if i < len(shape)}
        others = sizes - {1}
        if len(others) > 1:
            raise ValueError(
                named("broadcast_shapes", f"{', '.join(map(str, shapes))} do not broadcast")
            )
        result.append(others.pop() if others else 1)
    return tuple(reversed(result))


def broadcast_arrays(*arrays: Any) -> list[Variable]:
    """Views of the arrays in the one shape to which all of them broadcast.

    >>> [x.shape for x in broadcast_arrays(Variable([1.0, 2.0]), Variable([[3.0], [4.0]]))]
    [(2, 2), (2, 2)]
    """
    arrays = tuple(variables(*arrays))
    shape = broadcast_shapes(*[x.shape for x in arrays])
    return [broadcast_to(x, shape) for x in arrays]


@primitive(x=lambda xp, g, axis: xp.flip(g, axis=_as_tuple(axis)), tangent="linear")
def flip(xp: Namespace, x: Array, *, axis: int | Sequence[int] | None = None) -> Array:
    """The order reversed along `axis`, or along all axes.  A view."""
    return xp.flip(x, axis=_as_tuple(axis))


def _negated(shift: Any) -> Any:
    return tuple([-s for s in shift]) if isinstance(shift, (tuple, list)) else -shift


def _rolled(xp: Namespace, x: Any, shift: Any, axis: Any) -> Any:
    if axis is None and isinstance(shift, int):
        return _rolled(xp, x.reshape((-1,)), shift, 0).reshape(x.shape)
    if axis.__class__ is not int or shift.__class__ is not int or not -x.ndim <= axis < x.ndim:
        return xp.roll(x, shift, axis=axis)
    n = x.shape[axis]
    cut = -shift % n if n else 0
    # NumPy's roll takes three times as long; written out, since tuples of slices take time too
    if axis == 0:
        parts = x[cut:], x[:cut]
    elif axis == 1:
        parts = x[:, cut:], x[:, :cut]
    else:
        lead = (slice(None),) * (axis % x.ndim)
        parts = x[(*lead, slice(cut, None))], x[(*lead, slice(cut))]
    return xp.concat(parts, axis=axis)


@primitive(x=lambda xp, g, shift, axis: _rolled(xp, g, _negated(shift), axis), tangent="linear")
def roll(
    xp: Namespace,
    x: Array,
    *,
    shift: int | Sequence[int],
    axis: int | Sequence[int] | None = None,
) -> Array:
    """Elements moved by `shift` along `axis`, those pushed out coming in again at the other end.

    Without an axis the array is rolled as if it were flat.

    >>> roll(Variable([1.0, 2.0, 3.0]), 1)
    Variable(array([3., 1., 2.], dtype=float32))
    """
    return _rolled(xp, x, shift, axis)


def _tile_x(xp: Namespace, g: Any, x_shape: tuple[int, ...], repetitions: Any) -> Any:
    counts = (repetitions,) if isinstance(repetitions, int) else tuple(repetitions)
    n = max(len(counts), len(x_shape))
    counts = (1,) * (n - len(counts)) + counts
    sizes = (1,) * (n - len(x_shape)) + tuple(x_shape)
    pairs = [size for pair in zip(counts, sizes, strict=True) for size in pair]
    return xp.sum(g.reshape(tuple(pairs)), axis=tuple(range(0, 2 * n, 2))).reshape(x_shape)


@primitive(x=_tile_x, tangent="linear")
def tile(xp: Namespace, x: Array, *, repetitions: int | Sequence[int]) -> Array:
    """`x` laid side by side `repetitions[i]` times along axis i, as NumPy's tile does it.

    >>> tile(Variable([1.0, 2.0]), 2)
    Variable(array([1., 2., 1., 2.], dtype=float32))
    """
    return xp.tile(x, repetitions if isinstance(repetitions, int) else tuple(repetitions))


def _repeat_x(
    xp: Namespace, g: Any, x_shape: tuple[int, ...], repeats: int, axis: int | None
) -> Any:
    shape, at = ((_product(x_shape),), 0) if axis is None else (x_shape, axis % len(x_shape))
    split = (*shape[: at + 1], repeats, *shape[at + 1 :])
    return xp.sum(g.reshape(split), axis=at + 1).reshape(x_shape)


def _product(shape: Sequence[int]) -> int:
    size = 1
    for n in shape:
        size *= n
    return size


@primitive(x=_repeat_x, tangent="linear")
def repeat_(xp: Namespace, x: Array, *, repeats: int, axis: int | None = None) -> Array:
    """`repeat` with one count for all elements."""
    return x.repeat(repeats, axis)


def repeat(x: Any, repeats: Any, /, axis: int | None = None) -> Variable:
    """Each element repeated along `axis`, or of the flat array without one.

    `repeats` is one count, or one for each element along the axis; an array of counts is read on
    the host, since the shape of the result depends on it.

    >>> repeat(Variable([1.0, 2.0]), 2)
    Variable(array([1., 1., 2., 2.], dtype=float32))
    """
    if not isinstance(repeats, int):
        counts = repeats.tolist() if hasattr(repeats, "tolist") else list(repeats)
        if isinstance(counts, list) and len(counts) != 1:
            return _repeat_each(x, counts, axis)
        repeats = counts[0] if isinstance(counts, list) else counts
    return repeat_(x, repeats, axis)


def _repeat_each(x: Any, counts: list[int], axis: int | None) -> Variable:
    x = x if isinstance(x, Variable) else Variable(x)
    if axis is None:
        x, axis = ravel(x), 0
    if -x.ndim <= axis < x.ndim and x.shape[axis] != len(counts):
        raise ValueError(f"repeat: {len(counts)} counts for the shape {x.shape}, axis {axis}")
    return take(x, [i for i, count in enumerate(counts) for _ in range(count)], axis)


def ravel(x: Any) -> Variable:
    """All elements along one axis, in C order; a view where possible.

    >>> ravel(Variable([[1.0], [2.0]])).shape
    (2,)
    """
    return reshape(x, (-1,))


def flatten(x: Any, start_dim: int = 0, end_dim: int = -1) -> Variable:
    """The axes from `start_dim` to `end_dim` made one, in C order; all of them by default.

    >>> flatten(Variable([[[1.0, 2.0]], [[3.0, 4.0]]]), 1).shape
    (2, 2)
    """
    shape = x.shape
    n = len(shape)
    if not n:
        return reshape(x, (1,))
    for axis in (start_dim, end_dim):
        if not -n <= axis < n:
            raise IndexError(f"flatten: axis {axis} is out of range for {n} axes")
    first, last = start_dim % n, end_dim % n
    if first > last:
        raise ValueError(f"flatten: start_dim {start_dim} lies after end_dim {end_dim}")
    return reshape(x, (*shape[:first], _product(shape[first : last + 1]), *shape[last + 1 :]))


def atleast_1d(x: Any) -> Variable:
    """`x` with at least one axis."""
    return _at_least(x, 1)


def atleast_2d(x: Any) -> Variable:
    """`x` with at least two axes; new ones come first."""
    return _at_least(x, 2)


def atleast_3d(x: Any) -> Variable:
    """`x` with at least three axes: [N] becomes [1, N, 1] and [M, N] becomes [M, N, 1]."""
    return _at_least(x, 3)


def _at_least(x: Any, n: int) -> Variable:
    v = x if isinstance(x, Variable) else Variable(x)
    if v.ndim >= n:
        return v
    shape = (1,) * (min(n, 2) - v.ndim) + v.shape
    return reshape(v, shape + (1,) * (n - len(shape)))
