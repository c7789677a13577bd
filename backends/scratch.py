"""Scratch memory that is kept between calls: fresh pages cost more than the arithmetic on them."""

from __future__ import annotations

import threading
from math import prod
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

KEPT = 4 << 20
"""Bytes of one piece of scratch memory up to which it is kept for the next call."""

ALIGNMENT = 64
"""Bytes of a cache line, and of the widest vector that a processor stores at once: a product in
place takes a third longer where its vectors lie across two lines."""

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
