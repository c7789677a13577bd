"""Stands for the functions of `cupy.cuda.thrust`: sorting, done by NumPy on device memory."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from . import counters, graphs
from .memory import check_range, view_flat


def _array(address: int, dtype: Any, shape: Any) -> Any:
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    check_range(address, size, "an array to sort")
    return view_flat(address, dtype, tuple(int(n) for n in shape))


def sort(dtype: Any, data: int, keys: int, shape: Any) -> None:
    """Sort along the last axis, in place; `keys` is scratch memory of the real implementation."""
    _note("thrust.sort")
    _array(data, dtype, shape).sort(axis=-1, kind="stable")


def argsort(dtype: Any, indices: int, data: int, keys: int, shape: Any) -> None:
    """Write the order along the last axis into `indices`, and sort `data`, as Thrust does."""
    _note("thrust.argsort")
    values = _array(data, dtype, shape)
    order = values.argsort(axis=-1, kind="stable")
    _array(indices, np.intp, shape)[...] = order
    values[...] = np.take_along_axis(values, order, axis=-1)


def lexsort(dtype: Any, indices: int, keys: int, rows: int, length: int) -> None:
    """The order of `length` columns by `rows` keys, of which the last counts most."""
    _note("thrust.lexsort")
    _array(indices, np.intp, (length,))[...] = np.lexsort(_array(keys, dtype, (rows, length)))


def _note(name: str) -> None:
    graphs.refuse(name)  # Thrust allocates and waits
    counters.replaced(name)


def install(module: ModuleType) -> None:
    for function in (sort, argsort, lexsort):
        setattr(module, function.__name__, function)
