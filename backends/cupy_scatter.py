"""scatter_add for CuPy: sorted ids and segment sums, or atomics where the order may be any."""

from __future__ import annotations

from math import prod
from typing import Any

import cupy as cp
import numpy as np

from autograd_gpu.backends import cupy_settings
from autograd_gpu.backends.indexing import Selection, is_basic, select
from autograd_gpu.recorder import recorder

Array = Any

# CUDA's atomics add floats in no fixed order, and know neither half types nor complex numbers well.
# Where sums are to be the same every time, and for those types, the ids are sorted, each thread
# sums the runs of equal ids within CHUNK of them, and what runs across a chunk's border is left to
# the next, 16 times smaller, pass.
CHUNK = 32

# The modulo is what CuPy's gather does with an index out of range: it never leaves the array.
_WRAP = "const long long r = (long long)index % size, wrapped = r < 0 ? r + size : r;"
_first_ids = cp.ElementwiseKernel(
    "I index, int64 size, int64 base",
    "O id",
    _WRAP + "id = base + wrapped",
    "autograd_gpu_first_ids",
)
_next_ids = cp.ElementwiseKernel(
    "O outer, I index, int64 size",
    "O id",
    _WRAP + "id = outer * size + wrapped",
    "autograd_gpu_next_ids",
)

_sum_runs = cp.ElementwiseKernel(
    "raw I ids, raw int64 order, raw T rows, int64 n, int64 width, bool ordered",
    "raw I open_ids, raw A open_sums, raw O out",
    """
    const long long chunk = i / width, column = i % width;
    const long long begin = chunk * CHUNK, end = min(begin + CHUNK, n);
    long long id = ids[begin];
    bool open = begin > 0 && ids[begin - 1] == id, first = true;
    long long first_id = -1, last_id = -1;
    A first_sum = A(0), last_sum = A(0), sum = A(0);
    for (long long at = begin; at < end; at++) {
        const long long row = ordered ? order[at] : at;
        sum += A(rows[row * width + column]);
        const bool ends = at + 1 == end || ids[at + 1] != id;
        if (!ends) continue;
        const bool goes_on = at + 1 == end && end < n && ids[end] == id;
        if (open && first) {
            // the last slot continues the run, so that it stays in one piece
            first_id = id; first_sum = sum; last_id = goes_on ? id : -1;
        } else if (goes_on) {
            last_id = id; last_sum = sum;
        } else if (id >= 0) {
            out[id * width + column] = O(sum);
        }
        first = false;
        if (at + 1 < end) { id = ids[at + 1]; sum = A(0); }
    }
    if (column == 0) { open_ids[2 * chunk] = first_id; open_ids[2 * chunk + 1] = last_id; }
    open_sums[(2 * chunk) * width + column] = first_sum;
    open_sums[(2 * chunk + 1) * width + column] = last_sum;
    """,
    "autograd_gpu_sum_runs",
    preamble=f"#define CHUNK {CHUNK}",
)


_add_rows = cp.ElementwiseKernel(
    "raw I ids, raw T rows, int64 width",
    "raw T out",
    "atomicAdd(&out[(long long)ids[i / width] * width + i % width], T(rows[i]))",
    "autograd_gpu_add_rows",
)


def scatter_add(g: Array, index: Any, shape: tuple[int, ...]) -> Array:
    """Zeros of `shape` with `g` added at `index`; repeated indices add up, in a fixed order unless
    `cupy_settings.deterministic` is off.

    `g` has the shape of `zeros[index]`, the result the dtype of `g`.  Half types are summed in
    float32.  Waits for nothing unless `index` holds a mask beside other arrays, a mask that is not
    first, or integers on the host, which are copied to the device.
    """
    if is_basic(index):
        return _assign(g, index, shape)
    if (
        isinstance(index, cp.ndarray)
        and index.dtype.kind == "b"
        and index.ndim
        and index.shape == shape[: index.ndim]
    ):
        return _put_masked(g, index, shape)
    selection = select(index, shape, _as_index)
    if selection is None:
        return _assign(g, index, shape)
    return _scatter(g, selection, shape)


def _assign(g: Array, index: Any, shape: tuple[int, ...]) -> Array:
    out = cp.zeros(shape, g.dtype)
    out[index] = g
    return out


