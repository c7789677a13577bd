"""The test equipment itself: real CuPy under an emulated CUDA runtime.  `pytest --cupy-on-cpu`."""

from __future__ import annotations

from pathlib import Path

import cupy_on_cpu


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Without the emulation nothing here can be imported, and on a GPU nothing would be said."""
    return None if cupy_on_cpu.is_started() else True
