"""Numbers of the host in captured graphs: on the device, and written anew before each launch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cupy as cp
import numpy as np

Array = Any

_WORDS = 64

_write = cp.RawKernel(
    f"""
    struct Words {{ unsigned long long word[{_WORDS}]; }};
    extern "C" __global__ void autograd_gpu_write_numbers(
        const Words words, unsigned long long* out
    ) {{
        out[threadIdx.x] = words.word[threadIdx.x];
    }}
    """,
    "autograd_gpu_write_numbers",
)


@dataclass(frozen=True, eq=False)
class LiveNumber:
    """A number that each launch of a graph finds on the device: `array` is 0-d."""

    array: Array

    def __repr__(self) -> str:
        return "<a number of each replay>"


class _Block:
    """Numbers that one kernel writes: they are its arguments, so nothing waits or is shared."""

    def __init__(self) -> None:
        self.array = cp.empty(_WORDS, np.uint64)
        self.words = np.zeros((), [("word", np.uint64, _WORDS)])
        self.written: bytes | None = None
        self.used = 0

    def write(self) -> None:
        current = self.words.tobytes()
        if current != self.written:
            _write((1,), (_WORDS,), (self.words[()], self.array))
            self.written = current


class LiveNumbers:
    """All such numbers of one graph; to be made before its capture."""

    def __init__(self) -> None:
        # Later blocks are not to come from the graph's own pool: that could be memory which the
        # graph wrote to, and gave back, earlier in the step, and so would overwrite them.
        self._allocator = cp.cuda.get_allocator()
        self._blocks = [_Block()]
        self._reads: list[tuple[Callable[[], tuple[Any, ...]], Array]] = []

    def read(self, read: Callable[[], tuple[Any, ...]]) -> tuple[LiveNumber, ...]:
        """`read()`, all integers from 0 on or all floats, as numbers that lie side by side."""
        values = read()
        count = len(values)
        if self._blocks[-1].used + count > _WORDS:
            with cp.cuda.using_allocator(self._allocator):
                self._blocks.append(_Block())
        block = self._blocks[-1]
        place = range(block.used, block.used + count)
        block.used += count
        dtype = np.dtype(np.uint64 if isinstance(values[0], int) else np.float64)
        host = block.words["word"].view(dtype)[place.start : place.stop]
        host[...] = values
        self._reads.append((read, host))
        device = block.array.view(dtype)
        return tuple([LiveNumber(device[i]) for i in place])

    def advance(self) -> None:
        """Read all numbers, in the order in which they were asked for first."""
        for read, host in self._reads:
            host[...] = read()

    def write(self) -> None:
        """Bring to the device what has changed since it was written last, on the current stream."""
        for block in self._blocks:
            block.write()