def _as_index(entry: Any) -> Array:
    if isinstance(entry, cp.ndarray):
        return entry
    array = np.asarray(entry)
    return cp.asarray(array if array.size or array.dtype.kind in "iub" else array.astype(np.int64))


def _put_masked(g: Array, mask: Array, shape: tuple[int, ...]) -> Array:
    # CuPy's own assignment by a mask waits to learn how many elements it has
    rows = g.shape[0]
    out = cp.zeros(shape, g.dtype)
    if not g.size:
        return out
    flat = mask.reshape(-1)
    _unmask(flat, cp.cumsum(flat, dtype=np.int64), g, g.size // rows, rows, out, size=out.size)
    return out


_unmask = cp.ElementwiseKernel(
    "raw bool mask, raw int64 counted, raw T rows, int64 width, int64 n",
    "raw T out",
    """
    const long long at = i / width, row = counted[at] - 1;
    if (mask[at] && row < n) out[i] = rows[row * width + i % width];
    """,
    "autograd_gpu_unmask",
)


def _scatter(g: Array, selection: Selection, shape: tuple[int, ...]) -> Array:
    dims = tuple(shape[axis] for axis in selection.array_axes)
    out = cp.zeros(shape, g.dtype)
    target = out.transpose(*selection.array_axes, *selection.rest_axes)
    target = target[(slice(None),) * len(dims) + selection.rest]
    if not g.size or not target.size:
        return out
    ids = _row_ids(selection.arrays, dims)
    front = range(selection.position, selection.position + ids.ndim)
    g = g.transpose(*front, *(axis for axis in range(g.ndim) if axis not in front))
    width = prod(target.shape[len(dims) :])
    if target.flags.c_contiguous and target.size == out.size:
        _sum_rows(ids.reshape(-1), g, width, out)
    else:
        sums = cp.zeros(target.shape, g.dtype)
        _sum_rows(ids.reshape(-1), g, width, sums)
        target[...] = sums
    return out


def _row_ids(arrays: tuple[Any, ...], dims: tuple[int, ...]) -> Array:
    """The indices into axes of sizes `dims` as one index into all of them, broadcast."""
    # sorting 32 bits takes half the time
    dtype = np.int32 if prod(dims) < 2**31 else np.int64
    ids: Any = 0
    for index, size in zip(arrays, dims, strict=True):
        if isinstance(index, int):
            ids = ids * size + index % size
        elif isinstance(ids, int):
            ids = _first_ids(index, size, ids * size, cp.empty(index.shape, dtype))
        else:
            shape = cp.broadcast(ids, index).shape
            ids = _next_ids(ids, index, size, cp.empty(shape, dtype))
    return ids


# Thrust, which sorts for CuPy, is no part of captured graphs.  In these each id counts those before
# it, which takes quadratic time and so has a limit.
_COUNTED = 2**17
_count = cp.ElementwiseKernel(
    "raw I ids, int64 n",
    "raw int64 order",
    """
    const I id = ids[i];
    long long before = 0;
    for (long long j = 0; j < n; j++) before += ids[j] < id || (ids[j] == id && j < i);
    order[before] = i;
    """,
    "autograd_gpu_count_before",
)


def _order(ids: Array) -> Array:
    """The stable order of `ids` [n]."""
    if recorder.get() is None or ids.size > _COUNTED:
        return cp.argsort(ids)
    order = cp.empty(ids.size, np.int64)
    _count(ids, ids.size, order, size=ids.size)
    return order


def _sum_rows(ids: Array, g: Array, width: int, out: Array) -> None:
    """`out[i]` = the sum of the rows of `g` [n, width] whose id is i; `out` holds zeros."""
    if not cupy_settings.deterministic and g.dtype.char in "fd":
        _add_rows(ids, g, width, out, size=g.size)
        return
    order = _order(ids)
    ids = ids[order]
    rows, ordered = g, True
    accumulator = (
        np.dtype(np.float32) if g.dtype.itemsize == 2 and g.dtype.kind in "fV" else g.dtype
    )
    n = ids.size
    while True:
        chunks = -(-n // CHUNK)
        open_ids = cp.empty(2 * chunks, ids.dtype)
        open_sums = cp.empty((2 * chunks, width), accumulator)
        _sum_runs(
            ids, order, rows, n, width, ordered, open_ids, open_sums, out, size=chunks * width
        )
        if chunks == 1:
            return
        ids, rows, ordered, n = open_ids, open_sums, False, 2 * chunks
