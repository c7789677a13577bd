"""Dropout."""

from __future__ import annotations

from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.primitive import primitive


def _mask(xp: Namespace, shape: tuple[int, ...], p: float, seed: int, offset: int) -> Any:
    return xp.random_unit(shape, seed, offset) >= p


def _dropout(
    xp: Namespace,
    g: Any,
    aux: Any,
    mask_shape: tuple[int, ...] | None,
    p: float,
    seed: int,
    offset: int,
) -> Any:
    if aux is None:
        return dropout(g, mask_shape=mask_shape, p=p, seed=seed, offset=offset)
    y = g * aux
    y *= 1 / (1 - p)
    return y


@primitive(aux=True, x=_dropout, tangent="elementwise")
def dropout(
    xp: Namespace, x: Array, *, mask_shape: tuple[int, ...] | None, p: float, seed: int, offset: int
) -> tuple[Array, Array]:
    """`x` with elements set to 0 with probability `p` < 1, the others divided by 1 - p.

    The mask has `mask_shape`, or that of `x`, and broadcasts; it depends on it, `seed` and `offset`
    alone, so it is the same on every backend.
    """
    mask = _mask(xp, x.shape if mask_shape is None else mask_shape, p, seed, offset)
    y = x * mask
    y *= 1 / (1 - p)
    return y, mask
