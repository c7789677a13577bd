"""Layer norm and softmax cross-entropy for NumPy, in blocks of rows that stay in the cache.

Sums along an axis are products with ones, which are several times as fast as np.sum.  What scales
or shifts whole rows is written down as a product of a few columns and rows, since NumPy takes twice
as long where a column is broadcast.  BLAS computes products of this size in the thread that asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from autograd_gpu.backends.scratch import scratch
from autograd_gpu.threads import share

Array = np.ndarray[Any, Any]

BLOCK = 1 << 17
"""Elements of a block: few calls for much work, and two float32 blocks fit into a second-level
cache of 1 MiB.  For twice as many OpenBLAS would begin to spread products over threads."""


def _block_rows(n: int, width: int) -> int:
    return max(1, min(n, BLOCK // max(1, width)))


def _compute_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(np.float32) if dtype.itemsize == 2 else dtype


def _for_rows(n: int, rows: int, work: Callable[[int, slice], object]) -> None:
    """`work(i, s)` for the slices s of `rows` rows each, on several threads if there are many."""
    if n <= rows:
        work(0, slice(0, n))
    else:
        share(lambda i: work(i, slice(i * rows, min((i + 1) * rows, n))), -(-n // rows))


def layer_norm(
    x: Array, weight: Array | None, bias: Array | None, *, count: int, eps: float
) -> tuple[Array, Any]:
    """`x` normalised over its last `count` axes, times `weight`, plus `bias`; and what
    `layer_norm_gradients` gets as `kept`: the rows' means and inverse deviations."""
    shape, width = x.shape, prod(x.shape[x.ndim - count :])
    x = x.reshape(-1, width)
    compute = _compute_dtype(x.dtype)
    rows = _block_rows(len(x), width)
    averager = _averager(width, compute)
    scale = _pair(1 if weight is None else weight.reshape(width), 0, width, compute)
    shift = _pair(scale[0], 0 if bias is None else bias.reshape(width), width, compute)
    y = np.empty(x.shape, x.dtype)
    kept = np.empty((2, len(x)), compute)

    def block(i: int, s: slice) -> None:
        part = x[s].astype(compute, copy=False)
        mean, inverse = kept[:, s]
        np.vecdot(part, averager, mean)
        offset = mean.copy()
        square = mean * mean
        np.multiply(np.vecdot(part, part), averager[:1], inverse)
        np.subtract(inverse, square, inverse)
        if not (square <= inverse).all():  # digits would cancel
            part = np.subtract(part, mean[:, None], scratch("centred", part.shape, compute))
            offset = np.zeros_like(mean)
            np.multiply(np.vecdot(part, part), averager[:1], inverse)
        np.add(inverse, eps, inverse)
        np.sqrt(inverse, inverse)
        np.divide(1, inverse, inverse)
        pairs = np.ones((2, 2, len(part)), compute)
        pairs[0, 0] = inverse
        np.multiply(offset, inverse, offset)
        np.negative(offset, pairs[1, 0])
        t = scratch("product", part.shape, compute)
        out = y[s] if compute == y.dtype else scratch("block", part.shape, compute)
        np.matmul(pairs[0].T, scale, t)
        np.multiply(part, t, out)
        np.matmul(pairs[1].T, shift, t)
        np.add(out, t, out)
        if compute != y.dtype:
            y[s] = out

    _for_rows(len(x), rows, block)
    return y.reshape(shape), kept


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
    compute = _compute_dtype(x.dtype)
    needs_x, needs_weight, needs_bias = needs
    grad_x = np.empty(x.shape, x.dtype) if needs_x else None
    rows = _block_rows(len(x), width)
    # every block's sums, which are added up in their order
    parts = max(1, -(-len(x) // rows))
    grad_weight = np.empty((parts, width), compute) if needs_weight else None
    grad_bias = np.empty((parts, width), compute) if needs_bias else None
    averager = _averager(width, compute)
    ones = _pair(1, 0, width, compute)
    scale = ones
    if weight is not None:
        scale = _pair(weight.reshape(width), 0, width, compute)
        averager *= scale[0]

    def block(i: int, s: slice) -> None:
        gs = g[s].astype(compute, copy=False)
        part = x[s].astype(compute, copy=False)
        mean, inverse = kept[:, s]
        offset = mean * inverse
        if not (np.abs(offset) <= 1).all():  # digits would cancel
            part = np.subtract(part, mean[:, None], scratch("centred", part.shape, compute))
            mean = offset = np.zeros_like(mean)
        # Sums over the rows and products of columns with rows, two at a time: BLAS is slow at less.
        pairs = np.zeros((4, 2, len(gs)), compute)
        pairs[0] = 1
        pairs[0, 1] = offset
        pairs[1, 0] = inverse
        # first of all, since BLAS is slow too where it has to fetch `gs` from memory
        t = np.multiply(gs, part, scratch("product", gs.shape, compute))
        sums = pairs[0] @ gs
        if grad_bias is not None:
            grad_bias[i] = sums[0]
        if grad_weight is not None:
            np.subtract((pairs[1] @ t)[0], sums[1], grad_weight[i])
        if grad_x is None:
            return
        # With h = g * weight and d = x - mean, the gradient for x is
        # (h - average(h) - d * inverse^2 * average(h * d)) * inverse: a multiple of h, less one of
        # x, and a number for each row.
        average = np.vecdot(gs, averager)
        along = np.vecdot(t, averager) - mean * average
        along *= inverse
        along *= inverse
        along *= inverse
        np.negative(along, pairs[2, 0])
        np.subtract(mean * along, inverse * average, pairs[3, 0])
        out = scratch("block", gs.shape, compute)
        np.matmul(pairs[1].T, scale, out)
        np.multiply(out, gs, out)
        np.matmul(pairs[2].T, ones, t)
        np.multiply(t, part, t)
        np.add(out, t, out)
        np.matmul(pairs[3].T, ones, t)
        np.add(out, t, grad_x[s], casting="same_kind")

    _for_rows(len(x), rows, block)
    return (
        None if grad_x is None else grad_x.reshape(shape),
        None if grad_weight is None else np.add.reduce(grad_weight, 0).reshape(normal),
        None if grad_bias is None else np.add.reduce(grad_bias, 0).reshape(normal),
    )


def _pair(first: Any, second: Any, width: int, dtype: np.dtype[Any]) -> Array:
    """Two rows [2, width]: a product of columns and rows is slow for one of each."""
    rows = np.empty((2, width), dtype)
    rows[0] = first
    rows[1] = second
    return rows


def _averager(width: int, dtype: np.dtype[Any]) -> Array:
    return np.full(width, 1 / max(1, width), dtype)


def softmax_cross_entropy(x: Array, target: Array) -> tuple[Array, Array, Any]:
    """Of each row of `x` [rows, width]: log(sum(exp(x))), the element in column `target`, and what
    `softmax_less_picked` gets as `kept`."""
    n, width = x.shape
    compute = _compute_dtype(x.dtype)
    ones = np.ones(width, compute)
    total = np.empty(n, compute)
    top = np.empty(n, compute)
    exps = np.empty(x.shape, compute)

    def block(i: int, s: slice) -> None:
        e = exps[s]
        np.maximum.reduce(x[s], 1, out=top[s], initial=-np.inf)
        np.subtract(x[s], top[s, None], e)
        np.exp(e, e)
        np.vecdot(e, ones, total[s])

    _for_rows(n, _block_rows(n, width), block)
    result = np.log(total)
    result += top
    picked = x[np.arange(n), target]
    return result.astype(x.dtype, copy=False), picked, (exps, total)


def softmax_less_picked(
    x: Array, kept: tuple[Array, Array], scale: Array, target: Array, picked: Array
) -> Array:
    """softmax of the rows of `x` times `scale`, less `picked` in each row's column `target`."""
    exps, total = kept
    n, width = x.shape
    out = np.empty(x.shape, exps.dtype)
    factor = scale / total

    def block(i: int, s: slice) -> None:
        part = out[s]
        np.multiply(exps[s], factor[s, None], part)
        part[np.arange(len(part)), target[s]] -= picked[s]

    _for_rows(n, _block_rows(n, width), block)
    return out.astype(x.dtype, copy=False)


def check_indices(indices: Array, size: int) -> None:
    """Raise IndexError where an index is not in [0, size)."""
    if not indices.size:
        return
    if indices.dtype == np.int64:
        outside = int(indices.view(np.uint64).max()) >= size
    else:
        outside = bool(indices.min() < 0 or indices.max() >= size)
    if outside:
        wrong = indices[(indices < 0) | (indices >= size)]
        raise IndexError(f"{wrong[0]} is outside [0, {size})")


def check_range(x: Array, low: float, high: float) -> None:
    """Raise ValueError where an element is not in [low, high]."""
    if x.size and (x.min() < low or x.max() > high):
        raise ValueError(f"{x[(x < low) | (x > high)][0]} is outside [{low}, {high}]")
