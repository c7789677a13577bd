"""The emulated device: threads, memory, implicit conversions."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import cupy as cp
import numpy as np
import pytest
from cupy_on_cpu.comparing import draw


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
