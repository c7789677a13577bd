"""Layer norm for NumPy, in blocks of rows that stay in the cache.

A block is read from memory once, by a function that streams, and its result is written once.  Sums
along an axis are products, which are several times as fast as np.sum.  What scales or shifts whole
rows is either a `Combination`, or written down as a product of a few columns and rows, since NumPy
takes twice as long where a column is broadcast.  All products are of a size for which BLAS stays in
the thread that asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from autograd_gpu.backends.numpy_combination import NARROWEST, WIDEST, Combination
from autograd_gpu.backends.numpy_rows import block_rows, compute_dtype, for_rows
from autograd_gpu.backends.scratch import scratch

Array = np.ndarray[Any, Any]

ENOUGH = 16
"""Blocks from which on the forward joins them by twos: fewer calls, and still some per thread."""


def layer_norm(
    x: Array, weight: Array | None, bias: Array | None, *, count: int, eps: float
) -> tuple[Array, Any]:
    """`x` normalised over its last `count` axes, times `weight`, plus `bias`; and what
    `layer_norm_gradients` gets as `kept`: the rows' means and inverse deviations."""
    shape, width = x.shape, prod(x.shape[x.ndim - count :])
    x = x.reshape(-1, width)
    compute = compute_dtype(x.dtype)
    rows = block_rows(len(x), width)
    share, one, least = (np.array(v, compute) for v in (1 / max(1, width), 1, eps))
    averager = np.full(width, share)
    scale = pair(1 if weight is None else weight.reshape(width), 0, width, compute)
    shift = pair(scale[0], 0 if bias is None else bias.reshape(width), width, compute)
    combine = None
    if pays(x, rows, compute):
        if len(x) >= ENOUGH * rows:
            rows *= 2
        fixed = shift[:1] if bias is None else shift
        combine = Combination(scale[:1], fixed, rows, width, compute)
    y = np.empty(shape, x.dtype)
    by_row = y.reshape(x.shape)
    kept = np.empty((2, len(x)), compute)
    means, inverses = kept

    def block(i: int, s: slice) -> None:
        part = x[s].astype(compute, copy=False)
        columns = np.empty((3, len(part)), compute)
        inverse, offset, constant = columns
        constant[...] = 1
        np.vecdot(part, part, inverse)  # of all functions the best at fetching `part` from memory
        np.multiply(inverse, share, inverse)
        mean = np.vecdot(part, averager, means[s])
        square = mean * mean
        np.subtract(inverse, square, inverse)
        if np.logical_and.reduce(square <= inverse):
            np.negative(mean, offset)
        else:  # digits would cancel
            part = np.subtract(part, mean[:, None], scratch("centred", part.shape, compute))
            rest = np.vecdot(part, averager)  # what rounding left out of the mean
            np.vecdot(part, part, inverse)
            np.multiply(inverse, share, inverse)
            np.subtract(inverse, rest * rest, inverse)
            np.maximum(inverse, 0, out=inverse)
            np.add(mean, rest, mean)
            np.negative(rest, offset)
        np.add(inverse, least, inverse)
        np.sqrt(inverse, inverse)
        np.divide(one, inverse, inverse)
        np.multiply(offset, inverse, offset)
        inverses[s] = inverse
        out = by_row[s] if compute == y.dtype else scratch("block", part.shape, compute)
        if combine is not None:
            combine(columns[: combine.terms], [part], out)
        else:
            t = scratch("product", part.shape, compute)
            outer(inverse, scale, t)
            np.multiply(part, t, out)
            np.matmul(columns[1:].T, shift, t)
            np.add(out, t, out)
        if compute != y.dtype:
            by_row[s] = out

    for_rows(len(x), rows, block)
    return y, kept


