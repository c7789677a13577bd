"""Activation functions of neural networks."""

from __future__ import annotations

import math
from typing import Any

from autograd_gpu.backend import NAMESPACES, Array, Namespace
from autograd_gpu.ops.exponentials import require_real, sigmoid, softplus
from autograd_gpu.ops.kernels import kernel
from autograd_gpu.ops.nested import blockwise, call, narrow
from autograd_gpu.ops.selection import clip
from autograd_gpu.primitive import elementwise
from autograd_gpu.variable import Variable


# y is not negative, and with itself for the mask there is no array of bools.
@elementwise(x=lambda xp, g, y: xp.masked(g, y))
def relu(xp: Namespace, x: Array) -> Array:
    """max(x, 0); the gradient at 0 is 0.

    >>> relu(Variable([-1.0, 2.0]))
    Variable(array([0., 2.], dtype=float32))
    """
    return xp.maximum(x, 0)


def _leaky_relu(xp: Namespace, g: Any, x: Any, negative_slope: float) -> Any:
    return xp.masked(g, x > 0) + xp.masked(g * negative_slope, x <= 0)


@elementwise(x=_leaky_relu)
def leaky_relu(xp: Namespace, x: Array, *, negative_slope: float = 0.01) -> Array:
    """x where it is positive, else x * negative_slope; the gradient at 0 is negative_slope."""
    other = narrow(xp, x * negative_slope, x)
    return xp.maximum(x, other) if negative_slope <= 1 else xp.minimum(x, other)


def _elu(xp: Namespace, g: Any, y: Any, alpha: float) -> Any:
    return xp.masked(g, y > 0) + xp.masked(g * (xp.minimum(y, 0) + alpha), y <= 0)


@elementwise(x=_elu)
def elu(xp: Namespace, x: Array, *, alpha: float = 1.0) -> Array:
    """x where it is positive, else alpha * (exp(x) - 1); the gradient at 0 is alpha.

    Raises ValueError for a negative alpha and TypeError for complex numbers.
    """
    require_real(x)
    if alpha < 0:
        raise ValueError("alpha must not be negative")
    return xp.maximum(x, 0) + narrow(xp, alpha * xp.expm1(xp.minimum(x, 0)), x)


def selu(x: Any, /) -> Variable:
    """The elu that keeps mean 0 and variance 1 from layer to layer."""
    return elu(x, alpha=1.6732632423543772) * 1.0507009873554805


def relu6(x: Any, /) -> Variable:
    """x between 0 and 6; the gradient passes at both."""
    return clip(x, 0, 6)


def hardtanh(x: Any, /, min_val: float = -1.0, max_val: float = 1.0) -> Variable:
    """x between two bounds; the gradient passes at both."""
    return clip(x, min_val, max_val)


@kernel
def silu_value(xp: Namespace, x: Array) -> Array:
    def silu(x: Array) -> Array:
        y = call(xp, sigmoid, x)
        y *= x
        return y

    return blockwise(xp, silu, x)


@kernel
def silu_gradient(xp: Namespace, g: Any, x: Any) -> Any:
    s = call(xp, sigmoid, x)
    return g * xp.conj(s * (1 + x * (1 - s)))


@elementwise(x=silu_gradient)
def silu(xp: Namespace, x: Array) -> Array:
    """x * sigmoid(x)."""
    return silu_value(xp, x)


@kernel
def mish_value(xp: Namespace, x: Array) -> Array:
    return blockwise(xp, lambda x: x * xp.tanh(call(xp, softplus, x)), x)


@kernel
def mish_gradient(xp: Namespace, g: Any, x: Any) -> Any:
    t = xp.tanh(call(xp, softplus, x))
    return g * (t + x * call(xp, sigmoid, x) * (1 - t * t))


@elementwise(x=mish_gradient)
def mish(xp: Namespace, x: Array) -> Array:
    """x * tanh(softplus(x)) of real x."""
    require_real(x)
    return mish_value(xp, x)


# GELU with Φ(x) = (1 + erf(x / √2)) / 2, or, as GPT-2 has it, with Φ(x) = (1 + tanh(u)) / 2 and
# u = C * x + K * x³.
ROOT = math.sqrt(0.5)
DENSITY = 1 / math.sqrt(2 * math.pi)
C = math.sqrt(2 / math.pi)
K = 0.044715 * C


