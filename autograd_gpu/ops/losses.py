"""Squared error as one op."""

from __future__ import annotations

import math
from typing import Any

from autograd_gpu.backend import Array, Namespace
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
