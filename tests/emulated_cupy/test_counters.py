"""What is counted: launches, copies, waits and allocations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy as cp
import numpy as np
import pytest
from cupy_on_cpu import counting


def test_counters() -> None:
    host = np.ones((2, 3), "f4")
    with counting() as up:
        x = cp.asarray(host)
    assert (up.to_device, up.to_host, up.waits, up.launches) == (1, 0, 0, 0)
    assert up.sizes == [24]
    with counting() as work:
        y = (x * 2).sum(axis=1)
    assert work.kernels == ["cupy_multiply__float32_float_float32", "cupy_sum"]
    assert (work.to_device, work.to_host, work.waits, work.allocations) == (0, 0, 0, 2)
    with counting() as down:
        y.get()
    assert (down.to_device, down.to_host, down.waits) == (0, 1, 1)
    assert down.copies[0].size == 8


@pytest.mark.parametrize(
    "wait",
    [
        lambda x: float(x[0]),
        lambda x: bool(x[0] > 0),
        lambda x: x[x > 0],
        lambda x: cp.nonzero(x),
        lambda x: x.tolist(),
        lambda x: cp.cuda.get_current_stream().synchronize(),
        lambda x: cp.cuda.Device().synchronize(),
    ],
)
def test_waits_are_counted(wait: Callable[[Any], Any]) -> None:
    x = cp.arange(4.0)
    with counting() as c:
        wait(x)
    assert c.waits >= 1


def test_nothing_is_counted_outside_and_counts_nest() -> None:
    x = cp.ones(3)
    with counting() as outer:
        x + 1
        with counting() as inner:
            x + 1
    x + 1
    assert (outer.launches, inner.launches) == (2, 1)


def test_replacements_are_no_transfers_and_no_waits() -> None:
    x = cp.eye(3)
    with counting() as c:
        cp.linalg.inv(x)
        cp.sort(x)
        cp.fft.fft(x)
    assert (c.to_host, c.to_device, c.waits) == (0, 0, 0)
    assert c.replaced == ["linalg.inv", "thrust.sort", "cufft.Plan1d.fft"]


def test_streams_are_those_that_work_is_put_on() -> None:
    x, stream = cp.ones((3, 3)), cp.cuda.Stream(non_blocking=True)
    works: list[Callable[[], Any]] = [
        lambda: x + 1,
        lambda: x @ x,
        lambda: x.get(),
        lambda: x.data.memset_async(0, x.nbytes, cp.cuda.get_current_stream()),
    ]
    for work in works:
        with counting() as c, stream:
            work()
        assert c.streams == {stream.ptr}
        with counting() as c:
            work()
        assert c.streams == {cp.cuda.Stream.null.ptr}
    with counting() as c, stream:
        x.data.memset(0, x.nbytes)  # which has no stream but the legacy one
    assert c.streams == {cp.cuda.Stream.null.ptr}
