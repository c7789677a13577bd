"""Softmax and the logarithms that go with it; nothing in them overflows."""

from __future__ import annotations

import math
from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.nested import narrow
from autograd_gpu.ops.reductions import Axis, kept, wide
from autograd_gpu.primitive import primitive


def _total(t: Array, axis: Axis) -> Array:
    adding = wide(t)
    total = t.sum(axis, adding, None, True)
    return total if adding is None else total.astype(t.dtype)


def _shifted(xp: Namespace, x: Array, axis: Axis) -> Array:
    """A new array: x minus its largest element."""
    if not x.ndim:
        raise ValueError("an array with at least one axis is needed")
    # of nothing there is no largest element, but an axis that it has to have
    return x - (x.max(axis, None, True) if x.size else xp.sum(x, axis=axis, keepdims=True))


def _softmax(xp: Namespace, g: Any, y: Any, axis: Axis) -> Any:
    y = xp.conj(y)
    return y * (g - xp.sum(g * y, axis=axis, keepdims=True))


@primitive(cast="widened", x=_softmax, tangent="elementwise")
def softmax(xp: Namespace, x: Array, *, axis: Axis = -1) -> Array:
    """exp(x) / sum(exp(x)) over `axis`.  A row of nothing but -inf gives NaN.

    >>> softmax(Variable([0.0, 0.0]))
    Variable(array([0.5, 0.5], dtype=float32))
    """
    y = _shifted(xp, x, axis)
    if not y.size:
        return y
    xp.exp(y, y)
    y /= _total(y, axis)
    return y


@primitive(
    cast="widened",
    x=lambda xp, g, y, axis: g - xp.exp(xp.conj(y)) * xp.sum(g, axis=axis, keepdims=True),
    tangent=lambda xp, t, y, axis: t - xp.sum(t * xp.exp(y), axis=axis, keepdims=True),
)
def log_softmax(xp: Namespace, x: Array, *, axis: Axis = -1) -> Array:
    """log(softmax(x)), accurate where softmax rounds to 0."""
    y = _shifted(xp, x, axis)
    if not y.size:
        return y
    y -= xp.log(_total(xp.exp(y), axis))
    return y


def _logsumexp(xp: Namespace, g: Any, x: Any, y: Any, axis: Axis, keepdims: bool) -> Any:
    if not (keepdims or axis is None):
        shape = kept(x.shape, axis)
        g, y = xp.reshape(g, shape), xp.reshape(y, shape)
    share = xp.exp(xp.conj(x - xp.where((y == -math.inf) | (y == math.inf), 0, y)))
    # The sum is 1 but for the rounding of y, which is coarse where y is large.
    total = xp.sum(share, axis=axis, keepdims=axis is not None)
    return g * (share / xp.where(total == 0, 1, total))


@primitive(cast="widened", x=_logsumexp, tangent="reduction")
def logsumexp(xp: Namespace, x: Array, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """log(sum(exp(x))) over `axis`; of nothing, or only -inf, it is -inf, with gradient 0."""
    if not x.size:
        return narrow(xp, xp.sum(x, axis=axis, keepdims=keepdims) - math.inf, x)
    largest = x.max(axis, None, True)
    total = _total(xp.exp(x - xp.where(xp.isinf(largest), 0, largest)), axis)
    if x.dtype.kind != "c":
        total = xp.maximum(total, 1)  # the largest element alone adds 1, unless all are -inf
    y = xp.log(total) + largest
    return y if keepdims else xp.squeeze(y, axis=_axes(x, axis))


def _axes(x: Array, axis: Axis) -> Axis:
    return tuple(range(x.ndim)) if axis is None else axis
