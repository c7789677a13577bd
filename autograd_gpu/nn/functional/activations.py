"""Activations in terms of others, and those whose axis PyTorch calls `dim`."""

from __future__ import annotations

from typing import Any

from autograd_gpu import ops
from autograd_gpu.nn.functional.arguments import shape_of
from autograd_gpu.ops.arguments import axis_of
from autograd_gpu.variable import Variable


def softmax(x: Any, dim: int = -1) -> Variable:
    """exp(x) / sum(exp(x)) over the axis `dim`."""
    return ops.softmax(x, axis=dim)


def softmin(x: Any, dim: int = -1) -> Variable:
    """softmax(-x) over the axis `dim`."""
    return ops.softmax(ops.negative(x), axis=dim)


def log_softmax(x: Any, dim: int = -1) -> Variable:
    """log(softmax(x)) over the axis `dim`, accurate where softmax rounds to 0."""
    return ops.log_softmax(x, axis=dim)


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
    return ops.relu(x) + alpha * ops.expm1(-ops.relu(-x) / alpha)


def prelu(x: Any, weight: Any) -> Variable:
    """x, or weight · x below 0; `weight` is [1], or [C] for `x` [N, C, ...]."""
    x = ops.asarray(x)
    (n,) = shape_of(weight) or (1,)
    if n != 1:
        if x.ndim < 2 or x.shape[1] != n:
            raise ValueError(f"prelu: weight [{n}] is not one per channel of x {list(x.shape)}")
        weight = ops.reshape(weight, (n, *[1] * (x.ndim - 2)))
    return ops.where(x.value > 0, x, ops.multiply(weight, x))
