"""Dropout: elements or channels that are left out in training."""

from __future__ import annotations

from typing import Any

from autograd_gpu import ops
from autograd_gpu.nn.functional.arguments import shape_of
from autograd_gpu.random import Generator, default_generator
from autograd_gpu.variable import Variable


def dropout(
    x: Any, p: float = 0.5, training: bool = True, *, generator: Generator | None = None
) -> Variable:
    """In training `x` with elements set to 0 with probability `p` and the others over 1 - p.

    The mask comes from `generator`, or the one that `manual_seed` seeds, and is the same on every
    backend.
    """
    return _dropped("dropout", x, p, training, None, generator)


def dropout2d(
    x: Any, p: float = 0.5, training: bool = True, *, generator: Generator | None = None
) -> Variable:
    """Dropout of whole channels of `x` [N, C, H, W]."""
    shape = shape_of(x)
    if len(shape) < 2:
        raise ValueError(f"dropout2d: x must be [N, C, ...], not {list(shape)}")
    mask_shape = (*shape[:2], *[1] * (len(shape) - 2))
    return _dropped("dropout2d", x, p, training, mask_shape, generator)


def _dropped(
    op: str,
    x: Any,
    p: float,
    training: bool,
    mask_shape: tuple[int, ...] | None,
    generator: Generator | None,
) -> Variable:
    if not 0 <= p <= 1:
        raise ValueError(f"{op}: p={p} must be a probability")
    if not training or p == 0:
        return ops.positive(x)
    if p == 1:
        return ops.multiply(x, 0.0)
    seed, offset = (generator or default_generator()).next_key()
    return ops.dropout(x, mask_shape, p, seed, offset)
