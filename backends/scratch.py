"""Scratch memory that is kept between calls: fresh pages cost more than the arithmetic on them."""

from __future__ import annotations

import threading
from math import prod
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

KEPT = 4 << 20
"""Bytes of one piece of scratch memory up to which it is kept for the next call."""

_kept = threading.local()


def scratch(role: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Uninitialised memory of this thread, which the next call with the same `role` reuses."""
    size = prod(shape) * dtype.itemsize
    if size > KEPT:
        return np.empty(shape, dtype)
    buffers: dict[str, Array] = _kept.__dict__
    buffer = buffers.get(role)
    if buffer is None or buffer.size < size:
        buffer = buffers[role] = np.empty(size, np.uint8)
    return buffer[:size].view(dtype).reshape(shape)
