"""Blocks of rows that stay in the cache, and softmax cross-entropy for NumPy in such blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autograd_gpu.threads import share

Array = np.ndarray[Any, Any]

BLOCK = 1 << 17
"""Elements of a block: few calls for much work, and two float32 blocks fit into a second-level
cache of 1 MiB.  For twice as many OpenBLAS would begin to spread products over threads."""


MODERATE = 16.0
"""Numbers up to which softmax needs no shift: sums of exp are then so far from what float32 can
hold that their inverse times the gradient of a loss is too."""


def block_rows(n: int, width: int) -> int:
    """Rows of a block: where it can be, a multiple of what `Combination` takes at a time."""
    rows = BLOCK // max(1, width)
    return max(1, min(n, rows - rows % 4 if rows > 8 else rows))


def compute_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(np.float32) if dtype.itemsize == 2 else dtype


def for_rows(n: int, rows: int, work: Callable[[int, slice], object]) -> None:
    """`work(i, s)` for the slices s of `rows` rows each, on several threads if there are many."""
    if n <= rows:
        work(0, slice(0, n))
    else:
        share(lambda i: work(i, slice(i * rows, min((i + 1) * rows, n))), -(-n // rows))


def softmax_cross_entropy(x: Array, target: Array) -> tuple[Array, Array, Any]:
    """Of each row of `x` [rows, width]: log(sum(exp(x))), the element in column `target`, and what
    `softmax_less_picked` gets as `kept`."""
    n, width = x.shape
    compute = compute_dtype(x.dtype)
    ones = np.ones(width, compute)
    total = np.empty(n, compute)
    top = np.empty(n, compute)
    exps = np.empty(x.shape, compute)

    def block(i: int, s: slice) -> None:
        e, part = exps[s], x[s]
        if part.dtype == compute and _is_moderate(part):
            top[s] = 0
            np.exp(part, e)
        else:
            np.maximum.reduce(part, 1, out=top[s], initial=-np.inf)
            np.subtract(part, top[s, None], e)
            np.exp(e, e)
        np.vecdot(e, ones, total[s])

    for_rows(n, block_rows(n, width), block)
    result = np.log(total)
    result += top
    picked = x[np.arange(n), target]
    np.maximum(result, picked, out=result)  # rounding may have made it less
    return result.astype(x.dtype, copy=False), picked, (exps, total)


def _is_moderate(x: Array) -> bool:
    """Whether exp(x) can be added up as it is.

    The extremes of a whole block take a quarter of the time of its rows' maxima and a difference.
    """
    return bool(
        x.size
        and np.maximum.reduce(x, None) <= MODERATE
        and np.minimum.reduce(x, None) >= -MODERATE
    )


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

    for_rows(n, block_rows(n, width), block)
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
