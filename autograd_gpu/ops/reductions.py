"""Sums, extrema, means and the like over axes.

`axis` is an integer, a tuple of them, or None for all axes.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.primitive import primitive

Axis: TypeAlias = "int | tuple[int, ...] | None"


def kept(shape: tuple[int, ...], axis: Axis) -> tuple[int, ...]:
    """`shape` with 1 for the axes that are reduced; as NumPy has it, a number has the axis 0."""
    if axis is None or not shape:
        return (1,) * len(shape)
    sizes = list(shape)
    for i in axis if isinstance(axis, tuple) else (axis,):
        sizes[i] = 1
    return tuple(sizes)


def count(shape: tuple[int, ...], axis: Axis) -> int:
    """How many elements are reduced to one."""
    if axis is None or not shape:
        return math.prod(shape)
    if isinstance(axis, tuple):
        return math.prod([shape[i] for i in axis])
    return shape[axis]


def wide(x: Array, dtype: Any = None) -> Any:
    """The dtype in which to add up `x`: float32 for 16-bit floats, None for its own."""
    if dtype is None and x.dtype.itemsize == 2 and x.dtype.kind in "fV":
        return "float32"
    return dtype


def widened(x: Array, dtype: Any) -> Array:
    """`x` to be added up or multiplied in `dtype`: bfloat16 cast before, as CuPy has no kernel."""
    return x.astype(dtype) if dtype is not None and x.dtype.kind == "V" else x


def _spread(xp: Namespace, g: Any, x_shape: Any, axis: Axis, keepdims: bool) -> Any:
    """Every element of a sum gets the gradient of the sum."""
    return xp.broadcast_to(_restored(xp, g, x_shape, axis, keepdims), x_shape)


def _restored(xp: Namespace, g: Any, shape: Any, axis: Axis, keepdims: bool) -> Any:
    """A reduced array with its reduced axes back, so that it broadcasts against what it was."""
    if keepdims or axis is None:
        return g
    return xp.reshape(g, kept(shape, axis))


@primitive(x=_spread, tangent="linear")
def sum_(
    xp: Namespace, x: Array, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False
) -> Array:
    """The sum over `axis`, in `dtype`; 16-bit floats are added up in float32.

    >>> sum(Variable([[1.0, 2.0], [3.0, 4.0]]), axis=1)
    Variable(array([3., 7.], dtype=float32))
    """
    return xp.sum(x, axis=axis, dtype=dtype, keepdims=keepdims)


def _mean(xp: Namespace, g: Any, x_shape: Any, axis: Axis, keepdims: bool) -> Any:
    return _spread(xp, g * (1 / max(count(x_shape, axis), 1)), x_shape, axis, keepdims)


@primitive(x=_mean, tangent="linear")
def mean(
    xp: Namespace, x: Array, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False
) -> Array:
    """The mean over `axis`."""
    return xp.mean(x, axis=axis, dtype=dtype, keepdims=keepdims)


def _before(xp: Namespace, x: Any) -> Any:
    """The product of all elements before each one, along the last axis."""
    return xp.cumulative_prod(x, axis=-1, include_initial=True)[..., :-1]


def _prod(xp: Namespace, g: Any, x: Any, axis: Axis, keepdims: bool) -> Any:
    """The product of all others, which divides by nothing, so that zeros are no exception."""
    n = x.ndim
    if axis is None or not n:
        axes = tuple(range(n))
    else:
        axes = tuple([i % n for i in (axis if isinstance(axis, tuple) else (axis,))])
    order = tuple([i for i in range(n) if i not in axes]) + axes
    flat = x if order == tuple(range(n)) else xp.permute_dims(x, order)
    moved = flat.shape
    size = (*moved[: n - len(axes)], count(moved, tuple(range(n - len(axes), n))))
    flat = xp.reshape(flat, size)
    after = xp.flip(_before(xp, xp.flip(flat, axis=-1)), axis=-1)
    others = xp.reshape(_before(xp, flat) * after, moved)
    if order != tuple(range(n)):
        others = xp.permute_dims(others, tuple([order.index(i) for i in range(n)]))
    return _restored(xp, g, x.shape, axis, keepdims) * xp.conj(others)


@primitive(x=_prod, tangent="reduction")
def prod(
    xp: Namespace, x: Array, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False
) -> Array:
    """The product over `axis`, in `dtype`; the derivative is true where elements are 0 too."""
    multiplying = wide(x, dtype)
    y = widened(x, multiplying).prod(axis, multiplying, None, keepdims)
    return y if multiplying is dtype else y.astype(x.dtype)


def _extreme(xp: Namespace, g: Any, x: Any, y: Any, axis: Axis, keepdims: bool) -> Any:
    """All elements equal to the extreme one share its gradient."""
    if not (keepdims or axis is None):
        shape = kept(x.shape, axis)
        g, y = xp.reshape(g, shape), xp.reshape(y, shape)
    chosen = x == y
    count = xp.sum(xp.astype(chosen, g.dtype), axis=axis, keepdims=True)
    return xp.masked(g / count, chosen)


@primitive(x=_extreme, tangent="reduction")
def max_(xp: Namespace, x: Array, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """The largest element over `axis`; equal ones share the gradient.

    >>> x = Variable([1.0, 3.0, 3.0], requires_grad=True)
    >>> max(x).backward()
    >>> x.grad
    array([0. , 0.5, 0.5], dtype=float32)
    """
    return x.max(axis, None, keepdims)


@primitive(x=_extreme, tangent="reduction")
def min_(xp: Namespace, x: Array, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """The smallest element over `axis`; equal ones share the gradient."""
    return x.min(axis, None, keepdims)


@primitive()
def argmax(xp: Namespace, x: Array, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """The index of the first largest element."""
    return xp.argmax(x, axis=axis, keepdims=keepdims)


@primitive()
def argmin(xp: Namespace, x: Array, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """The index of the first smallest element."""
    return xp.argmin(x, axis=axis, keepdims=keepdims)


@primitive()
def any_(xp: Namespace, x: Array, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Whether any element is true (not 0)."""
    return xp.any(x, axis=axis, keepdims=keepdims)


