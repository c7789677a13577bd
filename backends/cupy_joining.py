"""concat and stack of many arrays for CuPy: one launch, and nothing is copied to the device.

CuPy 14.2 launches a kernel for each of up to eight arrays.  For more of them it copies a table of
their addresses to the device, which can't be part of a captured step; here the kernel gets the
addresses as arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any

import cupy as cp
import numpy as np

Array = Any

# Pointers and ends of so many arrays fit into the 4 KiB that the arguments of a launch may take.
_MANY, _THREADS = 240, 256
_CUPYS = 8
_WORDS = {
    1: "unsigned char",
    2: "unsigned short",
    4: "unsigned int",
    8: "unsigned long long",
    16: "ulonglong2",
}
_SOURCE = """
struct Sources {{
    const {word}* from[{many}];
    long long end[{many}];  // one beyond the array's last column
}};
extern "C" __global__ void autograd_gpu_join(
    const Sources sources, const int many, const long long rows, const long long width,
    const long long first, {word}* out
) {{
    const long long columns = sources.end[many - 1], size = rows * columns;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < size;
         i += (long long)gridDim.x * blockDim.x) {{
        const long long row = i / columns, column = i % columns;
        int at = 0, last = many - 1;
        while (at < last) {{
            const int middle = (at + last) / 2;
            if (column < sources.end[middle]) last = middle; else at = middle + 1;
        }}
        const long long begin = at ? sources.end[at - 1] : 0;
        out[row * width + first + column] =
            sources.from[at][row * (sources.end[at] - begin) + column - begin];
    }}
}}
"""
_layout = np.dtype([("from", np.uint64, _MANY), ("end", np.int64, _MANY)])


@cache
def kernel(itemsize: int) -> Any:
    """The RawKernel for elements of so many bytes."""
    return cp.RawKernel(_SOURCE.format(word=_WORDS[itemsize], many=_MANY), "autograd_gpu_join")


def bound(xp: Any) -> dict[str, Callable[..., Array]]:
    """`concat` and `stack` for the namespace, with its own for few arrays."""
    few_in_a_row, few_in_a_stack = xp.concat, xp.stack

    def concat(arrays: Sequence[Array], /, *, axis: int | None = 0) -> Array:
        """As in the array API."""
        if len(arrays) <= _CUPYS:
            return few_in_a_row(arrays, axis=axis)
        if axis is None:
            arrays, axis = [x.reshape(-1) for x in arrays], 0
        shape = arrays[0].shape
        if not -len(shape) <= axis < len(shape):
            return few_in_a_row(arrays, axis=axis)  # which raises
        axis %= len(shape)
        for x in arrays:
            if x.ndim != len(shape) or (
                x.shape[:axis] + x.shape[axis + 1 :] != shape[:axis] + shape[axis + 1 :]
            ):
                return few_in_a_row(arrays, axis=axis)
        length = sum(x.shape[axis] for x in arrays)
        return _joined(arrays, axis, (*shape[:axis], length, *shape[axis + 1 :]))

    def stack(arrays: Sequence[Array], /, *, axis: int = 0) -> Array:
        """As in the array API."""
        shape = arrays[0].shape if len(arrays) > _CUPYS else ()
        d = len(shape) + 1
        if len(arrays) <= _CUPYS or any(x.shape != shape for x in arrays) or not -d <= axis < d:
            return few_in_a_stack(arrays, axis=axis)
        axis %= d
        return _joined(arrays, axis, (*shape[:axis], len(arrays), *shape[axis:]))

    return {"concat": concat, "stack": stack}


def _joined(arrays: Sequence[Array], axis: int, shape: tuple[int, ...]) -> Array:
    """The arrays beside each other, as blocks of columns of `shape[:axis]` rows."""
    dtype = arrays[0].dtype
    if any(x.dtype != dtype for x in arrays):
        dtype = np.result_type(*[x.dtype for x in arrays])
    out = cp.empty(shape, dtype)
    if not out.size:
        return out
    # what is made for this has to live until the launch
    dense = [cp.ascontiguousarray(x.astype(dtype, copy=False)) for x in arrays]
    rows = prod(shape[:axis])
    width = out.size // rows
    first = 0
    for start in range(0, len(dense), _MANY):
        some = dense[start : start + _MANY]
        ends = np.cumsum([x.size // rows for x in some])
        table = np.zeros((), _layout)
        table["from"][: len(some)] = [x.data.ptr for x in some]
        table["end"][: len(some)] = ends
        columns = int(ends[-1])
        blocks = min(-(-rows * columns // _THREADS), 2**20)
        if blocks:
            numbers = np.int32(len(some)), np.int64(rows), np.int64(width), np.int64(first)
            kernel(dtype.itemsize)((blocks,), (_THREADS,), (table[()], *numbers, out))
        first += columns
    return out