@kernel
def gelu_erf_gradient(xp: Namespace, g: Any, x: Any) -> Any:
    below = 0.5 * (1 + xp.erf(x * ROOT))
    return g * (below + x * (DENSITY * xp.exp(-0.5 * (x * x))))


@kernel
def gelu_erf_value(xp: Namespace, x: Array) -> Array:
    def gelu(x: Array) -> Array:
        y = xp.erf(x * ROOT)
        y += 1
        y *= 0.5
        y *= x  # last, since twice x may overflow
        return narrow(xp, y, x)

    return blockwise(xp, gelu, x)


@elementwise(x=gelu_erf_gradient)
def gelu_erf(xp: Namespace, x: Array) -> Array:
    """x times the normal distribution function of x."""
    return gelu_erf_value(xp, x)


@kernel
def gelu_tanh_bend(xp: Namespace, g: Any, x: Any) -> Any:
    x = xp.clip(x, -FLAT, FLAT)
    square = x * x
    t = xp.tanh(x * (C + K * square))
    du = C + (3 * K) * square
    return g * ((1 - t * t) * (du + (3 * K) * square - x * t * (du * du)))


# Beyond it tanh(u) is 1 or -1 in every dtype, and the powers of x would overflow in some.
FAR = 25.0
STEEPEST = FAR * (C + 3 * K * FAR**2)  # what x * u' is there

# Beyond it 1 - tanh(u)² is 0 in every dtype; what that multiplies has higher powers.
FLAT = 10.0


def _tanh_of_u(xp: Namespace, x: Array) -> tuple[Array, Array, Array]:
    """x, bounded where its powers matter, u / x, and tanh(u); in the same steps in value and
    derivative, so that `fuse` computes them once."""
    x = xp.clip(x, -FAR, FAR) if x.dtype.itemsize == 2 else x
    p = x * x
    p *= K
    p += C
    u = x * p
    return x, p, xp.tanh(u, u) if u.ndim else xp.tanh(u)


def _slope(xp: Namespace, x: Array) -> Array:
    # (1 + t) / 2 * (1 + (1 - t) * x * u'), where u' = 3 * u / x - 2C, in as few steps as there can
    # be; the product is bounded since 0 times infinity would be NaN
    x, slope, t = _tanh_of_u(xp, x)
    rest = 1 - t
    t += 1
    t *= 0.5
    slope *= 3
    slope -= 2 * C
    slope *= x
    slope = xp.clip(slope, -STEEPEST, STEEPEST)
    slope *= rest
    slope += 1
    slope *= t
    return slope


@elementwise(x=gelu_tanh_bend)
def gelu_tanh_slope(xp: Namespace, x: Array) -> Array:
    """The derivative of gelu_tanh."""
    return blockwise(xp, lambda x: narrow(xp, _slope(xp, x), x), x)


@kernel
def gelu_tanh_gradient(xp: Namespace, g: Any, x: Any) -> Any:
    if xp is NAMESPACES[Variable]:
        return g * gelu_tanh_slope(x)

    def gradient(g: Array, x: Array) -> Array:
        y = _slope(xp, x)
        if y.__class__ is not g.__class__:  # a batch of gradients
            return y * g
        y *= g
        return y

    return blockwise(xp, gradient, g, x)


@kernel
def gelu_tanh_value(xp: Namespace, x: Array) -> Array:
    def gelu(x: Array) -> Array:
        y = _tanh_of_u(xp, x)[2]
        y += 1
        y *= 0.5
        y *= x  # last, since twice x may overflow
        return narrow(xp, y, x)

    return blockwise(xp, gelu, x)


@elementwise(x=gelu_tanh_gradient)
def gelu_tanh(xp: Namespace, x: Array) -> Array:
    """GELU with tanh in place of erf."""
    return gelu_tanh_value(xp, x)


def gelu(x: Any, /, approximate: str = "none") -> Variable:
    """x times the normal distribution function of x.

    `approximate` is "none", or "tanh" for an approximation that is several times faster.

    >>> gelu(Variable([-1.0, 1.0]), approximate="tanh")
    Variable(array([-0.158808,  0.841192], dtype=float32))
    """
    if approximate == "tanh":
        return gelu_tanh(x)
    if approximate != "none":
        raise ValueError(f"gelu: approximate is 'none' or 'tanh', not {approximate!r}")
    return gelu_erf(x)
