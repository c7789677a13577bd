"""Layer norm and softmax cross-entropy for NumPy, in blocks of rows that stay in the cache.

Sums along an axis are dot products with ones, which are several times as fast as np.sum; whole
matrix products would wake the threads of BLAS, which then compete with those that share the blocks.
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
"""Elements of a block; a few such blocks fit into a core's second-level cache."""


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
    scale, shift = _tiled(weight, rows, width, compute), _tiled(bias, rows, width, compute)
    averager = _averager(width, compute)
    y = np.empty(x.shape, x.dtype)
    kept = np.empty((2, len(x)), compute)

    def block(i: int, s: slice) -> None:
        part = x[s].astype(compute, copy=False)
        mean, inverse = kept[:, s]
        out = y[s] if compute == y.dtype else scratch("block", part.shape, compute)
        np.vecdot(part, averager, mean)
        np.subtract(part, mean[:, None], out)
        np.multiply(np.vecdot(out, out), averager[:1], inverse)
        inverse += eps
        np.sqrt(inverse, inverse)
        np.divide(1, inverse, inverse)
        np.multiply(out, inverse[:, None], out)
        if scale is not None:
            np.multiply(out, scale[: len(out)], out)
        if shift is not None:
            np.add(out, shift[: len(out)], out)
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
    scale = _tiled(weight, rows, width, compute)
    averager = _averager(width, compute)
    if scale is not None:
        averager *= scale[0]

    def block(i: int, s: slice) -> None:
        gs = g[s].astype(compute, copy=False)
        if grad_bias is not None:
            np.add.reduce(gs, 0, None, grad_bias[i])
        if grad_weight is None and grad_x is None:
            return
        mean, inverse = kept[:, s]
        # With d = x - mean and h = g * weight, the gradient for x is
        # (h - average(h) - d * inverse^2 * average(h * d)) * inverse.
        d = scratch("block", gs.shape, compute)
        t = scratch("product", gs.shape, compute)
        np.subtract(x[s], mean[:, None], d)
        np.multiply(gs, d, t)
        if grad_weight is not None:
            np.einsum("i,ij->j", inverse, t, out=grad_weight[i])
        if grad_x is not None:
            along = np.vecdot(t, averager)
            along *= inverse
            along *= inverse
            np.multiply(d, along[:, None], d)
            if scale is None:
                np.subtract(gs, d, t)
            else:
                np.multiply(gs, scale[: len(gs)], t)
                np.subtract(t, d, t)
            np.subtract(t, np.vecdot(gs, averager)[:, None], t)
            np.multiply(t, inverse[:, None], grad_x[s], casting="same_kind")

    _for_rows(len(x), rows, block)
    return (
        None if grad_x is None else grad_x.reshape(shape),
        None if grad_weight is None else np.add.reduce(grad_weight, 0).reshape(normal),
        None if grad_bias is None else np.add.reduce(grad_bias, 0).reshape(normal),
    )


def _tiled(x: Array | None, rows: int, width: int, dtype: np.dtype[Any]) -> Array | None:
    """`x` repeated `rows` times: whole blocks multiply twice as fast as a broadcast row."""
    if x is None:
        return None
    return np.broadcast_to(x.reshape(width), (rows, width)).astype(dtype, order="C")


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
