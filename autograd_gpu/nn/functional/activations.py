"""Activations whose axis PyTorch calls `dim`."""

from __future__ import annotations

from typing import Any

from autograd_gpu import ops
from autograd_gpu.nn.functional.arguments import shape_of
from autograd_gpu.variable import Variable


def softmax(x: Any, dim: int = -1) -> Variable:
    """exp(x) / sum(exp(x)) over the axis `dim`."""
    return ops.softmax(x, axis=dim)


def log_softmax(x: Any, dim: int = -1) -> Variable:
    """log(softmax(x)) over the axis `dim`, accurate where softmax rounds to 0."""
    return ops.log_softmax(x, axis=dim)


def glu(x: Any, dim: int = -1) -> Variable:
    """The first half of `x` along `dim` times the sigmoid of the second."""
    if shape_of(x)[dim] % 2:
        raise ValueError(f"glu: axis {dim} of {list(shape_of(x))} has no halves")
    a, b = ops.split(x, 2, axis=dim)
    return a * ops.sigmoid(b)
