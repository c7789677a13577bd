"""Copies from the host that run beside computation: pinned memory and a stream of their own."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import cupy as cp
import numpy as np

Array = Any
Sent = tuple[Array, Any]

# Pinned memory that a copy may still read, with the event after the copy.
_busy: deque[tuple[Any, Any]] = deque()
_lock = Lock()


class Uploader:
    """Copies for the device and stream that are current when it is made."""

    def __init__(self) -> None:
        self.device = cp.cuda.Device()
        self.consumer = cp.cuda.get_current_stream()
        self.stream = cp.cuda.Stream(non_blocking=True)

    @contextmanager
    def working(self) -> Iterator[None]:
        """What runs inside, in any thread, uses the consumer's device and stream."""
        with self.device, self.consumer:
            yield

    def send(self, x: Any) -> Sent:
        """Begin to copy the NumPy array `x`, which may be changed as soon as this returns."""
        with self.working():
            memory = cp.cuda.alloc_pinned_memory(max(x.nbytes, 1))
            pinned = np.frombuffer(memory, x.dtype, x.size).reshape(x.shape)
            pinned[...] = x
            out = cp.empty(x.shape, x.dtype)
            # What used this memory before may not have run yet; it is queued on this stream.
            self.stream.wait_event(self.consumer.record())
            out.set(pinned, self.stream)
            done = self.stream.record()
        with _lock:
            _busy.append((done, memory))
            while _busy and _busy[0][0].done:
                _busy.popleft()
        return out, done

    def receive(self, sent: Sent) -> Array:
        """The array on the device; the consumer's stream waits for the copy, the host does not."""
        out, done = sent
        self.consumer.wait_event(done)
        return out
