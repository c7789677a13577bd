"""The backend of a test."""

import pytest

from autograd_gpu.backend import BackendError, load_backend


@pytest.fixture(params=["numpy", "cupy"])
def xp(request):
    try:
        return load_backend(request.param)
    except BackendError as error:
        pytest.skip(str(error))
