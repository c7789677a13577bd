"""Address ranges that do not overlap, found by any address inside."""

from __future__ import annotations

import bisect
import gc
import threading
from collections.abc import Iterator
from types import TracebackType


class _Exclusive:
    """One thread at a time, and no garbage collection: that could free memory half-way through."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._collects: list[bool] = []

    def __enter__(self) -> None:
        self._lock.acquire()
        self._collects.append(gc.isenabled())
        gc.disable()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._collects.pop():
            gc.enable()
        self._lock.release()


_exclusive = _Exclusive()


class Blocks:
    """A table of ranges; threads may share it."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._sizes: dict[int, int] = {}
        self.total = 0

    def add(self, start: int, size: int) -> None:
        """Enter a range; ranges that begin in it are of memory that was freed, and go."""
        with _exclusive:
            self.remove_within(start, max(size, 1))
            bisect.insort(self._starts, start)
            self._sizes[start] = size
            self.total += size

    def remove(self, start: int) -> int | None:
        """Take out the range that begins at `start`, and give its size."""
        with _exclusive:
            size = self._sizes.pop(start, None)
            if size is not None:
                del self._starts[bisect.bisect_left(self._starts, start)]
                self.total -= size
        return size

    def remove_within(self, start: int, size: int) -> None:
        """Take out every range that begins within the given one."""
        with _exclusive:
            first = bisect.bisect_left(self._starts, start)
            last = bisect.bisect_left(self._starts, start + size)
            for old in self._starts[first:last]:
                self.total -= self._sizes.pop(old)
            del self._starts[first:last]

    def find(self, address: int) -> tuple[int, int] | None:
        """Start and size of the range that `address` lies in."""
        with _exclusive:
            i = bisect.bisect_right(self._starts, address) - 1
            if i < 0:
                return None
            start = self._starts[i]
            size = self._sizes[start]
        return (start, size) if address < start + size else None

    def __iter__(self) -> Iterator[tuple[int, int]]:
        with _exclusive:
            return iter(list(self._sizes.items()))
