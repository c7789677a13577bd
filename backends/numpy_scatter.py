"""Scatter-add for NumPy: repeated indices are sorted and summed, in a fixed order."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from autograd_gpu.backends.indexing import is_basic, select

Array = np.ndarray[Any, Any]


def scatter_add(g: Array, index: Any, shape: tuple[int, ...]) -> Array:
    """Zeros of `shape` with `g` added at `index`; repeated indices add up.

    `g` has the shape of `zeros[index]`, the result the dtype of `g`.  Half types are summed in
    float32.  The order of summation depends on the indices only, so results are reproducible.
    Indices out of range wrap around: they were checked when `x[index]` was computed.
    """
    if type(index) is slice:
        return _assign(g, index, shape)
    # the usual case first: integer arrays for the leading axes, as in x[i] and x[rows, columns]
    arrays = index if type(index) is tuple else (index,)
    if all(type(i) is np.ndarray and i.dtype.kind in "iu" for i in arrays):
        k = len(arrays)
        dims = shape[:k]
        if 0 < k <= len(shape) and 0 not in dims and g.size:
            ids = np.ravel_multi_index(arrays, dims, mode="wrap").reshape(-1)
            out = np.empty(shape, g.dtype)
            width = g.size // ids.size
            _sum_rows(ids, g.reshape(-1, width), out.reshape(-1, width))
            return out
    if is_basic(index):
        return _assign(g, index, shape)
    selection = select(index, shape, _as_index)
    if selection is None:
        return _assign(g, index, shape)
    return _scatter(g, selection, shape)


def _assign(g: Array, index: Any, shape: tuple[int, ...]) -> Array:
    out = np.zeros(shape, g.dtype)
    out[index] = g
    return out


def _as_index(entry: Any) -> Array:
    array = np.asarray(entry)
    # an empty list is a float64 array to NumPy, and indexes nothing
    return array if array.size or array.dtype.kind in "iub" else array.astype(np.intp)


def _scatter(g: Array, selection: Any, shape: tuple[int, ...]) -> Array:
    dims = tuple(shape[axis] for axis in selection.array_axes)
    k = len(dims)
    order = (*selection.array_axes, *selection.rest_axes)
    out = np.zeros(shape, g.dtype)
    target = out.transpose(order)[(slice(None),) * k + selection.rest]
    arrays = np.broadcast_arrays(*selection.arrays)
    n, nb = arrays[0].size, arrays[0].ndim
    first = selection.position
    front = range(first, first + nb)
    g = g.transpose(*front, *(axis for axis in range(g.ndim) if axis not in front))
    size, width = prod(dims), prod(target.shape[k:])
    if n == 0 or size == 0 or width == 0:
        return out
    ids = np.ravel_multi_index(arrays, dims, mode="wrap").reshape(n)
    if target.flags.c_contiguous and target.size == out.size:
        _sum_rows(ids, g.reshape(n, width), out.reshape(size, width))
    else:
        sums = np.empty((size, width), g.dtype)
        _sum_rows(ids, g.reshape(n, width), sums)
        target[...] = sums.reshape(target.shape)
    return out


def _sum_rows(ids: Array, g: Array, out: Array) -> None:
    """`out[i]` = the sum of the rows of `g` [n, width] whose id is i."""
    n, width = g.shape
    if n * width == 0:
        out[...] = 0
    elif g.dtype.kind == "f" and _counting_is_faster(n, width, out.size):
        if width > 1:
            ids = (ids[:, None] * width + np.arange(width)).reshape(-1)
        # bincount adds one after the other, in float64
        out[...] = np.bincount(ids, g.reshape(-1), out.size).reshape(out.shape)
    elif n < 64 or width < 16 or (g.dtype.itemsize == 2 and g.dtype.kind in "fV"):
        out[...] = 0
        targets, sums = _segment_sums(ids, g, len(out))
        out[targets] = sums
    else:
        _write_then_add(ids, g, out)


def _counting_is_faster(n: int, width: int, size: int) -> bool:
    return width == 1 or (size <= 4 * n * width and (width <= 8 or n * width <= 512))


def _write_then_add(ids: Array, g: Array, out: Array) -> None:
    """The same where few ids repeat: one write of all rows, of which the last with an id stays, and
    then the others are sorted and added."""
    places = np.arange(len(ids))
    last = np.empty(len(out), np.intp)
    last[ids] = places
    others = (last.take(ids) != places).nonzero()[0]
    out[...] = 0
    if 2 * len(others) > len(ids):
        targets, sums = _segment_sums(ids, g, len(out))
        out[targets] = sums
        return
    out[ids] = g
    if len(others):
        targets, sums = _segment_sums(ids.take(others), g.take(others, 0), len(out))
        out[targets] += sums


def _segment_sums(ids: Array, g: Array, size: int) -> tuple[Array, Array]:
    """The distinct ids, which are below `size`, and the sums of their rows of `g`."""
    # 16-bit keys are sorted by their digits, in a third of the time
    keys = ids.astype(np.uint16) if size <= 1 << 16 else ids
    order = keys.argsort(kind="stable")
    ids = ids[order]
    is_first = np.empty(len(ids), np.bool_)
    is_first[0] = True
    np.not_equal(ids[1:], ids[:-1], is_first[1:])
    starts = is_first.nonzero()[0]
    targets = ids[starts]
    accumulator = np.dtype(np.float32) if g.dtype.itemsize == 2 and g.dtype.kind in "fV" else None
    if len(starts) * 4 < len(ids):
        rows = g.take(order, 0)
        if accumulator is not None:
            rows = rows.astype(accumulator)
        return targets, np.add.reduceat(rows, starts, 0)
    # reduceat takes 0.3 us a segment.  Where most are short, adding the first rows of all
    # segments, then the second rows, and so on is faster.
    counts = np.diff(starts, append=len(ids))
    sums = g.take(order[starts], 0)
    if accumulator is not None:
        sums = sums.astype(accumulator)
    live = (counts > 1).nonzero()[0]
    done = 1
    while len(live):
        if done == 4:
            tail = np.repeat(np.arange(len(starts)), counts)
            within = np.arange(len(ids)) - starts[tail]
            rest = within >= done
            rows = g.take(order[rest], 0)
            left = counts[live] - done
            begin = np.cumsum(left) - left
            if accumulator is not None:
                rows = rows.astype(accumulator)
            sums[live] += np.add.reduceat(rows, begin, 0)
            break
        sums[live] += g.take(order[starts[live] + done], 0)
        done += 1
        live = live[counts[live] > done]
    return targets, sums
