"""Exponentials and logarithms."""

from __future__ import annotations

import math
from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.kernels import kernel
from autograd_gpu.ops.nested import blockwise, call
from autograd_gpu.primitive import elementwise

LN2 = math.log(2)
LN10 = math.log(10)


@elementwise(x=lambda xp, g, y: g * xp.conj(y))
def exp(xp: Namespace, x: Array) -> Array:
    """e to the power x.

    >>> exp(Variable([0.0, float("-inf")]))
    Variable(array([1., 0.], dtype=float32))
    """
    return xp.exp(x)


@elementwise(x=lambda xp, g, y: g * (xp.conj(y) + 1))
def expm1(xp: Namespace, x: Array) -> Array:
    """exp(x) - 1, accurate for small x."""
    return xp.expm1(x)


@elementwise(x=lambda xp, g, y: g * (xp.conj(y) * LN2))
def exp2(xp: Namespace, x: Array) -> Array:
    """2 to the power x."""
    return xp.exp2(x)


@elementwise(x=lambda xp, g, x: g / xp.conj(x))
def log(xp: Namespace, x: Array) -> Array:
    """Natural logarithm."""
    return xp.log(x)


@elementwise(x=lambda xp, g, x: g / (1 + xp.conj(x)))
def log1p(xp: Namespace, x: Array) -> Array:
    """log(1 + x), accurate for small x."""
    return xp.log1p(x)


@elementwise(x=lambda xp, g, x: g / (xp.conj(x) * LN2))
def log2(xp: Namespace, x: Array) -> Array:
    """Logarithm to base 2."""
    return xp.log2(x)


@elementwise(x=lambda xp, g, x: g / (xp.conj(x) * LN10))
def log10(xp: Namespace, x: Array) -> Array:
    """Logarithm to base 10."""
    return xp.log10(x)


def _logaddexp(xp: Namespace, g: Any, x: Any, other: Any) -> Any:
    # exp(x - y), but of the difference that rounding has left whole
    none = (x == -math.inf) & (other == -math.inf)
    share = call(xp, sigmoid, xp.where(none, 0, x) - xp.where(none, 0, other))
    return g * xp.where(none, 0, share)


@elementwise(
    a=lambda xp, g, a, b: _logaddexp(xp, g, a, b),
    b=lambda xp, g, a, b: _logaddexp(xp, g, b, a),
)
def logaddexp(xp: Namespace, a: Array, b: Array) -> Array:
    """log(exp(a) + exp(b)) without overflow; where both are -inf, the gradients are 0."""
    return xp.logaddexp(a, b)


@kernel
def sigmoid_value(xp: Namespace, x: Array) -> Array:
    if x.dtype.kind == "c":
        return 1 / (1 + xp.exp(-x))
    if x.dtype.itemsize == 2:
        return xp.astype(sigmoid_value(xp, xp.astype(x, xp.float32)), x.dtype)
    largest = 709.0 if x.dtype.itemsize >= 8 else 88.0

    def sigmoid(x: Array) -> Array:
        # exp of a number bounded from above neither overflows nor warns; below it is 0.
        t = xp.exp(xp.minimum(-x, largest))
        t += 1
        t = xp.reciprocal(t)
        t *= x > -largest
        return t

    return blockwise(xp, sigmoid, x)


@kernel
def sigmoid_gradient(xp: Namespace, g: Any, y: Any) -> Any:
    return g * xp.conj(y * (1 - y))


@elementwise(x=sigmoid_gradient)
def sigmoid(xp: Namespace, x: Array) -> Array:
    """1 / (1 + exp(-x)), accurate also where it is tiny.

    >>> sigmoid(Variable([0.0, 100.0]))
    Variable(array([0.5, 1. ], dtype=float32))
    """
    return sigmoid_value(xp, x)


def require_real(x: Array) -> None:
    """Refuse complex numbers where a function goes by their order or size."""
    if x.dtype.kind == "c":
        raise TypeError("complex numbers are not supported")


@kernel
def softplus_value(xp: Namespace, x: Array) -> Array:
    return blockwise(xp, lambda x: xp.maximum(x, 0) + xp.log1p(xp.exp(-xp.abs(x))), x)


@kernel
def softplus_gradient(xp: Namespace, g: Any, x: Any) -> Any:
    return g * call(xp, sigmoid, x)


@elementwise(x=softplus_gradient)
def softplus(xp: Namespace, x: Array) -> Array:
    """log(1 + exp(x)) of real x, without overflow."""
    require_real(x)
    return softplus_value(xp, x)


@kernel
def logsigmoid_value(xp: Namespace, x: Array) -> Array:
    return blockwise(xp, lambda x: xp.minimum(x, 0) - xp.log1p(xp.exp(-xp.abs(x))), x)


@kernel
def logsigmoid_gradient(xp: Namespace, g: Any, x: Any) -> Any:
    return g * call(xp, sigmoid, -x)


@elementwise(x=logsigmoid_gradient)
def logsigmoid(xp: Namespace, x: Array) -> Array:
    """log(sigmoid(x)) of real x, without overflow."""
    require_real(x)
    return logsigmoid_value(xp, x)
