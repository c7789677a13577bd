"""The backend fixture: every test that takes it runs on NumPy and, where it works, on CuPy."""

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
