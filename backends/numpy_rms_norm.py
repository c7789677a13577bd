"""RMS norm for NumPy: as `numpy_layer_norm`, with no mean to be taken off."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from autograd_gpu.backends.numpy_combination import Combination
from autograd_gpu.backends.numpy_layer_norm import pair, pays, total
from autograd_gpu.backends.numpy_rows import block_rows, compute_dtype, for_rows
from autograd_gpu.backends.scratch import scratch

Array = np.ndarray[Any, Any]


SMALL = 8192
"""Elements up to which the general form takes less time."""


def rms_normalised(x: Array, weight: Array | None, *, count: int, eps: float) -> Any:
    """`x` over the root of the mean of its squares over its last `count` axes, times `weight`, and
    one over the roots, with 1 for each of these axes; NotImplemented for a few numbers."""
    if is_small(x):
        return NotImplemented
    shape, width = x.shape, prod(x.shape[x.ndim - count :])
    x = x.reshape(-1, width)
    compute = compute_dtype(x.dtype)
    rows = block_rows(len(x), width)
    share = np.full(1, 1 / max(1, width), compute)
    scale = pair(1 if weight is None else weight.reshape(width), 0, width, compute)
    y = np.empty(shape, x.dtype)
    by_row = y.reshape(x.shape)
    inverses = np.empty((*shape[: len(shape) - count], *[1] * count), compute)
    flat = inverses.reshape(-1)

    def block(i: int, s: slice) -> None:
        part, inverse = x[s].astype(compute, copy=False), flat[s]
        np.multiply(np.vecdot(part, part), share, inverse)
        np.add(inverse, eps, inverse)
        np.sqrt(inverse, inverse)
        np.divide(1, inverse, inverse)
        t = scratch("product", part.shape, compute)
        np.matmul(pair(inverse, 0, len(part), compute).T, scale, t)
        np.multiply(part, t, by_row[s], casting="same_kind")

    for_rows(len(x), rows, block)
    return y, inverses


def rms_norm_gradients(
    g: Array, x: Array, weight: Array | None, inverse: Array, needs: Sequence[bool], *, count: int
) -> Any:
    """The gradients of `rms_normalised` for `x` and `weight`, where they are needed."""
    if is_small(x):
        return NotImplemented
    shape, normal = x.shape, x.shape[x.ndim - count :]
    width = prod(normal)
    x, g, inverses = x.reshape(-1, width), g.reshape(-1, width), inverse.reshape(-1)
    compute = compute_dtype(x.dtype)
    grad_x = np.empty(shape, x.dtype) if needs[0] else None
    by_row = None if grad_x is None else grad_x.reshape(x.shape)
    rows = block_rows(len(x), width)
    grad_weight = np.empty((max(1, -(-len(x) // rows)), width), compute) if needs[1] else None
    weights = np.full(width, 1 / max(1, width), compute)
    ones = scale = pair(1, 0, width, compute)
    if weight is not None:
        scale = pair(weight.reshape(width), 0, width, compute)
        weights *= scale[0]
    scaled = weight is not None or needs[1]
    combine = None
    if by_row is not None and pays(x, rows, compute):
        factor = None if weight is None else scale[0]
        combine = Combination([factor, None], [], rows, width, compute)

    def block(i: int, s: slice) -> None:
        gs = g[s].astype(compute, copy=False)
        part = x[s].astype(compute, copy=False)
        pairs = np.zeros((3, 2, len(gs)), compute)
        inverse = pairs[1, 0] = inverses[s]
        t = scratch("product", gs.shape, compute)
        if scaled:
            np.multiply(gs, part, t)
        if grad_weight is not None:
            grad_weight[i] = (pairs[1] @ t)[0]
        if by_row is None:
            return
        # (h - n * average(h * n)) * inverse, with h = g * weight and n = x * inverse
        along = np.vecdot(t, weights) if scaled else np.vecdot(gs, part) * weights[:1]
        along *= inverse
        along *= inverse
        along *= inverse
        np.negative(along, pairs[2, 0])
        out = scratch("block", gs.shape, compute)
        if combine is not None:
            out = by_row[s] if compute == x.dtype else out
            combine(pairs[1:, 0], [gs, part], out)
            if compute != x.dtype:
                by_row[s] = out
        else:
            np.matmul(pairs[1].T, scale, out)
            np.multiply(out, gs, out)
            np.matmul(pairs[2].T, ones, t)
            np.multiply(t, part, t)
            np.add(out, t, by_row[s], casting="same_kind")

    for_rows(len(x), rows, block)
    return grad_x, total(grad_weight, normal)


def is_small(x: Array) -> bool:
    """Whether the general form is to be taken, which adds up halves as they are."""
    return x.size <= SMALL and x.dtype.itemsize > 2
