"""What tests of captured steps need of CuPy."""

from __future__ import annotations

import importlib.util

import pytest
from captured_steps import is_emulated

import autograd_gpu as ag
from autograd_gpu.backend import BackendError, load_backend


@pytest.fixture
def cp():
    try:
        load_backend("cupy")
    except BackendError as error:
        pytest.skip(f"no GPU and not run with --cupy-on-cpu: {error}")
    import cupy

    with ag.use_backend("cupy"):
        yield cupy


@pytest.fixture
def counting(cp):
    cupy_on_cpu = pytest.importorskip("cupy_on_cpu")
    if not cupy_on_cpu.is_started():
        pytest.skip("counts need --cupy-on-cpu")
    return cupy_on_cpu.counting


@pytest.fixture
def products(cp):
    """For steps with products, which nvmath-python captures on a device."""
    if not is_emulated() and importlib.util.find_spec("nvmath") is None:
        pytest.skip("nvmath-python is not installed")
