"""Options of the whole suite."""

from __future__ import annotations

import os
from collections.abc import Iterator

import cupy_on_cpu
import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cupy-on-cpu",
        action="store_true",
        default=os.environ.get("AUTOGRAD_GPU_CUPY_ON_CPU") == "1",
        help="run the real CuPy under an emulated CUDA runtime (also: AUTOGRAD_GPU_CUPY_ON_CPU=1)",
    )
    parser.addoption(
        "--full",
        action="store_true",
        default=os.environ.get("AUTOGRAD_GPU_FULL") == "1",
        help="compare what is otherwise sampled in full (also: AUTOGRAD_GPU_FULL=1)",
    )


def pytest_configure(config: pytest.Config) -> None:
    # Tests that mean CuPy ask for it; the others stay on NumPy, device or not.
    os.environ.setdefault("AUTOGRAD_GPU_BACKEND", "numpy")
    if config.getoption("--cupy-on-cpu"):
        cupy_on_cpu.start()


def pytest_report_header() -> list[str]:
    if not cupy_on_cpu.is_started():
        return []
    return ["cupy: the device is emulated on the CPU; nothing here runs on a GPU"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many derivatives were compared with something else: the sum of what tests recorded."""
    proofs = sum(
        value
        for report in terminalreporter.stats.get("passed", [])
        for key, value in report.user_properties
        if key == "proofs" and report.when == "call"
    )
    if proofs:
        terminalreporter.write_line(f"{proofs} proofs of derivatives: op, sample, order, dtype")


@pytest.fixture(autouse=True)
def _no_writes_beyond_arrays() -> Iterator[None]:
    """Every test fails in which a kernel writes beyond the end of an array."""
    yield
    if cupy_on_cpu.is_started():
        cupy_on_cpu.check_margins()
