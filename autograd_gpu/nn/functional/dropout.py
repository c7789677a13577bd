"""Dropout: elements or channels that are left out in training."""

from __future__ import annotations

from typing import Any

from autograd_gpu import ops
from autograd_gpu.nn.functional.arguments import AXES, backend_near, check_probability, shape_of
from autograd_gpu.placement import on_its_device
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
    """Dropout of whole channels of `x` [N, C, H, W], or [N, C, L]."""
    shape = shape_of(x)
    if len(shape) < 2:
        raise ValueError(f"dropout2d: x must be [N, C, ...], not {list(shape)}")
    return _dropped("dropout2d", x, p, training, _channels(shape, 2), generator)


def dropout1d(
    x: Any, p: float = 0.5, training: bool = True, *, generator: Generator | None = None
) -> Variable:
    """Dropout of whole channels of `x` [N, C, L], or [C, L]."""
    return _dropped("dropout1d", x, p, training, _whole("dropout1d", x, 1), generator)


def dropout3d(
    x: Any, p: float = 0.5, training: bool = True, *, generator: Generator | None = None
) -> Variable:
    """Dropout of whole channels of `x` [N, C, D, H, W], or [C, D, H, W]."""
    return _dropped("dropout3d", x, p, training, _whole("dropout3d", x, 3), generator)


def alpha_dropout(
    x: Any, p: float = 0.5, training: bool = False, *, generator: Generator | None = None
) -> Variable:
    """In training sets elements to the least value of SELU with probability `p`, and then scales
    and shifts all such that mean 0 and variance 1 stay (Klambauer et al., 2017)."""
    return _alpha_dropped("alpha_dropout", x, p, training, shape_of(x), generator)


def feature_alpha_dropout(
    x: Any, p: float = 0.5, training: bool = False, *, generator: Generator | None = None
) -> Variable:
    """`alpha_dropout` of whole channels of `x` [N, C, ...]."""
    shape = shape_of(x)
    if len(shape) < 2:
        raise ValueError(f"feature_alpha_dropout: x must be [N, C, ...], not {list(shape)}")
    mask = _channels(shape, 2)
    return _alpha_dropped("feature_alpha_dropout", x, p, training, mask, generator)


def _channels(shape: tuple[int, ...], lead: int) -> tuple[int, ...]:
    """The shape of a mask of whole channels: `lead` axes, and 1 for those that follow."""
    return (*shape[:lead], *[1] * (len(shape) - lead))


def _whole(op: str, x: Any, d: int) -> tuple[int, ...]:
    shape = shape_of(x)
    if len(shape) not in (d + 1, d + 2):
        raise ValueError(f"{op}: x must be [N, C, {AXES[d]}], not {list(shape)}")
    return _channels(shape, len(shape) - d)


# -scale · alpha of SELU, its value far below 0
_LEAST = -1.7580993408473766


@on_its_device
def _alpha_dropped(
    op: str,
    x: Any,
    p: float,
    training: bool,
    mask_shape: tuple[int, ...],
    generator: Generator | None,
) -> Variable:
    check_probability(op, p)
    if not training or p == 0:
        return ops.positive(x)
    if p == 1:
        return ops.multiply(x, 0.0)
    seed, offset = (generator or default_generator()).next_key()
    kept: Any = backend_near(x).xp.random_unit(mask_shape, seed, offset) >= p
    scale = ((1 - p) * (1 + p * _LEAST * _LEAST)) ** -0.5
    return ops.subtract(ops.where(kept, x, _LEAST) * scale, scale * _LEAST * p)


def _dropped(
    op: str,
    x: Any,
    p: float,
    training: bool,
    mask_shape: tuple[int, ...] | None,
    generator: Generator | None,
) -> Variable:
    check_probability(op, p)
    if not training or p == 0:
        return ops.positive(x)
    if p == 1:
        return ops.multiply(x, 0.0)
    seed, offset = (generator or default_generator()).next_key()
    return ops.dropout(x, mask_shape, p, seed, offset)
