"""Comparisons, logic and bits: elementwise, broadcasting, and not differentiable."""

from __future__ import annotations

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.primitive import primitive


@primitive()
def equal(xp: Namespace, a: Array, b: Array) -> Array:
    """Elementwise a == b."""
    return xp.equal(a, b)


@primitive()
def not_equal(xp: Namespace, a: Array, b: Array) -> Array:
    """Elementwise a != b."""
    return xp.not_equal(a, b)


@primitive()
def less(xp: Namespace, a: Array, b: Array) -> Array:
    """Elementwise a < b.

    >>> less(Variable([1.0, 2.0]), 2.0)
    Variable(array([ True, False]))
    """
    return xp.less(a, b)


@primitive()
def less_equal(xp: Namespace, a: Array, b: Array) -> Array:
    """Elementwise a <= b."""
    return xp.less_equal(a, b)


@primitive()
def greater(xp: Namespace, a: Array, b: Array) -> Array:
    """Elementwise a > b."""
    return xp.greater(a, b)


@primitive()
def greater_equal(xp: Namespace, a: Array, b: Array) -> Array:
    """Elementwise a >= b."""
    return xp.greater_equal(a, b)


@primitive()
def logical_and(xp: Namespace, a: Array, b: Array) -> Array:
    """Both are true (not 0)."""
    return xp.logical_and(a, b)


@primitive()
def logical_or(xp: Namespace, a: Array, b: Array) -> Array:
    """At least one is true (not 0)."""
    return xp.logical_or(a, b)


@primitive()
def logical_xor(xp: Namespace, a: Array, b: Array) -> Array:
    """Exactly one is true (not 0)."""
    return xp.logical_xor(a, b)


@primitive()
def bitwise_and(xp: Namespace, a: Array, b: Array) -> Array:
    """Bits set in both."""
    return xp.bitwise_and(a, b)


@primitive()
def bitwise_or(xp: Namespace, a: Array, b: Array) -> Array:
    """Bits set in at least one."""
    return xp.bitwise_or(a, b)


@primitive()
def bitwise_xor(xp: Namespace, a: Array, b: Array) -> Array:
    """Bits set in exactly one."""
    return xp.bitwise_xor(a, b)


@primitive()
def bitwise_left_shift(xp: Namespace, a: Array, b: Array) -> Array:
    """a with its bits moved b places up."""
    return xp.bitwise_left_shift(a, b)


@primitive()
def bitwise_right_shift(xp: Namespace, a: Array, b: Array) -> Array:
    """a with its bits moved b places down."""
    return xp.bitwise_right_shift(a, b)


@primitive()
def logical_not(xp: Namespace, x: Array) -> Array:
    """Where x is 0."""
    return xp.logical_not(x)


@primitive()
def bitwise_invert(xp: Namespace, x: Array) -> Array:
    """Every bit turned; logical_not of bools."""
    return xp.bitwise_invert(x)


@primitive()
def isnan(xp: Namespace, x: Array) -> Array:
    """Where x is not a number."""
    return xp.isnan(x)


@primitive()
def isinf(xp: Namespace, x: Array) -> Array:
    """Where x is infinite."""
    return xp.isinf(x)


@primitive()
def isfinite(xp: Namespace, x: Array) -> Array:
    """Where x is neither infinite nor NaN."""
    return xp.isfinite(x)


@primitive()
def signbit(xp: Namespace, x: Array) -> Array:
    """Where the sign of x is negative, that of -0.0 too."""
    return xp.signbit(x)


@primitive()
def isclose(
    xp: Namespace,
    a: Array,
    b: Array,
    *,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
) -> Array:
    """Where |a - b| <= atol + rtol * |b|."""
    return xp.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)
