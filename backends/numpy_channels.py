"""What batch norm does to images [N, C, ...] for NumPy, in blocks of rows that stay in the cache.

A row [L] is one channel of one image.  All sums are dot products of rows, and what remains is to
scale and to shift each row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd_gpu.backends.numpy_combination import Combination
from autograd_gpu.backends.numpy_layer_norm import pays
from autograd_gpu.backends.numpy_rows import block_rows, for_rows
from autograd_gpu.backends.scratch import scratch

Array = np.ndarray[Any, Any]


def statistics(x: Array) -> tuple[Array, Array]:
    """Mean and variance [C]."""
    rows = _rows(x)
    n = x.size // x.shape[1]
    ones = np.ones(rows.shape[1], x.dtype)
    sums = np.empty((2, len(rows)), x.dtype)

    def averages(centre: Array | None) -> Any:
        """Of x less centre, and of its square."""

        def block(i: int, s: slice) -> None:
            part = _less(rows, centre, s)
            np.vecdot(part, ones, sums[0, s])
            np.vecdot(part, part, sums[1, s])

        for_rows(len(rows), block_rows(*rows.shape), block)
        return sums.reshape(2, *x.shape[:2]).sum(1) / n

    mean, variance = averages(None)
    square = mean * mean
    variance -= square
    if not (square <= variance).all():  # digits have cancelled
        rest, variance = averages(_per_row(mean, x))
        mean += rest
        variance -= rest * rest
    return mean, variance


def normalised(
    x: Array, mean: Array, inverse: Array, weight: Array | None, bias: Array | None
) -> Array:
    """(x - mean) * inverse * weight + bias, all but `x` [C]."""
    rows = _rows(x)
    scale = inverse if weight is None else inverse * weight
    shift: Any = np.zeros_like(scale) if bias is None else bias
    centre = None
    if is_near(mean, inverse):
        shift = shift - mean * scale
    else:  # digits would cancel
        centre = _per_row(mean, x)
    columns = np.stack([_per_row(v, x) for v in (scale, shift)], dtype=x.dtype)
    height = block_rows(*rows.shape)
    combine = _combination(1, rows, height)
    y = np.empty(x.shape, x.dtype)
    out = _rows(y)

    def block(i: int, s: slice) -> None:
        part = _less(rows, centre, s)
        if combine is not None:
            combine(columns[:, s], [part], out[s])
            return
        np.multiply(part, columns[0, s, None], out[s])
        np.add(out[s], columns[1, s, None], out[s])

    for_rows(len(rows), height, block)
    return y


def gradients(
    g: Array,
    x: Array,
    mean: Array,
    inverse: Array,
    weight: Array | None,
    needs_x: bool,
) -> tuple[Array | None, Array, Array]:
    """The gradients for `x`, where it is needed, and for weight and bias, [C]."""
    rows, upstream = _rows(x), _rows(g)
    ones = np.ones(rows.shape[1], x.dtype)
    sums = np.empty((2, len(rows)), x.dtype)
    height = block_rows(*rows.shape)
    centre = None if is_near(mean, inverse) else _per_row(mean, x)

    def block(i: int, s: slice) -> None:
        np.vecdot(upstream[s], ones, sums[0, s])
        np.vecdot(upstream[s], _less(rows, centre, s), sums[1, s])

    for_rows(len(rows), height, block)
    total, along = sums.reshape(2, *x.shape[:2]).sum(1)
    offset = mean if centre is None else np.zeros_like(mean)
    along -= offset * total
    along *= inverse
    if not needs_x:
        return None, along, total
    # (h - n * average(h * n) - average(h)) * inverse, with h = g * weight and
    # n = (x - offset) * inverse: a multiple of g, less one of x, and a number for each row
    scale = inverse if weight is None else inverse * weight
    share = scale / (x.size // x.shape[1])
    slope = along * share * inverse
    shift = offset * slope - total * share
    columns = np.stack([_per_row(v, x) for v in (scale, -slope, shift)], dtype=x.dtype)
    combine = _combination(2, rows, height)
    grad = np.empty(x.shape, x.dtype)
    out = _rows(grad)

    def combined(i: int, s: slice) -> None:
        if combine is not None:
            combine(columns[:, s], [upstream[s], _less(rows, centre, s)], out[s])
            return
        t = scratch("product", out[s].shape, x.dtype)
        np.multiply(_less(rows, centre, s), columns[1, s, None], t)
        np.add(t, columns[2, s, None], t)
        np.multiply(upstream[s], columns[0, s, None], out[s])
        np.add(out[s], t, out[s])

    for_rows(len(rows), height, combined)
    return grad, along, total


def _rows(x: Array) -> Array:
    return x.reshape(x.shape[0] * x.shape[1], -1)


def _less(rows: Array, centre: Array | None, s: slice) -> Array:
    if centre is None:
        return rows[s]
    out = scratch("centred", rows[s].shape, rows.dtype)
    return np.subtract(rows[s], centre[s, None], out)


def _per_row(numbers: Array, x: Array) -> Array:
    """For each row of `x` its channel's number."""
    return np.tile(numbers, len(x))


def _combination(terms: int, rows: Array, height: int) -> Combination | None:
    """Of so many blocks like those of `rows`, and of a number for each row, where it pays."""
    if not pays(rows, height, rows.dtype):
        return None
    ones = np.ones((1, rows.shape[1]), rows.dtype)
    return Combination([None] * terms, ones, height, rows.shape[1], rows.dtype)


def is_near(mean: Array, inverse: Array) -> bool:
    """Whether means are at most as large as deviations, so that few digits cancel."""
    return bool((np.abs(mean * inverse) <= 1).all())
