"""The table of function_cases.py on CuPy: values, first and second gradients as on NumPy."""

import cupy_on_cpu
import numpy as np
import pytest
from function_cases import CASES

import autograd_gpu as ag
from autograd_gpu.backend import load_backend
from autograd_gpu.nn import functional as F

# one row of each function, but of those with modes
ROWS = {(c.function, c.options.get("mode"), c.options.get("padding_mode")): c for c in CASES}


def derivatives(row, name):
    put = load_backend(name).from_host
    with ag.use_backend(name):
        xs = [ag.Variable(put(x), True) for x in row.operands]
        options = {k: put(v) if isinstance(v, np.ndarray) else v for k, v in row.options.items()}
        y = getattr(F, row.function)(*xs, **options)
        first = ag.gradients(ag.sum(y**3), xs, create_graph=True, allow_unused=True)
        first = [g for g in first if g is not None]  # the nearest pixel has no slope
        second = ag.gradients(sum(ag.sum(g * g) for g in first), xs, allow_unused=True)
        return [v.numpy() for v in (y, *first, *second) if v is not None]


@pytest.mark.parametrize("row", [pytest.param(c, id=c.id) for c in ROWS.values()])
def test_derivatives_are_numpys(backend, row):
    if backend == "numpy":
        y = derivatives(row, backend)[0]
        assert y.dtype == np.float64
        return
    for actual, expected in zip(derivatives(row, backend), derivatives(row, "numpy"), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("row", [pytest.param(c, id=c.id) for c in ROWS.values()])
def test_nothing_waits_for_the_device_on_cupy(row):
    if not cupy_on_cpu.is_started():
        pytest.skip("what waits is counted with --cupy-on-cpu")
    put = load_backend("cupy").from_host
    with ag.use_backend("cupy"):
        xs = [ag.Variable(put(x), True) for x in row.operands]
        options = {k: put(v) if isinstance(v, np.ndarray) else v for k, v in row.options.items()}
        with cupy_on_cpu.counting() as c:
            y = getattr(F, row.function)(*xs, **options)
            ag.gradients(ag.sum(y**3), xs, allow_unused=True)
    assert (c.waits, c.to_host, c.to_device) == (0, 0, 0), str(c)


@pytest.mark.parametrize("row", [pytest.param(c, id=c.id) for c in ROWS.values()])
def test_float32_stays(row):
    xs = [ag.Variable(x.astype("f4"), True) for x in row.operands]
    options = {
        k: v.astype("f4") if isinstance(v, np.ndarray) and v.dtype == float else v
        for k, v in row.options.items()
    }
    y = getattr(F, row.function)(*xs, **options)
    assert y.dtype == np.float32
    ag.sum(y * y).backward()
    assert all(x.grad is None or x.grad.dtype == np.float32 for x in xs)


@pytest.mark.parametrize("row", [pytest.param(c, id=c.id) for c in ROWS.values()])
def test_forward_and_reverse_mode_agree(row):
    def f(*xs):
        return getattr(F, row.function)(*xs, **row.options)

    directions = [np.cos(x) for x in row.operands]
    y, dy = ag.jvp(f, list(row.operands), directions)
    g = np.sin(np.arange(y.size, dtype=float)).reshape(y.shape)
    xs = [ag.Variable(x, True) for x in row.operands]
    gradients = ag.gradients(ag.sum(f(*xs) * g), xs, allow_unused=True)
    pairs = zip(directions, gradients, strict=True)
    back = sum(float(np.sum(v * x.value)) for v, x in pairs if x is not None)
    assert float(np.sum(np.asarray(dy) * g)) == pytest.approx(back, rel=1e-9, abs=1e-9)
