"""Several devices: whose memory, streams and modules are whose."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import cupy as cp
import numpy as np
import pytest
from cupy_on_cpu import IllegalCall, devices


@pytest.fixture(autouse=True)
def _two() -> Iterator[None]:
    with devices(2):
        yield


def test_one_is_seen_unless_more_are_asked_for() -> None:
    assert cp.cuda.runtime.getDeviceCount() == 2
    with devices(1):
        assert cp.cuda.runtime.getDeviceCount() == 1
        with pytest.raises(cp.cuda.runtime.CUDARuntimeError):
            cp.cuda.Device(1).use()


def test_arrays_live_where_they_are_made() -> None:
    with cp.cuda.Device(1):
        x = cp.ones(3)
    assert x.device.id == 1
    assert cp.cuda.runtime.pointerGetAttributes(x.data.ptr).device == 1
    with pytest.raises(ValueError, match="different from the current device"):
        x + 1
    y = x.copy()  # to the current device
    assert (y.device.id, y.tolist()) == (0, [1, 1, 1])


def test_each_thread_has_its_current_device() -> None:
    cp.cuda.Device(1).use()
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: cp.cuda.Device().id).result() == 0
    assert cp.cuda.Device().id == 1
    cp.cuda.Device(0).use()


def test_streams_of_another_device() -> None:
    with cp.cuda.Device(1):
        stream = cp.cuda.Stream(non_blocking=True)
    kernel = cp.RawKernel('extern "C" __global__ void f(float* x) { x[0] = 1; }', "f")
    x = cp.ones(1, "f4")
    with pytest.raises(IllegalCall, match="stream of device 1, while device 0 is current"):
        kernel((1,), (1,), (x,), stream=stream)
    with pytest.raises(IllegalCall, match="cudaEventRecord"):
        stream.record(cp.cuda.Event())


def test_products_of_another_device() -> None:
    from cupy.cuda import device
    from cupy_backends.cuda.libs import cublas

    with cp.cuda.Device(1):
        a = cp.ones((2, 2), "f8")
    c, one = cp.empty((2, 2), "f8"), np.ones(1)
    p = one.ctypes.data
    with pytest.raises(IllegalCall, match="lives on device 1, while device 0 is current"):
        cublas.dgemm(
            device.get_cublas_handle(), 0, 0, 2, 2, 2, p, a.data.ptr, 2, a.data.ptr, 2, p,
            c.data.ptr, 2,
        )  # fmt: skip


def test_modules_of_another_device() -> None:
    kernel = cp.RawKernel('extern "C" __global__ void g(float* x) { x[0] = 2; }', "g")
    kernel.compile()
    function = kernel.kernel
    with cp.cuda.Device(1):
        x = cp.ones(1, "f4")
        with pytest.raises(IllegalCall, match="g was loaded on device 0"):
            function((1,), (1,), (x,))
        kernel((1,), (1,), (x,))  # CuPy itself loads one for each device
        assert float(x[0]) == 2
