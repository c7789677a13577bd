"""Options of the whole suite."""

from __future__ import annotations

import gc
import os
import sys
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
    """How much was compared with something else: the sums of what tests recorded."""
    reports = terminalreporter.stats.get("passed", [])
    for key, what in RECORDED.items():
        count = sum(
            value
            for report in reports
            for name, value in report.user_properties
            if name == key and report.when == "call"
        )
        if count:
            terminalreporter.write_line(f"{count} {what}")
    skipped = sum(
        "PyTorch is not installed" in str(report.longrepr)
        for report in terminalreporter.stats.get("skipped", [])
    )
    if skipped:
        terminalreporter.write_line(f"{skipped} files or tests skipped: PyTorch is not installed")


RECORDED = {
    "proofs": "proofs of derivatives: op, sample, order, dtype",
    "parity": "arrays compared with PyTorch's: values, gradients, steps",
}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Records how many arrays a test compared with PyTorch's, if that is installed."""
    parity = sys.modules.get("parity")
    before = parity.comparisons if parity else 0
    yield
    if parity and parity.comparisons > before:
        item.user_properties.append(("parity", parity.comparisons - before))


@pytest.fixture(autouse=True)
def _no_writes_beyond_arrays() -> Iterator[None]:
    """Every test fails in which a kernel writes beyond the end of an array."""
    yield
    if cupy_on_cpu.is_started():
        cupy_on_cpu.check_margins()


@pytest.fixture
def collector_off() -> Iterator[None]:
    """Without Python's collector, so that what is freed was freed by its last reference."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()
