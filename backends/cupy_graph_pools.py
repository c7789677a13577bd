"""The memory of CUDA graphs: a pool for each, given back to CUDA when the graph is gone.

CuPy never gives back what a pool holds when it dies.  So pools of graphs that are gone stay here
until nobody has an array from them, a gradient for instance.
"""

from __future__ import annotations

from typing import Any

import cupy as cp

_in_use: list[Any] = []
_retired: list[tuple[int, Any]] = []
"""Devices and their pools; a pool speaks of the current device only."""


def new_pool() -> Any:
    """A pool for a graph; those that are done with are given back first."""
    give_back()
    pool = cp.cuda.MemoryPool()
    _in_use.append(pool)
    return pool


def retire(pool: Any, number: int | None = None) -> None:
    """The graph of `pool` is gone, and what it held is freed; `number` is its device, None for the
    current one."""
    _in_use[:] = [other for other in _in_use if other is not pool]
    _retired.append((cp.cuda.Device().id if number is None else number, pool))
    give_back()


def give_back() -> None:
    """Give back what retired pools have of memory that is not in use."""
    for entry in list(_retired):
        number, pool = entry
        with cp.cuda.Device(number):
            pool.free_all_blocks()
            if not pool.total_bytes() and entry in _retired:
                _retired.remove(entry)


def reserved() -> int:
    """The bytes that all these pools have from the current device."""
    return sum(pool.total_bytes() for pool in (*_in_use, *(pool for _, pool in _retired)))
