"""Activations in terms of others, and those whose axis PyTorch calls `dim`."""

from __future__ import annotations

from typing import Any

from autograd_gpu import ops
from autograd_gpu.nn.functional.arguments import backend_near, shape_of
from autograd_gpu.ops.arguments import axis_of
from autograd_gpu.placement import on_its_device
from autograd_gpu.random import Generator, default_generator
from autograd_gpu.variable import Variable


def softmax(x: Any, dim: int = -1, *, dtype: Any = None) -> Variable:
    """exp(x) / sum(exp(x)) over the axis `dim`, computed in `dtype` if one is given."""
    return ops.softmax(x if dtype is None else ops.astype(x, dtype), axis=dim)


def softmin(x: Any, dim: int = -1, *, dtype: Any = None) -> Variable:
    """softmax(-x) over the axis `dim`."""
    return softmax(ops.negative(x), dim, dtype=dtype)


def log_softmax(x: Any, dim: int = -1, *, dtype: Any = None) -> Variable:
    """log(softmax(x)) over the axis `dim`, accurate where softmax rounds to 0; computed in `dtype`
    if one is given."""
    return ops.log_softmax(x if dtype is None else ops.astype(x, dtype), axis=dim)


def glu(x: Any, dim: int = -1) -> Variable:
    """The first half of `x` along `dim` times the sigmoid of the second."""
    shape = shape_of(x)
    if shape[axis_of("glu", dim, len(shape))] % 2:
        raise ValueError(f"glu: axis {dim} of {list(shape)} has no halves")
    a, b = ops.split(x, 2, axis=dim)
    return a * ops.sigmoid(b)


def softsign(x: Any) -> Variable:
    """x / (1 + abs(x))."""
    return ops.divide(x, ops.abs_(x) + 1)


def tanhshrink(x: Any) -> Variable:
    """x - tanh(x)."""
    return ops.subtract(x, ops.tanh(x))


def hardsigmoid(x: Any) -> Variable:
    """x / 6 + 1 / 2 between 0 and 1."""
    return ops.clip(ops.add(x, 3.0), 0, 6) / 6


def hardswish(x: Any) -> Variable:
    """x · hardsigmoid(x)."""
    return ops.multiply(x, hardsigmoid(x))


def celu(x: Any, alpha: float = 1.0) -> Variable:
    """max(x, 0) + min(0, alpha · (exp(x / alpha) - 1))."""
    if alpha == 0:
        raise ValueError("celu: alpha must not be 0")
    x = ops.asarray(x)
    # one branch of `where` for 0 too: there two kinks would each give half of a smooth slope
    low = x.value <= 0
    return ops.where(low, alpha * ops.expm1(ops.where(low, x, 0) / alpha), x)


def prelu(x: Any, weight: Any) -> Variable:
    """x, or weight · x below 0; `weight` is [1], or [C] for `x` [N, C, ...]."""
    x = ops.asarray(x)
    shape = shape_of(weight) or (1,)
    if len(shape) != 1:
        raise ValueError(f"prelu: weight {list(shape)} is neither [1] nor [C]")
    (n,) = shape
    if n != 1:
        if x.ndim < 2 or x.shape[1] != n:
            raise ValueError(f"prelu: weight [{n}] is not one per channel of x {list(x.shape)}")
        weight = ops.reshape(weight, (n, *[1] * (x.ndim - 2)))
    return ops.where(x.value > 0, x, ops.multiply(weight, x))


@on_its_device
def softplus(x: Any, beta: float = 1.0, threshold: float = 20.0) -> Variable:
    """log(1 + exp(beta · x)) / beta, and x itself where beta · x is above `threshold`.

    For thresholds of 20 and more it is the logarithm everywhere, which differs from x by less than
    3e-9 there and has no kink.

    >>> softplus([0.0, 3.0], threshold=2.0).tolist()
    [0.6931471824645996, 3.0]
    """
    if beta == 0:
        raise ValueError("softplus: beta must not be 0")
    if beta == 1 and threshold >= 20:
        return ops.softplus(x)
    x = ops.asarray(x)
    y = ops.softplus(x * beta) / beta
    return y if threshold >= 20 else ops.where(x.value * beta > threshold, x, y)


