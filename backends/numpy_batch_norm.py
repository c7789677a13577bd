"""Batch norm for NumPy, on the rows [L] of images [N, C, L] in blocks that stay in the cache.

All sums are dot products of rows, and what remains is to scale and to shift each row.  Names are
those of `autograd_gpu.ops.normalization`; NotImplemented asks for the general form.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from autograd_gpu.backends.numpy_rows import block_rows, for_rows
from autograd_gpu.backends.scratch import scratch

Array = np.ndarray[Any, Any]

SHORTEST = 32
"""Elements of a row from which this takes less time than the general form."""


def channel_statistics(x: Array) -> Any:
    """Mean and variance [C] of the channels of `x` [N, C, ...], over all other axes."""
    if not _is_known(x):
        return NotImplemented
    rows, channels = _rows(x), x.shape[1]
    n = x.size // channels
    ones = np.ones(rows.shape[1], x.dtype)
    sums = np.empty((2, len(rows)), x.dtype)

    def block(i: int, s: slice) -> None:
        np.vecdot(rows[s], ones, sums[0, s])
        np.vecdot(rows[s], rows[s], sums[1, s])

    for_rows(len(rows), block_rows(*rows.shape), block)
    mean, variance = sums.reshape(2, -1, channels).sum(1) / n
    square = mean * mean
    variance -= square
    if (square <= variance).all():
        return mean, variance
    centre = np.tile(mean, len(x))  # digits have cancelled

    def centred(i: int, s: slice) -> None:
        part = np.subtract(rows[s], centre[s, None], scratch("centred", rows[s].shape, x.dtype))
        np.vecdot(part, part, sums[1, s])

    for_rows(len(rows), block_rows(*rows.shape), centred)
    return mean, sums[1].reshape(-1, channels).sum(0) / n


def channels_normalised(
    x: Array, mean: Array, inverse: Array, weight: Array | None, bias: Array | None
) -> Any:
    """(x - mean) * inverse * weight + bias, all but `x` [C]."""
    if not _is_known(x):
        return NotImplemented
    scale = inverse if weight is None else inverse * weight
    shift = np.zeros_like(mean) if bias is None else bias
    centre = None
    if _is_near(mean, inverse):
        shift = shift - mean * scale
    else:  # digits would cancel
        centre = np.tile(mean, len(x))
    y = np.empty(x.shape, x.dtype)
    rows, out = _rows(x), _rows(y)
    scale, shift = np.tile(scale, len(x)), np.tile(shift, len(x))

    def block(i: int, s: slice) -> None:
        part = rows[s]
        if centre is not None:
            part = np.subtract(part, centre[s, None], out[s])
        np.multiply(part, scale[s, None], out[s])
        np.add(out[s], shift[s, None], out[s])

    for_rows(len(rows), block_rows(*rows.shape), block)
    return y


def batch_norm_gradients(
    g: Array, x: Array, mean: Array, inverse: Array, weight: Array | None, needs: Sequence[bool]
) -> Any:
    """The gradients of `batch_norm` for its operands, where they are needed."""
    if not _is_known(x) or g.dtype != x.dtype:
        return NotImplemented
    channels = x.shape[1]
    rows, upstream = _rows(x), _rows(g)
    ones = np.ones(rows.shape[1], x.dtype)
    sums = np.empty((2, len(rows)), x.dtype)
    height = block_rows(*rows.shape)
    centre = None if _is_near(mean, inverse) else np.tile(mean, len(x))

    def centred(s: slice) -> Array:
        if centre is None:
            return rows[s]
        return np.subtract(rows[s], centre[s, None], scratch("centred", rows[s].shape, x.dtype))

    def block(i: int, s: slice) -> None:
        np.vecdot(upstream[s], ones, sums[0, s])
        np.vecdot(upstream[s], centred(s), sums[1, s])

    for_rows(len(rows), height, block)
    total, along = sums.reshape(2, -1, channels).sum(1)
    offset = mean if centre is None else np.zeros_like(mean)
    along = (along - offset * total) * inverse
    if not needs[0]:
        return None, along, total
    # (g - n * average(g * n) - average(g)) * scale, with n = (x - offset) * inverse
    n = x.size // channels
    scale = inverse if weight is None else inverse * weight
    slope = along * inverse * scale / n
    columns = np.tile([scale, slope, offset * slope - scale * total / n], len(x))
    grad = np.empty(x.shape, x.dtype)
    out = _rows(grad)

    def combined(i: int, s: slice) -> None:
        t = scratch("product", out[s].shape, x.dtype)
        np.multiply(centred(s), columns[1, s, None], t)
        np.subtract(t, columns[2, s, None], t)
        np.multiply(upstream[s], columns[0, s, None], out[s])
        np.subtract(out[s], t, out[s])

    for_rows(len(rows), height, combined)
    return grad, along, total


def _is_known(x: Array) -> bool:
    return x.dtype.char in "fd" and x.size > 0 and prod(x.shape[2:]) >= SHORTEST


def _is_near(mean: Array, inverse: Array) -> bool:
    """Whether means are at most as large as deviations, so that few digits cancel."""
    return bool((np.abs(mean * inverse) <= 1).all())


def _rows(x: Array) -> Array:
    return x.reshape(x.shape[0] * x.shape[1], -1)
