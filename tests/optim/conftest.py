"""The backend fixture: tests that take it run on NumPy and, where it works, on CuPy."""

import pytest

import autograd_gpu as ag


@pytest.fixture(params=["numpy", "cupy"])
def backend(request):
    if request.param not in ag.available_backends():
        pytest.skip("no GPU and not run with --cupy-on-cpu")
    with ag.use_backend(request.param):
        yield request.param