@on_its_device
def threshold(x: Any, threshold: float, value: float) -> Variable:
    """x where it is above `threshold`, elsewhere `value`.

    >>> threshold([1.0, 2.0, 3.0], 2.0, -1.0).tolist()
    [-1.0, -1.0, 3.0]
    """
    x = ops.asarray(x)
    return ops.where(x.value > threshold, x, value)


@on_its_device
def hardshrink(x: Any, lambd: float = 0.5) -> Variable:
    """x, or 0 where abs(x) is at most `lambd`."""
    x = ops.asarray(x)
    return ops.masked(x, (x.value > lambd) | (x.value < -lambd))


def softshrink(x: Any, lambd: float = 0.5) -> Variable:
    """x brought nearer to 0 by `lambd`, and 0 where abs(x) is less.

    >>> softshrink([-2.0, 0.3, 1.0]).tolist()
    [-1.5, 0.0, 0.5]
    """
    if not lambd >= 0:
        raise ValueError(f"softshrink: lambd={lambd} is negative")
    return ops.subtract(x, ops.clip(x, -lambd, lambd))


@on_its_device
def rrelu(
    x: Any,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    *,
    generator: Generator | None = None,
) -> Variable:
    """x, or below 0 a fraction of it: random in [lower, upper) in training, else their mean."""
    if not lower <= upper:
        raise ValueError(f"rrelu: lower={lower} must not be above upper={upper}")
    x = ops.asarray(x)
    slope: Any = (lower + upper) / 2
    if training:
        slope = lower + (upper - lower) * _random_unit(x, generator)
    return ops.where(x.value > 0, x, x * slope)


@on_its_device
def gumbel_softmax(
    logits: Any,
    tau: float = 1.0,
    hard: bool = False,
    dim: int = -1,
    *,
    generator: Generator | None = None,
) -> Variable:
    """softmax((logits + noise) / tau) along `dim`: draws from a distribution that gradients pass
    (Jang et al., 2016).

    With `hard` the value is the row with a one at the largest element, and the gradient that of the
    soft one.

    >>> y = gumbel_softmax([0.0, 1.0, 0.0], hard=True)
    >>> sorted(y.tolist())
    [0.0, 0.0, 1.0]
    """
    if not tau > 0:
        raise ValueError(f"gumbel_softmax: tau={tau} must be positive")
    logits = ops.asarray(logits)
    xp = backend_near(logits).xp
    # multiples of 2**-24 below 1, of which 0 has no logarithm; in a half type some would be 1
    wide = "float64" if logits.dtype.itemsize > 4 else "float32"
    uniform = xp.maximum(_random_unit(logits, generator, wide), 2**-25)
    noise = -xp.log(-xp.log(uniform))
    soft = ops.softmax((logits + noise.astype(logits.dtype)) / tau, axis=dim)
    if not hard:
        return soft
    n = logits.shape[dim]
    places = xp.arange(n).reshape((-1, *[1] * (-1 - dim if dim < 0 else logits.ndim - 1 - dim)))
    one = places == xp.argmax(soft.value, axis=dim, keepdims=True)
    return ops.add(soft, one - soft.value)


def _random_unit(x: Variable, generator: Generator | None, dtype: Any = None) -> Any:
    """Uniform numbers in [0, 1) of the shape of `x`, the same on every backend; in the dtype of `x`
    unless given."""
    seed, offset = (generator or default_generator()).next_key()
    numbers: Any = backend_near(x).xp.random_unit(x.shape, seed, offset)
    return numbers.astype(dtype or x.dtype)
