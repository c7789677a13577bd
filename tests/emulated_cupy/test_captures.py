"""Capture of streams: what is illegal in one, and nvmath-python's cuBLAS, which is not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import cupy_on_cpu
import numpy as np
import pytest
from cupy_on_cpu import IllegalCall, NotEmulated, counting
from cupy_on_cpu.comparing import draw

if not cupy_on_cpu.is_started():
    pytest.skip(
        "the emulated CUDA runtime is tested only with --cupy-on-cpu", allow_module_level=True
    )

import cupy as cp

TESTS = Path(cupy_on_cpu.__file__).parents[1]


def test_capture_and_replay() -> None:
    a, y = cp.arange(4.0), cp.zeros(4)
    stream = cp.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        cp.add(a, 1.0, out=y)
        y *= 2.0
        with pytest.raises(NotImplementedError, match="cuBLAS API during stream capture"):
            cp.ones((2, 2)) @ cp.ones((2, 2))
        graph = stream.end_capture()
    np.testing.assert_array_equal(y.get(), np.zeros(4))
    a[...] = 10
    with counting() as c:
        graph.launch(stream)
    np.testing.assert_array_equal(y.get(), np.full(4, 22.0))
    assert (c.graph_launches, c.launches) == (1, 4)


@pytest.fixture
def capturing() -> Iterator[Callable[..., Any]]:
    """Begins a capture on a stream of its own, which is current until the test is over."""
    streams = []

    def begin(mode: int = cp.cuda.runtime.streamCaptureModeRelaxed, blocking: bool = False) -> Any:
        stream = cp.cuda.Stream(non_blocking=not blocking)
        streams.append(stream)
        stream.__enter__()
        stream.begin_capture(mode)
        return stream

    yield begin
    for stream in streams:
        with suppress(cp.cuda.runtime.CUDARuntimeError):
            stream.end_capture()
        stream.__exit__()


def fails(status: str) -> Any:
    return pytest.raises(cp.cuda.runtime.CUDARuntimeError, match=f"cudaError{status}:")


@pytest.mark.parametrize(
    "call",
    [
        lambda stream, event: stream.synchronize(),
        lambda stream, event: cp.cuda.Device().synchronize(),
        lambda stream, event: stream.done,
        lambda stream, event: event.synchronize(),
        lambda stream, event: cp.cuda.runtime.memcpy(ONES.data.ptr, ONES.data.ptr, 8, 3),
        lambda stream, event: cp.sort(ONES),
    ],
)
def test_waits_spoil_a_capture(capturing, call) -> None:
    stream = capturing()
    event = cp.cuda.Event()
    event.record(stream)
    with fails("StreamCaptureUnsupported"):
        call(stream, event)
    with pytest.raises(RuntimeError, match="an error has invalidated the capture"):
        stream.is_capturing()
    with fails("StreamCaptureInvalidated"):
        ONES.fill(2)
    with fails("StreamCaptureInvalidated"):
        stream.end_capture()
    # and the stream is as good as new
    stream.begin_capture()
    y = ONES + 1
    graph = stream.end_capture()
    graph.launch(stream)
    stream.synchronize()
    assert y.get().tolist() == [2.0, 2.0]


ONES = cp.ones(2)


def test_allocations_in_a_capture_depend_on_its_mode(capturing) -> None:
    runtime = cp.cuda.runtime
    runtime.free(runtime.malloc(512))
    stream = capturing(runtime.streamCaptureModeRelaxed)
    runtime.free(runtime.malloc(512))
    stream.end_capture()
    for mode in (runtime.streamCaptureModeThreadLocal, runtime.streamCaptureModeGlobal):
        stream = capturing(mode)
        with fails("StreamCaptureUnsupported") as caught:
            runtime.malloc(512)
        assert "an allocation" in caught.value.__notes__[0]
        with fails("StreamCaptureInvalidated"):
            stream.end_capture()


@pytest.mark.parametrize(("mode", "is_spoiled"), [(0, True), (1, False), (2, False)])
def test_allocations_of_other_threads_beside_a_capture(capturing, mode, is_spoiled) -> None:
    stream = capturing(mode)
    with ThreadPoolExecutor(1) as pool:
        address = pool.submit(cp.cuda.runtime.malloc, 512)
        assert isinstance(address.exception(), RuntimeError) == is_spoiled
    if is_spoiled:
        with fails("StreamCaptureInvalidated"):
            stream.end_capture()
    else:
        assert stream.is_capturing()
        stream.end_capture()
        cp.cuda.runtime.free(address.result())


def test_captures_and_other_streams(capturing) -> None:
    stream, other = capturing(), cp.cuda.Stream(non_blocking=True)
    inside, outside = cp.cuda.Event(), cp.cuda.Event()
    outside.record(other)
    with other:
        assert (ONES + 1).get().tolist() == [2.0, 2.0]  # not in the capture
    stream.record(inside)
    with pytest.raises(NotEmulated, match="capture of several streams"):
        other.wait_event(inside)
    stream.wait_event(inside)
    with fails("StreamCaptureIsolation"):
        stream.wait_event(outside)
    with fails("StreamCaptureInvalidated"):
        stream.end_capture()
    blocking = capturing(blocking=True)
    with cp.cuda.Stream.null, fails("StreamCaptureImplicit"):
        ONES.fill(1)
    blocking.end_capture()
    with fails("IllegalState"):
        blocking.end_capture()


# --- nvmath-python's cuBLAS -----------------------------------------------------------------------
def product(a: Any, b: Any, out: Any, handle: int) -> None:
    """`out[...] = a @ b` in float32 and C order."""
    from nvmath.bindings import cublas

    (m, k), n = a.shape, b.shape[1]
    one, zero = np.ones(1, "f4"), np.zeros(1, "f4")
    cublas.gemm_ex(
        handle, 0, 0, n, m, k, one.ctypes.data, b.data.ptr, 0, n, a.data.ptr, 0, k,
        zero.ctypes.data, out.data.ptr, 0, n, 68, -1,
    )  # fmt: skip


def test_nvmaths_products_can_be_captured(capturing) -> None:
    from nvmath.bindings import cublas

    a, b = (cp.asarray(draw(shape, "f4")) for shape in ((2, 3), (3, 4)))
    out, workspace = cp.empty((2, 4), "f4"), cp.empty(1 << 20, "u1")
    handle = cublas.create()
    product(a, b, out, handle)
    np.testing.assert_allclose(out.get(), a.get() @ b.get(), rtol=1e-6)
    stream = capturing()
    cublas.set_stream(handle, stream.ptr)
    cublas.set_workspace(handle, workspace.data.ptr, workspace.nbytes)
    with counting() as c:
        product(a, b, out, handle)
    assert not c.blas
    graph = stream.end_capture()
    a *= 2
    with counting() as c:
        graph.launch(stream)
    assert [call.name for call in c.blas] == ["gemmEx"]
    np.testing.assert_allclose(out.get(), a.get() @ b.get(), rtol=1e-6)


def test_nvmaths_products_need_a_workspace_in_a_capture(capturing) -> None:
    from nvmath.bindings import cublas

    x, workspace = cp.ones((2, 2), "f4"), cp.empty(1 << 20, "u1")
    handle = cublas.create()
    stream = capturing()
    cublas.set_workspace(handle, workspace.data.ptr, workspace.nbytes)
    cublas.set_stream(handle, stream.ptr)  # which forgets the workspace
    with pytest.raises(IllegalCall, match="cuBLAS would allocate a workspace in the capture"):
        product(x, x, cp.empty((2, 2), "f4"), handle)
    with pytest.raises(IllegalCall, match="not aligned to 256 bytes"):
        cublas.set_workspace(handle, workspace.data.ptr + 8, 1 << 10)
    with pytest.raises(IllegalCall, match="cuBLAS's workspace .* beyond its allocation"):
        cublas.set_workspace(handle, workspace.data.ptr, 1 << 30)
    cublas.destroy(handle)
    with pytest.raises(IllegalCall, match="no handle of nvmath's cuBLAS"):
        product(x, x, x, handle)


def test_nvmath_has_these_functions() -> None:
    """The real package, where it is installed, in a process without the emulation."""
    code = """
import importlib.util, inspect, sys
if importlib.util.find_spec("nvmath") is None:
    sys.exit(3)
from nvmath.bindings import cublas
import cupy_on_cpu.nvmath as stand_in
for name, function in stand_in._NAMES.items():
    ours = inspect.signature(getattr(stand_in.NvmathCublas, function))
    theirs = inspect.signature(getattr(cublas, name))
    assert len(ours.parameters) - 1 == len(theirs.parameters), name
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=TESTS, check=False
    )
    if done.returncode == 3:
        pytest.skip("nvmath-python is not installed")
    assert done.returncode == 0, done.stderr
