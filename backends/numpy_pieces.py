"""Batch, group and instance norm for NumPy by the compiled core, in blocks of rows.

A row is what has one mean, and consists of pieces whose elements lie one behind the other: of
[N, G, K, L] it is a group, of K channels; of [N, C, L] it is a channel, of N images.  Numbers for
rows and pieces are small arrays, worked out by NumPy in float64.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from autograd_gpu.backends.numpy_functions import dense
from autograd_gpu.backends.numpy_rows import block_rows, for_rows
from autograd_gpu.extension import extension

Array = np.ndarray[Any, Any]

SHORT = 8
"""Elements of a piece below which NumPy's loops over whole images take less time."""


def is_compiled(x: Array, g: Array | None = None) -> bool:
    """Whether the compiled core does it: there is one, and these are arrays [N, C, ...] of one type
    that it knows, with pieces that are long enough."""
    return (
        extension is not None
        and x.dtype.char in "fd"
        and x.dtype.isnative
        and x.size > 0
        and prod(x.shape[2:]) >= SHORT
        and x.__class__ is np.ndarray
        and (g is None or (g.dtype == x.dtype and g.__class__ is np.ndarray))
    )


class _Rows:
    """How many rows there are, of how many elements, and where their pieces lie."""

    def __init__(self, rows: int, pieces: int, length: int, row_stride: int, piece_stride: int):
        self.count, self.pieces, self.size = rows, pieces, pieces * length
        self.numbers = (pieces, length, row_stride, piece_stride)

    def at(self, s: slice, columns: int = 1) -> tuple[int, ...]:
        """The last arguments of the core's functions, for numbers in so many columns."""
        return (s.start, s.stop, *self.numbers, columns)

    def whole(self, s: slice) -> tuple[int, ...]:
        """The same for rows whose pieces follow each other, as one piece each."""
        return (s.start, s.stop, 1, self.size, self.size, 0, 1)

    def height(self) -> int:
        """Rows of a block: twice as many as NumPy's passes would take, of which there are fewer."""
        return block_rows(self.count, self.size // 2)


def _groups(x: Array, groups: int) -> _Rows:
    n, channels = x.shape[:2]
    length, pieces = prod(x.shape[2:]), channels // groups
    return _Rows(n * groups, pieces, length, pieces * length, length)


def _channels(x: Array) -> _Rows:
    n, channels = x.shape[:2]
    length = prod(x.shape[2:])
    return _Rows(channels, n, length, length, channels * length)


def groups_normalised(
    x: Array, weight: Array | None, bias: Array | None, *, groups: int, eps: float
) -> tuple[Array, Array, Array]:
    """The value of group norm, and the groups' means and variances [N * groups]."""
    x = dense(x)
    rows = _groups(x, groups)
    scale, shift = (_per_piece(v, rows) for v in (weight, bias))
    columns = 1 if scale is None and shift is None else rows.pieces
    moments = np.empty((3, rows.count))
    rounded = np.empty(rows.count, x.dtype)
    a, b = np.empty((2, rows.count, columns), x.dtype)
    y = np.empty_like(x)

    def block(i: int, s: slice) -> None:
        extension.pieces_moments(x, *moments, *rows.whole(s))
        rounded[s] = moments[0, s]
        inverse = 1 / np.sqrt(moments[1, s] + eps)[:, None]
        a[s] = scales = inverse if scale is None else inverse * scale[s]
        rest = (rounded[s] - moments[0, s])[:, None] * scales  # what rounding did to the mean
        b[s] = rest if shift is None else rest + shift[s]
        extension.pieces_scaled(x, y, rounded, a, b, *rows.at(s, columns))

    for_rows(rows.count, rows.height(), block)
    return y, rounded, moments[1].astype(x.dtype)


def group_norm_gradients(
    g: Array,
    x: Array,
    weight: Array | None,
    means: Array,
    variances: Array,
    needs_x: bool,
    *,
    groups: int,
    eps: float,
) -> tuple[Array | None, Array, Array]:
    """The gradients for `x`, where it is needed, and for weight and bias, [C].

    With h = g * weight and d = x - mean, that for `x` is
    (h - average(h) - d * inverse^2 * average(h * d)) * inverse.
    """
    g, x, means = dense(g), dense(x), dense(means)
    rows = _groups(x, groups)
    scale = _per_piece(weight, rows)
    inverses = 1 / np.sqrt(variances.astype(float) + eps)[:, None]
    total, along = np.empty((2, rows.count, rows.pieces))
    a = np.empty(along.shape, x.dtype)
    a[...] = inverses if scale is None else inverses * scale
    levels, slopes = np.empty((2, rows.count), x.dtype)
    grad = np.empty_like(x) if needs_x else None

    def block(i: int, s: slice) -> None:
        at = rows.at(s, rows.pieces)
        extension.pieces_sums(g, x, means, total, along, *at)
        along[s] *= inverses[s]
        if grad is not None:
            share = inverses[s, 0] / rows.size
            weights = 1.0 if scale is None else scale[s]
            levels[s] = (total[s] * weights).sum(1) * share
            slopes[s] = (along[s] * weights).sum(1) * share * inverses[s, 0]
            extension.pieces_combined(g, x, grad, means, a, levels, slopes, *at)

    for_rows(rows.count, rows.height(), block)
    of_weight, of_bias = (
        v.reshape(len(x), -1).sum(0).astype(x.dtype, copy=False) for v in (along, total)
    )
    return grad, of_weight, of_bias


def channel_statistics(x: Array) -> tuple[Array, Array]:
    """Mean and variance [C]."""
    x = dense(x)
    rows = _channels(x)
    moments = np.empty((3, rows.count))

    def block(i: int, s: slice) -> None:
        extension.pieces_moments(x, *moments, *rows.at(s))

    for_rows(rows.count, rows.height(), block)
    return moments[0].astype(x.dtype), moments[1].astype(x.dtype)


def channels_normalised(
    x: Array, mean: Array, inverse: Array, weight: Array | None, bias: Array | None
) -> Array:
    """(x - mean) * inverse * weight + bias, all but `x` [C]."""
    a = inverse if weight is None else inverse * weight
    b = np.zeros_like(mean) if bias is None else bias
    x, mean, a, b = (dense(v, x.dtype) for v in (x, mean, a, b))
    rows = _channels(x)
    y = np.empty_like(x)

    def block(i: int, s: slice) -> None:
        extension.pieces_scaled(x, y, mean, a, b, *rows.at(s))

    for_rows(rows.count, rows.height(), block)
    return y


def batch_norm_gradients(
    g: Array,
    x: Array,
    mean: Array,
    inverse: Array,
    weight: Array | None,
    needs_x: bool,
) -> tuple[Array | None, Array, Array]:
    """The gradients for `x`, where it is needed, and for weight and bias, [C]."""
    g, x, mean = dense(g), dense(x), dense(mean, x.dtype)
    rows = _channels(x)
    numbers = inverse if weight is None else inverse * weight
    a = dense(numbers, x.dtype)
    total, along = np.empty((2, rows.count))
    levels, slopes = np.empty((2, rows.count), x.dtype)
    grad = np.empty_like(x) if needs_x else None

    def block(i: int, s: slice) -> None:
        at = rows.at(s)
        extension.pieces_sums(g, x, mean, total, along, *at)
        along[s] *= inverse[s]
        if grad is not None:
            share = numbers[s] / rows.size
            levels[s] = total[s] * share
            slopes[s] = along[s] * share * inverse[s]
            extension.pieces_combined(g, x, grad, mean, a, levels, slopes, *at)

    for_rows(rows.count, rows.height(), block)
    return grad, along.astype(x.dtype), total.astype(x.dtype)


def _per_piece(numbers: Array | None, rows: _Rows) -> Array | None:
    """[C] as [N * groups, C / groups]."""
    if numbers is None:
        return None
    images = rows.count * rows.pieces // len(numbers)
    return np.tile(numbers, images).reshape(rows.count, rows.pieces)
