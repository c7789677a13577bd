"""Losses that are one op for each element, for the sake of speed or of their gradients."""

from __future__ import annotations

import math
from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.layers import check_range
from autograd_gpu.primitive import primitive


def _squared_error(xp: Namespace, g: Any, x: Any, target: Any, reduction: str) -> Any:
    factor = 2 / max(1, math.prod(x.shape)) if reduction == "mean" else 2
    return (x - target) * (g * factor)


def _squared_error_tangent(xp: Namespace, t: Any, x: Any, target: Any, reduction: str) -> Any:
    d = 2 * (x - target) * t
    return d if reduction == "none" else xp.mean(d) if reduction == "mean" else xp.sum(d)


@primitive(
    cast="widened",
    x=_squared_error,
    target=lambda xp, g, x, target, reduction: _squared_error(xp, g, target, x, reduction),
    tangent={
        "x": _squared_error_tangent,
        "target": lambda xp, t, x, target, reduction: _squared_error_tangent(
            xp, t, target, x, reduction
        ),
    },
)
def squared_error(xp: Namespace, x: Array, target: Array, *, reduction: str = "mean") -> Array:
    """The mean or sum of (x - target)², or its elements; the shapes are equal."""
    d = x - target
    d *= d
    return d if reduction == "none" else xp.mean(d) if reduction == "mean" else xp.sum(d)


def _bounded_log(xp: Namespace, p: Any) -> Any:
    """log(p), or -100 where that is less; without a warning at 0."""
    return xp.clip(xp.log(xp.clip(p, 1e-45, None)), -100.0, None)


@primitive(
    # not that of the bounded logarithms: where these are bound, and the loss is at its largest,
    # nothing would be learned
    p=lambda xp, g, p, target: g * (p - target) / xp.clip(p * (1 - p), 1e-12, None),
    target=lambda xp, g, p: g * (_bounded_log(xp, 1 - p) - _bounded_log(xp, p)),
    tangent="elementwise",
)
def binary_cross_entropy(xp: Namespace, p: Array, target: Array) -> Array:
    """-(target · log(p) + (1 - target) · log(1 - p)) with logarithms of -100 and more.

    The gradient is (p - target) / (p · (1 - p)) with a denominator of 1e-12 and more.  Raises
    ValueError for p outside [0, 1], but not on a GPU, where that would wait.
    """
    check_range(xp, p, 0, 1)
    return -(target * _bounded_log(xp, p) + (1 - target) * _bounded_log(xp, 1 - p))