def layer_norm_gradients(
    g: Array,
    x: Array,
    weight: Array | None,
    kept: Array,
    needs: Sequence[bool],
    *,
    count: int,
    eps: float,
) -> tuple[Array | None, Array | None, Array | None]:
    """The gradients for `x`, `weight` and the bias of `layer_norm`, where they are needed.

    `kept` is what `layer_norm` returned beside its value; `eps` is in it.
    """
    shape, normal = x.shape, x.shape[x.ndim - count :]
    width = prod(normal)
    x, g = x.reshape(-1, width), g.reshape(-1, width)
    compute = compute_dtype(x.dtype)
    needs_x, needs_weight, needs_bias = needs
    grad_x = np.empty(shape, x.dtype) if needs_x else None
    by_row = None if grad_x is None else grad_x.reshape(x.shape)
    rows = block_rows(len(x), width)
    # every block's sums, which are added up in their order
    parts = max(1, -(-len(x) // rows))
    grad_weight = np.empty((parts, width), compute) if needs_weight else None
    grad_bias = np.empty((parts, width), compute) if needs_bias else None
    ones = scale = pair(1, 0, width, compute)
    if weight is not None:
        scale = pair(weight.reshape(width), 0, width, compute)
    averager = np.zeros((width, 2), compute)  # in C order: BLAS is slower at the other one
    np.multiply(scale[0], 1 / max(1, width), averager[:, 0])
    scaled = weight is not None or needs_weight
    combine = None
    if needs_x and pays(x, rows, compute):
        factor = None if weight is None else scale[0]
        combine = Combination([factor, None], ones[:1], rows, width, compute)
    means, inverses = kept
    # of all rows at once: a call takes as long as its work on the rows of a block
    squares = inverses * inverses  # times the deviations before the third one: it would underflow
    is_near = np.abs(means * inverses) <= 1
    all_near = bool(np.logical_and.reduce(is_near))

    def block(i: int, s: slice) -> None:
        gs = g[s].astype(compute, copy=False)
        part = x[s].astype(compute, copy=False)
        mean, inverse = means[s], inverses[s]
        if not (all_near or np.logical_and.reduce(is_near[s])):  # digits would cancel
            part = np.subtract(part, mean[:, None], scratch("centred", part.shape, compute))
            mean = np.zeros_like(mean)
        # First of all, since BLAS is slow where it has to fetch `gs` from memory; and what reads
        # `t` comes before what reads `gs` again, so that both are in the nearer cache.
        t = scratch("product", gs.shape, compute)
        if scaled:
            np.multiply(gs, part, t)
        if grad_weight is not None:
            along_rows = (pair(inverse, 0, len(gs), compute) @ t)[0]
        if by_row is not None:
            along = (t @ averager)[:, 0] if scaled else np.vecdot(gs, part) * averager[0, 0]
        if needs_weight or needs_bias:
            sums = pair(1, mean * inverse, len(gs), compute) @ gs
            if grad_bias is not None:
                grad_bias[i] = sums[0]
            if grad_weight is not None:
                np.subtract(along_rows, sums[1], grad_weight[i])
        if by_row is None:
            return
        # With h = g * weight and d = x - mean, the gradient for x is
        # (h - average(h) - d * inverse^2 * average(h * d)) * inverse: a multiple of h, less one of
        # x, and a number for each row.
        average = (gs @ averager)[:, 0]
        columns = np.empty((3, len(gs)), compute)
        columns[0] = inverse
        np.subtract(mean * average, along, along)
        np.multiply(along, inverse, along)
        np.multiply(along, squares[s], columns[1])
        np.multiply(mean, columns[1], along)
        np.multiply(inverse, average, average)
        np.add(along, average, along)
        np.negative(along, columns[2])
        if combine is not None:
            out = by_row[s] if compute == x.dtype else scratch("block", gs.shape, compute)
            combine(columns, [gs, part], out)
            if compute != x.dtype:
                by_row[s] = out
        else:
            out = scratch("block", gs.shape, compute)
            outer(columns[0], scale, out)
            np.multiply(out, gs, out)
            outer(columns[1], ones, t)
            np.multiply(t, part, t)
            np.add(out, t, out)
            outer(columns[2], ones, t)
            np.add(out, t, by_row[s], casting="same_kind")

    for_rows(len(x), rows, block)
    return grad_x, total(grad_weight, normal), total(grad_bias, normal)


def outer(column: Array, row: Array, out: Array) -> None:
    """Write the products of a column and of the first of two rows, whose second is zero."""
    np.matmul(pair(column, 0, len(column), column.dtype).T, row, out)


def pays(x: Array, rows: int, dtype: np.dtype[Any]) -> bool:
    """Whether a `Combination` does: its summands are one more pass, too slow in float64."""
    return len(x) > rows >= 4 and dtype.itemsize == 4 and NARROWEST <= x.shape[1] <= WIDEST


def pair(first: Any, second: Any, width: int, dtype: np.dtype[Any]) -> Array:
    """Two rows [2, width]: a product of columns and rows is slow for one of each."""
    rows = np.empty((2, width), dtype)
    rows[0] = first
    rows[1] = second
    return rows


def total(parts: Array | None, shape: tuple[int, ...]) -> Array | None:
    """The sum of [parts, width] in `shape`, in an array of its own: a gradient that is a view is
    copied when it is handed to a leaf."""
    if parts is None or len(shape) == 1:
        return None if parts is None else np.add.reduce(parts, 0)
    total = np.empty(shape, parts.dtype)
    np.add.reduce(parts, 0, None, total.reshape(-1))
    return total
