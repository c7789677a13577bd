"""What a GradScaler keeps on the device in captured steps: its scale, and counts of skipped steps.

Whether gradients are finite is known to the device only, so the scale grows and shrinks there, by
the same products of doubles as on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import cupy as cp
import numpy as np
from cupy.cuda.device import get_device_id

Array = Any

_SOURCE = """
extern "C" __global__ void autograd_gpu_scale_begin(
    const double* is_new, const double* scale, const double* good, double* state
) {
    if (*is_new != 0) {
        state[0] = *scale;
        state[1] = *good;
    }
    state[2] = 1 / state[0];
}

extern "C" __global__ void autograd_gpu_scale_update(
    const bool* found, const double* growth, const double* backoff, const double* interval,
    double* state
) {
    state[1] += 1;
    if (*found) {
        state[0] *= *backoff;
        state[1] = 0;
    } else if (state[1] >= *interval) {
        state[0] *= *growth;
        state[1] = 0;
    }
    state[2] = 1 / state[0];
}

extern "C" __global__ void autograd_gpu_count(
    const double* is_new, const bool* flag, double* count
) {
    *count = (*is_new != 0 ? 0 : *count) + (flag && *flag ? 1 : 0);
}
"""


@cache
def _kernel(name: str) -> Any:
    return cp.RawModule(code=_SOURCE).get_function(f"autograd_gpu_{name}")


def _launch(name: str, *arrays: Any) -> None:
    _kernel(name)((1,), (1,), arrays)


class Counters:
    """See `autograd_gpu.recorder.Counters`.  Memory comes from `allocator`, not from a graph's."""

    def __init__(self, allocator: Callable[[int], Any]) -> None:
        self._allocator = allocator

    def scale(self) -> Scale:
        """A loss scale that takes the host's at first."""
        return Scale(self._empty(3))

    def count(self) -> Count:
        """A count that is begun by `is_new`."""
        return Count(self._empty(1))

    def _empty(self, size: int) -> Array:
        with cp.cuda.using_allocator(self._allocator):
            return cp.empty(size)


class _OnDevice:
    """Doubles on the device."""

    def __init__(self, state: Array) -> None:
        self._state = state

    def is_here(self) -> bool:
        """Whether they are on the current device."""
        return bool(self._state.data.device_id == get_device_id())


class Scale(_OnDevice):
    """See `autograd_gpu.recorder.DeviceScale`."""

    @property
    def scale(self) -> Array:
        """A 0-d view of it."""
        return self._state[0]

    @property
    def inverse(self) -> Array:
        """A 0-d view of 1 / scale."""
        return self._state[2]

    def begin(self, is_new: Any, scale: Any, good: Any) -> None:
        """Take the host's scale and count if `is_new` is not 0."""
        _launch("scale_begin", is_new.array, scale.array, good.array, self._state)

    def update(self, found: Array, growth: Any, backoff: Any, interval: Any) -> None:
        """Change the scale by whether a gradient was `found` that is not finite."""
        _launch("scale_update", found, growth.array, backoff.array, interval.array, self._state)

    def read(self) -> tuple[float, int]:
        """The scale and the count of good steps; waits for the device."""
        scale, good, _ = _read(self._state)
        return scale, int(good)


class Count(_OnDevice):
    """See `autograd_gpu.recorder.DeviceCount`."""

    @property
    def array(self) -> Array:
        """A 0-d view of it."""
        return self._state[0]

    def add(self, is_new: Any, flag: Array | None) -> None:
        """Count from 0 on if `is_new` is not 0, then one more if there is a `flag` that holds."""
        _launch("count", is_new.array, np.uintp(0) if flag is None else flag, self._state)

    def read(self) -> int:
        """The count; waits for the device."""
        return int(_read(self._state)[0])


def _read(x: Array) -> list[float]:
    """The numbers in `x`, after all that any stream does."""
    with x.device:
        cp.cuda.Device().synchronize()
        return x.tolist()  # type: ignore[no-any-return]
