"""Blocks of rows that stay in the cache, and softmax cross-entropy for NumPy in such blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autograd_gpu.backends.numpy_sums import PRODUCT
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


def _in_blocks(block: Callable[..., None], first: Array, *others: Array) -> None:
    """`block` on the arrays, of as many rows each, or on one block of rows after the other."""
    n, width = first.shape
    rows = block_rows(n, width)
    if n <= rows:
        block(first, *others)
    else:
        for_rows(n, rows, lambda i, s: block(first[s], *[x[s] for x in others]))


def checked_labels(logits: Array, target: Array, ignore_index: int) -> tuple[Array, Array]:
    """Labels with 0 for those equal to `ignore_index`, and 0 for these and 1 for others in the
    dtype that losses of `logits` [rows, width] are added up in."""
    width, dtype = logits.shape[1], compute_dtype(logits.dtype)
    if not 0 <= ignore_index < width and _are_in(target, width):
        return target.copy(), np.ones(target.shape, dtype)
    is_kept = target != ignore_index
    target = np.where(is_kept, target, 0)
    check_indices(target, width)
    return target, is_kept.astype(dtype)


def weighted_mean(rows: Array, factor: Array) -> tuple[Any, Any]:
    """The sum of `rows` [n] over that of `factor` [n], NaN where that is 0, and what a gradient is
    divided by."""
    total, count = np.add.reduce(rows), np.add.reduce(factor)
    if count == 0:
        return total.dtype.type(np.nan), count.dtype.type(1)
    return total / count, count


def softmax_cross_entropy(x: Array, target: Array) -> tuple[Array, Array, Any]:
    """Of each row of `x` [rows, width]: log(sum(exp(x))), the element in column `target`, and what
    `softmax_less_picked` gets as `kept`."""
    n, width = x.shape
    compute = compute_dtype(x.dtype)
    ones = np.ones(width, compute)
    total, result, picked = np.empty(n, compute), np.empty(n, compute), np.empty(n, x.dtype)
    exps = np.empty(x.shape, compute)

    def block(
        x: Array, target: Array, e: Array, total: Array, result: Array, picked: Array
    ) -> None:
        is_moderate = x.dtype == compute and _is_moderate(x)
        if is_moderate:
            np.exp(x, e)
        else:
            top = np.maximum.reduce(x, 1, compute, initial=-np.inf)
            np.subtract(x, top[:, None], e)
            np.exp(e, e)
        # One product takes a third of the time of one for each row; a large one wakes threads.
        (np.dot if e.size <= PRODUCT else np.vecdot)(e, ones, total)
        np.log(total, result)
        if not is_moderate:
            np.add(result, top, result)
        picked[...] = x.reshape(-1)[_places(target, width)]
        np.maximum(result, picked, out=result)  # rounding may have made it less

    _in_blocks(block, x, target, exps, total, result, picked)
    return result.astype(x.dtype, copy=False), picked, (exps, total)


def _places(columns: Array, width: int) -> Array:
    """Where the element in each row's column is in a flat array: it is found there in a quarter of
    the time that a pair of indices takes."""
    places = np.arange(0, len(columns) * width, width or 1)
    return np.add(places, columns.astype(np.intp, copy=False), places)


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
    width = x.shape[1]
    out = np.empty(x.shape, exps.dtype)

    def block(e: Array, factor: Array, target: Array, picked: Array, out: Array) -> None:
        np.multiply(e, factor[:, None], out)
        out.reshape(-1)[_places(target, width)] -= picked

    _in_blocks(block, exps, scale / total, target, picked, out)
    return out.astype(x.dtype, copy=False)


def check_indices(indices: Array, size: int) -> None:
    """Raise IndexError where an index is not in [0, size)."""
    if not _are_in(indices, size):
        wrong = indices[(indices < 0) | (indices >= size)]
        raise IndexError(f"{wrong[0]} is outside [0, {size})")


def _are_in(indices: Array, size: int) -> bool:
    if not indices.size:
        return True
    if indices.dtype == np.int64:  # negative ones are large without a sign
        return int(np.maximum.reduce(indices.view(np.uint64), None)) < size
    return bool(indices.min() >= 0 and indices.max() < size)


def check_range(x: Array, low: float, high: float) -> None:
    """Raise ValueError where an element is not in [low, high]."""
    if x.size and (x.min() < low or x.max() > high):
        raise ValueError(f"{x[(x < low) | (x > high)][0]} is outside [{low}, {high}]")
