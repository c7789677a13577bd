"""Array indices looked at on the device: what is out of range is written down, nothing waits."""

from __future__ import annotations

from typing import Any

import cupy as cp
import numpy as np

Array = Any

_record = cp.ElementwiseKernel(
    "I index, int64 low, int64 size, int64 tag",
    "raw uint64 report",
    """
    if ((long long)index < low || (long long)index >= size) {
        if (atomicAdd(&report[0], 1ull) == 0) {
            report[1] = (unsigned long long)(long long)index;
            report[2] = (unsigned long long)tag;
        }
    }
    """,
    "autograd_gpu_record_index",
)


class IndexReport:
    """The first index out of range on each device, and how many there were."""

    def __init__(self) -> None:
        self._calls: list[tuple[str, int, int]] = []
        self._reports: dict[int, Array] = {}

    def add(self, what: str, indices: Array, low: int, size: int) -> None:
        """Look at `indices`, which must be in [low, size), when the device comes to it."""
        if not indices.size or indices.dtype.kind not in "iu":
            return
        device = indices.device
        report = self._reports.get(device.id)
        with device:
            if report is None:
                report = self._reports[device.id] = cp.zeros(3, np.uint64)
            _record(indices, low, size, len(self._calls), report)
        self._calls.append((what, low, size))

    def error(self) -> str | None:
        """What was wrong, in words, or None; waits for the device."""
        for report in self._reports.values():
            count, index, tag = report.get().tolist()
            if count:
                what, low, size = self._calls[tag]
                index -= 2**64 if index >= 2**63 else 0
                more = f", and {count - 1} more" if count > 1 else ""
                return f"{what}: index {index} is outside [{low}, {size}){more}"
        return None
