"""What times a step on a GPU, and which sizes there are."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import cupy as cp

import autograd_gpu as ag

Step = Callable[[], Any]
Row = dict[str, Any]
Rows = Iterator[tuple[str, Row]]

SMALL = False
"""Whether sizes are such that the script itself can be tried out."""


def pick(large: Any, small: Any) -> Any:
    return small if SMALL else large


def measure(step: Step, wait: Step, rounds: int = 5, seconds: float = 0.1) -> Row:
    """Microseconds per step: on the host's clock with a wait at the end, and on the device's."""
    for _ in range(pick(3, 1)):
        step()
    wait()
    start = time.perf_counter()
    step()
    wait()
    once = time.perf_counter() - start
    count = pick(max(1, min(1000, int(seconds / max(once, 1e-6)))), 1)
    walls, devices = [], []
    for _ in range(pick(rounds, 1)):
        wait()
        begin, end = cp.cuda.Event(), cp.cuda.Event()
        start = time.perf_counter()
        begin.record()
        for _ in range(count):
            step()
        end.record()
        end.synchronize()
        wait()
        walls.append((time.perf_counter() - start) / count)
        devices.append(cp.cuda.get_elapsed_time(begin, end) / 1e3 / count)
    return {"wall_us": median(walls) * 1e6, "device_us": median(devices) * 1e6}


def ours(step: Step) -> Row:
    return measure(step, cp.cuda.Device().synchronize)


def captured(step: Step) -> Row:
    """The same for `ag.compile(step)`, or why it is not captured."""
    function = ag.compile(step)
    for _ in range(3):
        function()
    if function.reason is not None:
        return {"not captured": function.reason[:200]}
    return ours(function)
