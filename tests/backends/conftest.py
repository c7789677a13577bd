"""The backend fixture: every test that takes it runs on NumPy and, where it works, on CuPy."""

import sys

import pytest

from autograd_gpu.backend import Backend, BackendError, load_backend


def load_or_skip(name: str) -> Backend:
    try:
        return load_backend(name)
    except BackendError as error:
        pytest.skip(f"no GPU and not run with --cupy-on-cpu: {error}")


@pytest.fixture(params=["numpy", "cupy"])
def backend(request) -> Backend:
    return load_or_skip(request.param)


@pytest.fixture
def cupy_backend() -> Backend:
    return load_or_skip("cupy")


@pytest.fixture
def counting(cupy_backend):
    """The context manager that counts launches, copies and waits of the emulated CuPy."""
    try:
        from cupy_on_cpu import counting, is_started
    except ImportError:
        pytest.skip("the emulated CuPy is not here")
    if not is_started():
        pytest.skip("counts need --cupy-on-cpu")
    return counting


@pytest.fixture
def cudnn_modules(cupy_backend, monkeypatch):
    """The modules that know cuDNN, and the switches, with nothing remembered of other tests."""
    from autograd_gpu.backends import cupy_cudnn, cupy_cudnn_ops, cupy_settings

    cupy_cudnn.library.cache_clear()
    monkeypatch.setattr(cupy_cudnn, "_thread", cupy_cudnn._Thread())
    monkeypatch.setattr(cupy_settings, "cudnn", True)
    monkeypatch.setattr(cupy_settings, "deterministic", True)
    yield cupy_cudnn, cupy_cudnn_ops, cupy_settings
    cupy_cudnn.library.cache_clear()


@pytest.fixture
def cudnn(cudnn_modules, counting, monkeypatch):
    """The emulated cuDNN."""
    import cupy
    from cupy_on_cpu.cudnn import make_module

    module = make_module(lambda: cupy.cuda.get_current_stream().ptr)
    monkeypatch.setitem(sys.modules, "cudnn", module)
    return module
