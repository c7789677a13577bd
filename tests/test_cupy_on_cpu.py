"""Streams, graphs, threads and memory of the emulated CUDA runtime.  `pytest --cupy-on-cpu`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import cupy_on_cpu
import numpy as np
import pytest
from cupy_on_cpu import counting
from cupy_on_cpu.comparing import draw

if not cupy_on_cpu.is_started():
    pytest.skip(
        "the emulated CUDA runtime is tested only with --cupy-on-cpu", allow_module_level=True
    )

import cupy as cp


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


def test_threads_share_the_device() -> None:
    def work(seed: int) -> bool:
        x = draw((40, 40), seed=seed)
        y = cp.asarray(x)
        return all(
            np.allclose(((y @ y) + cp.exp(y)).sum().get(), (x @ x + np.exp(x)).sum())
            for _ in range(20)
        )

    work(0)
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))


def test_memory_limit() -> None:
    pool = cp.get_default_memory_pool()
    before = pool.get_limit()
    pool.set_limit(size=pool.total_bytes() + 4096)
    try:
        with pytest.raises(cp.cuda.memory.OutOfMemoryError):
            cp.empty(pool.total_bytes() + (1 << 20))  # more than any free piece
    finally:
        pool.set_limit(size=before)
    with pytest.raises(cp.cuda.memory.OutOfMemoryError):
        cp.empty(1 << 50)


def test_implicit_conversions_raise_as_on_a_device() -> None:
    x = cp.ones(3)
    with pytest.raises(TypeError, match="Implicit conversion to a NumPy array is not allowed"):
        np.asarray(x)
    with pytest.raises(TypeError, match="Unsupported type"):
        x + np.ones(3)
