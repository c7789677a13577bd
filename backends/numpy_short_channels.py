"""Batch norm for NumPy where channels are short, in blocks of images that stay in the cache.

The functions are those of `numpy_channels`.  Images [C, L] are rows here, and have a channel's
number written out L times, so that NumPy's loops run over whole images.  What is added up is so
over images first, as products with ones, and over the elements of a channel at the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd_gpu.backends.numpy_channels import is_near
from autograd_gpu.backends.numpy_rows import block_rows, for_rows
from autograd_gpu.backends.scratch import scratch

Array = np.ndarray[Any, Any]


def statistics(x: Array) -> tuple[Array, Array]:
    """Mean and variance [C]."""
    mean, _ = _averages(x, None)
    rest, variance = _averages(x, mean)
    return mean + rest, variance - rest * rest


def _averages(x: Array, centre: Array | None) -> tuple[Array, Array | None]:
    """Of x, or of x less `centre` and of its square, [C]."""
    rows, count = _rows(x), x.size // x.shape[1]
    height = block_rows(*rows.shape)
    ones = np.ones(height, x.dtype)
    total, squares = np.empty((2, -(-len(rows) // height), rows.shape[1]), x.dtype)
    less = None if centre is None else _written_out(centre, rows)

    def block(i: int, s: slice) -> None:
        part, some = rows[s], ones[: s.stop - s.start]
        if less is None:
            np.matmul(some, part, total[i])
            return
        part = np.subtract(part, less, scratch("centred", part.shape, x.dtype))
        np.matmul(some, part, total[i])
        np.matmul(some, np.multiply(part, part, part), squares[i])

    for_rows(len(rows), height, block)
    channels = x.shape[1]
    return _added(total, channels) / count, (
        None if centre is None else _added(squares, channels) / count
    )


def normalised(
    x: Array, mean: Array, inverse: Array, weight: Array | None, bias: Array | None
) -> Array:
    """(x - mean) * inverse * weight + bias, all but `x` [C]."""
    rows = _rows(x)
    number = inverse if weight is None else inverse * weight
    centre = None
    shift: Any = np.zeros_like(mean) if bias is None else bias
    if is_near(mean, inverse):
        shift = shift - mean * number
    else:  # digits would cancel
        centre = _written_out(mean, rows)
    scale, shift = (_written_out(v, rows) for v in (number, shift))
    y = np.empty(x.shape, x.dtype)
    out = _rows(y)

    def block(i: int, s: slice) -> None:
        part = rows[s] if centre is None else np.subtract(rows[s], centre, out[s])
        np.multiply(part, scale, out[s])
        np.add(out[s], shift, out[s])

    for_rows(len(rows), block_rows(*rows.shape), block)
    return y


def gradients(
    g: Array, x: Array, mean: Array, inverse: Array, weight: Array | None, needs_x: bool
) -> tuple[Array | None, Array, Array]:
    """The gradients for `x`, where it is needed, and for weight and bias, [C]."""
    rows, upstream, channels = _rows(x), _rows(g), x.shape[1]
    height = block_rows(*rows.shape)
    ones = np.ones(height, x.dtype)
    centre = None if is_near(mean, inverse) else _written_out(mean, rows)
    sums = np.empty((2, -(-len(rows) // height), rows.shape[1]), x.dtype)

    def less(s: slice) -> Array:
        if centre is None:
            return rows[s]
        return np.subtract(rows[s], centre, scratch("centred", rows[s].shape, x.dtype))

    def block(i: int, s: slice) -> None:
        part, some = upstream[s], ones[: s.stop - s.start]
        t = np.multiply(part, less(s), scratch("product", part.shape, x.dtype))
        np.matmul(some, part, sums[0, i])
        np.matmul(some, t, sums[1, i])

    for_rows(len(rows), height, block)
    total, along = (_added(v, channels) for v in sums)
    offset = mean if centre is None else np.zeros_like(mean)
    along -= offset * total
    along *= inverse
    if not needs_x:
        return None, along, total
    # a multiple of g, less one of x, and a number for each channel: see `numpy_channels`
    number = inverse if weight is None else inverse * weight
    share = number / (x.size // channels)
    slope = along * share * inverse
    numbers = (number, slope, total * share - offset * slope)
    scale, times, minus = (_written_out(v, rows) for v in numbers)
    grad = np.empty(x.shape, x.dtype)
    out = _rows(grad)

    def combined(i: int, s: slice) -> None:
        t = np.multiply(less(s), times, scratch("product", rows[s].shape, x.dtype))
        np.add(t, minus, t)
        np.multiply(upstream[s], scale, out[s])
        np.subtract(out[s], t, out[s])

    for_rows(len(rows), height, combined)
    return grad, along, total


def _rows(x: Array) -> Array:
    return x.reshape(len(x), -1)


def _written_out(numbers: Array, rows: Array) -> Array:
    """[C] as [C * L], each number L times."""
    return np.repeat(numbers, rows.shape[1] // len(numbers)).astype(rows.dtype, copy=False)


def _added(parts: Array, channels: int) -> Any:
    """[parts, C * L] added up to [C]."""
    return np.add.reduce(parts, 0).reshape(channels, -1).sum(1)