@primitive()
def all_(xp: Namespace, x: Array, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Whether all elements are true (not 0)."""
    return xp.all(x, axis=axis, keepdims=keepdims)


@primitive()
def count_nonzero(xp: Namespace, x: Array, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """How many elements are not 0."""
    return xp.count_nonzero(x, axis=axis, keepdims=keepdims)


def _freedom(shape: tuple[int, ...], axis: Axis, correction: float) -> float:
    """What a variance is divided by."""
    n = count(shape, axis) - correction
    return n if n > 0 else math.nan


def _centred(xp: Namespace, x: Any, axis: Axis) -> Any:
    return x - xp.mean(x, axis=axis, keepdims=True)


def _var(xp: Namespace, g: Any, x: Any, axis: Axis, correction: float, keepdims: bool) -> Any:
    g = g * (2 / _freedom(x.shape, axis, correction))
    return _restored(xp, g, x.shape, axis, keepdims) * _centred(xp, x, axis)


@primitive(x=_var, tangent="reduction")
def var(
    xp: Namespace,
    x: Array,
    *,
    axis: Axis = None,
    correction: float = 0,
    keepdims: bool = False,
) -> Array:
    """The variance over `axis`: squared distances from the mean, over their number - correction."""
    adding = wide(x)
    if adding is None:
        return xp.var(x, axis=axis, correction=correction, keepdims=keepdims)
    y = xp.var(x.astype(adding), axis=axis, correction=correction, keepdims=keepdims)
    return y.astype(x.dtype)


def _std(
    xp: Namespace, g: Any, x: Any, y: Any, axis: Axis, correction: float, keepdims: bool
) -> Any:
    g = g / (_freedom(x.shape, axis, correction) * (y + (y == 0)))
    return _restored(xp, g, x.shape, axis, keepdims) * _centred(xp, x, axis)


@primitive(x=_std, tangent="reduction")
def std(
    xp: Namespace,
    x: Array,
    *,
    axis: Axis = None,
    correction: float = 0,
    keepdims: bool = False,
) -> Array:
    """The standard deviation over `axis`; its gradient is 0 where it is 0."""
    adding = wide(x)
    if adding is None:
        return xp.std(x, axis=axis, correction=correction, keepdims=keepdims)
    y = xp.std(x.astype(adding), axis=axis, correction=correction, keepdims=keepdims)
    return y.astype(x.dtype)
