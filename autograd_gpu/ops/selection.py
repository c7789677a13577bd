"""Choosing between elements: where, maximum, minimum, clip."""

from __future__ import annotations

from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.operands import SCALARS
from autograd_gpu.primitive import elementwise
from autograd_gpu.values import from_python
from autograd_gpu.variable import Variable


@elementwise(
    a=lambda xp, g, condition: xp.where(condition, g, 0),
    b=lambda xp, g, condition: xp.where(condition, 0, g),
)
def where(xp: Namespace, condition: Array, a: Array, b: Array) -> Array:
    """a where the condition holds, b elsewhere; broadcasting.

    >>> x = Variable([-1.0, 2.0])
    >>> where(x > 0, x, 0.0)
    Variable(array([0., 2.], dtype=float32))
    """
    if a.__class__ in SCALARS and b.__class__ in SCALARS:
        a = from_python(a)
    return xp.where(condition, a, b)


@elementwise(x=lambda xp, g, mask: xp.masked(g, mask))
def masked(xp: Namespace, x: Array, mask: Array) -> Array:
    """x where the mask holds, 0 elsewhere, also where x is infinite; `where` with a fast path.

    A mask of numbers holds where it is not 0.

    >>> masked(Variable([1.0, float("inf")]), np.array([True, False]))
    Variable(array([1., 0.], dtype=float32))
    """
    return xp.masked(x, mask)


def _share(xp: Namespace, g: Any, wins: Any, ties: Any) -> Any:
    """The gradient where the operand wins, half of it where it ties too."""
    half = 0.5 * g
    return xp.masked(half, wins) + xp.masked(half, ties)


@elementwise(
    a=lambda xp, g, a, b: _share(xp, g, a > b, a >= b),
    b=lambda xp, g, a, b: _share(xp, g, b > a, b >= a),
)
def maximum(xp: Namespace, a: Array, b: Array) -> Array:
    """The larger of a and b, elementwise; where they are equal each gets half the gradient."""
    return xp.maximum(a, b)


@elementwise(
    a=lambda xp, g, a, b: _share(xp, g, a < b, a <= b),
    b=lambda xp, g, a, b: _share(xp, g, b < a, b <= a),
)
def minimum(xp: Namespace, a: Array, b: Array) -> Array:
    """The smaller of a and b, elementwise; where they are equal each gets half the gradient."""
    return xp.minimum(a, b)


def _clip_min(xp: Namespace, g: Any, x: Any, min: Any, max: Any) -> Any:
    chosen = x < min
    return xp.masked(g, chosen if max is None else chosen & (min <= max))


def _clip_max(xp: Namespace, g: Any, x: Any, min: Any, max: Any) -> Any:
    chosen = x > max
    return xp.masked(g, chosen if min is None else chosen | (min > max))


@elementwise(
    x=lambda xp, g, x, y: xp.masked(g, x == y),
    min=_clip_min,
    max=_clip_max,
)
def clip_(xp: Namespace, x: Array, min: Array | None = None, max: Array | None = None) -> Array:
    """x between min and max."""
    if min is None and max is None:
        return +x
    return xp.clip(x, min, max)


def clip(x: Any, /, min: Any = None, max: Any = None) -> Variable:
    """x between min and max: numbers, arrays that broadcast, or None for no bound.

    The gradient passes where x is within or at the bounds; elsewhere a bound that is a Variable
    gets it.

    >>> clip(Variable([-1.0, 0.5, 2.0]), 0.0, 1.0)
    Variable(array([0. , 0.5, 1. ], dtype=float32))
    """
    return clip_(x, min, max)
