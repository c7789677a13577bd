"""bfloat16 in functions for which a backend has no kernel, or makes a wider dtype of it."""

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu.backend import load_backend

bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
FUNCTIONS = {
    "cumulative_prod": lambda x: ag.cumulative_prod(x, axis=0),
    "cumulative_prod with 1": lambda x: ag.cumulative_prod(x, axis=1, include_initial=True),
    "cumulative_sum": lambda x: ag.cumulative_sum(x, axis=1),
    "cumulative_sum with 0": lambda x: ag.cumulative_sum(x, axis=0, include_initial=True),
    "nancumprod": lambda x: ag.nancumprod(x, axis=0),
    "nancumsum": lambda x: ag.nancumsum(x, axis=0),
    "prod": lambda x: ag.prod(x, axis=1),
    "prod of all": ag.prod,
    "round": ag.round,
    "tril": ag.tril,
    "triu": lambda x: ag.triu(x, k=1),
    "clip": lambda x: ag.clip(x, 0.75, 1),
    "relu6": ag.nn.functional.relu6,
}


@pytest.mark.parametrize("backend", ["numpy", "cupy"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_bfloat16_stays_and_agrees_with_float32(name, backend):
    if backend not in ag.available_backends():
        pytest.skip("no GPU and not run with --cupy-on-cpu")
    data = np.random.default_rng(0).uniform(0.5, 1.5, (3, 4)).astype(bfloat16)
    backend = load_backend(backend)
    x = ag.Variable(backend.from_host(data), requires_grad=True)
    wide = ag.Variable(data.astype(np.float32), requires_grad=True)
    y, expected = FUNCTIONS[name](x), FUNCTIONS[name](wide)
    y.sum().backward()
    expected.sum().backward()
    assert y.dtype == x.grad.dtype == bfloat16
    for found, exact in ((y.value, expected.value), (x.grad, wide.grad)):
        found = backend.to_host(found).astype(np.float32)
        np.testing.assert_allclose(found, exact, rtol=0.02, atol=0.02)
