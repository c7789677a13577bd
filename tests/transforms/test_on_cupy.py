"""Forward mode and batches on CuPy: the results are NumPy's, and the host never waits."""

from contextlib import nullcontext

import cupy_on_cpu
import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu.backend import load_backend

pytestmark = pytest.mark.skipif(
    "cupy" not in ag.available_backends(), reason="CuPy or a CUDA device is missing"
)

CALLS = {
    "jvp": lambda f, loss, x: ag.jvp(f, x, x)[1],
    "jvp of grad": lambda f, loss, x: ag.jvp(ag.grad(loss), x, x)[1],
    "hvp": lambda f, loss, x: ag.hvp(loss)(x, x),
    "rows": lambda f, loss, x: ag.jacobian(f, mode="reverse")(x),
    "columns": lambda f, loss, x: ag.jacobian(f, mode="forward")(x),
    "hessian": lambda f, loss, x: ag.hessian(loss)(x),
}


def run(name, backend):
    x = backend.from_host(np.array([0.5, -1.0, 2.0]))
    w = backend.from_host(np.linspace(-1, 1, 12).reshape(4, 3))

    def f(x):
        h = ag.tanh(w @ x)
        y = ag.concat([h[1:], ag.stack([ag.max(h * h), ag.sum(x)])])
        return ag.softmax(y) * ag.exp(-h[0])

    def call():
        return CALLS[name](f, lambda x: ag.sum(f(x) ** 2), x)

    call()  # compiles
    counting = nullcontext()
    if backend.name == "cupy" and cupy_on_cpu.is_started():
        from cupy_on_cpu.counters import counting as count

        counting = count()
    with counting as c:
        found = call()
    if c is not None:
        assert (c.waits, c.to_host, c.to_device) == (0, 0, 0), str(c)
    assert type(found) is backend.array_type
    return backend.to_host(found)


@pytest.mark.parametrize("name", CALLS)
def test_transforms_as_on_numpy_without_a_wait(name):
    expected = run(name, load_backend("numpy"))
    np.testing.assert_allclose(run(name, load_backend("cupy")), expected, atol=1e-12)
