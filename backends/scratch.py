"""Memory that is kept between calls: fresh pages cost more than the arithmetic on them."""

from __future__ import annotations

import threading
from contextlib import suppress
from math import prod
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

KEPT = 4 << 20
"""Bytes of one piece of scratch memory up to which it is kept for the next call."""

ALIGNMENT = 64
"""Bytes of a cache line, and of the widest vector that a processor stores at once: a product in
place takes a third longer where its vectors lie across two lines."""

MAPPED = (32 << 20) - (64 << 10)
"""Bytes of an array that glibc maps by itself, and just learns from."""

_kept = threading.local()


def scratch(role: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Uninitialised memory of this thread, which the next call with the same `role` reuses."""
    size = prod(shape) * dtype.itemsize
    if size > KEPT:
        return np.empty(shape, dtype)
    buffers: dict[str, Array] = _kept.__dict__
    buffer = buffers.get(role)
    if buffer is None or buffer.size < size:
        memory = np.empty(size + ALIGNMENT, np.uint8)
        start = -memory.ctypes.data % ALIGNMENT
        buffer = buffers[role] = memory[start : start + size]
    return buffer[:size].view(dtype).reshape(shape)


def keep_freed_memory() -> None:
    """Have glibc keep what arrays have freed, up to 64 MiB, for those to come.

    At first it gives back to the system what is free at the end of its heap from 128 KiB on, so
    that a step which makes and frees arrays of some megabytes takes page faults for all of them in
    each call, for longer than it computes.  When an array of up to 32 MiB is freed that had pages
    of its own, glibc takes twice its size for the bound: any program that once frees a large array
    is spared them.  This is such an array, of which no page is touched.  Where the environment sets
    glibc's bounds (MALLOC_TRIM_THRESHOLD_ and the like) they stay, and other allocators take no
    notice.
    """
    with suppress(MemoryError):
        np.empty(MAPPED, np.uint8)
