"""What only the CuPy backend has: no waits or uploads, bfloat16, reasons why it cannot work."""

import subprocess
import sys

import numpy as np
import pytest


@pytest.fixture
def xp(cupy_backend):
    return cupy_backend.xp


ASYNCHRONOUS = {
    "matmul": lambda xp, x, i, m: xp.matmul(x.T, x),
    "scatter_add": lambda xp, x, i, m: xp.scatter_add(x, i, (9, 4)),
    "scatter_add of pairs": lambda xp, x, i, m: xp.scatter_add(x[:, 0], (i, i), (9, 9)),
    "scatter_add of columns": lambda xp, x, i, m: xp.scatter_add(x.T, (slice(None), i), (4, 9)),
    "scatter_add of a slice": lambda xp, x, i, m: xp.scatter_add(x, slice(1, 7), (9, 4)),
    "scatter_add of a mask": lambda xp, x, i, m: xp.scatter_add(x[:2], m, (6, 4)),
    "windows": lambda xp, x, i, m: xp.windows(x, (2, 2), (1, 1), (1, 1)),
    "clip": lambda xp, x, i, m: xp.clip(x, 0.0, 1.0),
    "where": lambda xp, x, i, m: xp.where(m[:, None], x, 0.0),
    "sign": lambda xp, x, i, m: xp.sign(x),
    "sign of complex": lambda xp, x, i, m: xp.sign(x * 1j),
    "var": lambda xp, x, i, m: xp.var(x, axis=0, correction=1),
    "take": lambda xp, x, i, m: xp.take(x, i, axis=0),
    "random_bits": lambda xp, x, i, m: xp.random_bits((5,), 1, 2),
    "random_unit": lambda xp, x, i, m: xp.random_unit((5,), 1, 2),
}


@pytest.mark.parametrize("name", ASYNCHRONOUS)
def test_nothing_waits_or_moves(cupy_backend, counting, name):
    x = cupy_backend.from_host(np.arange(24, dtype="f4").reshape(6, 4))
    index = cupy_backend.asarray([0, 2, 2, -1, 0, 1])
    mask = cupy_backend.asarray([True, False, False, True, False, False])
    with counting() as c:
        out = ASYNCHRONOUS[name](cupy_backend.xp, x, index, mask)
    assert type(out) is cupy_backend.array_type
    assert (c.waits, c.to_host, c.to_device) == (0, 0, 0), str(c)


def test_counting_notices_a_wait(cupy_backend, counting):
    x = cupy_backend.from_host(np.ones(3))
    with counting() as c:
        float(x[0])
    assert (c.to_host, c.waits > 0) == (1, True)


def test_the_gradient_of_relu_is_one_launch(cupy_backend, counting):
    import autograd_gpu as ag

    x = ag.Variable(cupy_backend.from_host(np.array([-1, 0, 2], "f4")), requires_grad=True)
    g = cupy_backend.from_host(np.array([np.inf, np.nan, 5], "f4"))
    y = ag.relu(x)
    with counting() as c:
        y.backward(g)
    assert (c.kernels, c.allocations) == (["autograd_gpu_masked"], 1)
    assert x.grad.tolist() == [0, 0, 5]


def test_steps_are_one_launch(cupy_backend, counting):
    p, g, m, v = (cupy_backend.from_host(np.ones(9, "f4")) for _ in range(4))
    with counting() as c:
        cupy_backend.adam_step(
            p, g, m, v, lr=0.1, beta1=0.9, beta2=0.99, eps=1e-8, weight_decay=0.1, decoupled=True,
            step=1,
        )  # fmt: skip
        cupy_backend.sgd_step(
            p, g, m, lr=0.1, momentum=0.9, dampening=0, weight_decay=0, nesterov=False, first=True
        )
    assert c.kernels == ["autograd_gpu_adam_step", "autograd_gpu_momentum_step"]
    assert (c.allocations, c.copies, c.waits) == (0, [], 0)


MASKS = [
    ((6, 4), np.array([1, 0, 0, 1, 1, 0], "?")),
    ((6, 4), np.arange(24).reshape(6, 4) % 3 > 0),
    ((6, 4), np.zeros((6, 4), "?")),
    ((6, 4), (slice(None), np.array([1, 0, 0, 1], "?"))),
]


@pytest.mark.parametrize(("shape", "mask"), MASKS)
def test_scatter_add_of_masks(cupy_backend, shape, mask):
    g = np.random.default_rng(0).random(np.zeros(shape)[mask].shape)
    want = np.zeros(shape)
    want[mask] = g
    index = tuple(
        cupy_backend.from_host(e) if isinstance(e, np.ndarray) else e
        for e in (mask if isinstance(mask, tuple) else (mask,))
    )
    out = cupy_backend.xp.scatter_add(
        cupy_backend.from_host(g), index if len(index) > 1 else index[0], shape
    )
    np.testing.assert_array_equal(cupy_backend.to_host(out), want)


def test_indices_out_of_range_stay_inside(cupy_backend):
    # CuPy's gather takes them modulo the axis, without an error
    index = cupy_backend.asarray([10, -5])
    x = cupy_backend.from_host(np.arange(3.0))
    gathered = cupy_backend.to_host(x[index])
    out = cupy_backend.to_host(cupy_backend.xp.scatter_add(x[:2] + 1, index, (3,)))
    assert gathered.tolist() == [1, 1]
    assert out.tolist() == [0, 3, 0]


BFLOAT16 = {
    "where": lambda xp, x: xp.where(x > 0, x, 0.0),
    "where of arrays": lambda xp, x: xp.where(x > 0, x, x * x),
    "where of a number first": lambda xp, x: xp.where(x > 0, -2.0, x),
    "clip": lambda xp, x: xp.clip(x, 0.0, 1.0),
    "clip by an array": lambda xp, x: xp.clip(x, -x * x, None),
    "var": lambda xp, x: xp.var(x, axis=0),
    "std": lambda xp, x: xp.std(x, axis=0),
    "cumsum": lambda xp, x: xp.cumsum(x, 0),
    "matmul": lambda xp, x: xp.matmul(x, x),
    "batched matmul": lambda xp, x: xp.matmul(x[None], x[None]),
    "sum": lambda xp, x: xp.sum(x, axis=0),
    "concat": lambda xp, x: xp.concat([x, x]),
}


@pytest.mark.parametrize("name", BFLOAT16)
def test_bfloat16_stays(cupy_backend, name):
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    host = np.random.default_rng(0).integers(-4, 5, (4, 4)).astype("f4")
    out = BFLOAT16[name](cupy_backend.xp, cupy_backend.from_host(host.astype(bfloat16)))
    assert out.dtype == bfloat16
    namespace = cupy_backend.xp
    want = BFLOAT16[name](namespace, cupy_backend.from_host(host))
    np.testing.assert_allclose(
        cupy_backend.to_host(out).astype("f4"), cupy_backend.to_host(want), rtol=2**-8
    )


@pytest.mark.parametrize("data", [np.ones(3), np.array(1.0), [np.ones(2)], [[1.0, np.array(1.0)]]])
def test_asarray_moves_no_numpy_array(cupy_backend, data):
    with pytest.raises(TypeError, match="silently"):
        cupy_backend.asarray(data)


def test_asarray_takes_lists_of_its_own(cupy_backend):
    x = cupy_backend.asarray([1.0, 2.0])
    np.testing.assert_array_equal(cupy_backend.to_host(cupy_backend.asarray([x, x])), [[1, 2]] * 2)


def test_memory_is_counted(cupy_backend):
    before = cupy_backend.memory()["used"]
    x = cupy_backend.from_host(np.ones(1024, "f4"))
    assert cupy_backend.memory()["used"] == before + x.nbytes
    del x
    assert cupy_backend.memory()["used"] == before
    assert cupy_backend.memory()["reserved"] >= 4096


def message_of(code):
    """What load_backend("cupy") says in a process of its own, after `code`."""
    program = f"""
{code}
from autograd_gpu.backend import BackendError, available_backends, load_backend
try:
    load_backend("cupy")
except BackendError as error:
    print(error)
assert available_backends() == ["numpy"]
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_a_missing_cupy_is_named():
    message = message_of("import sys; sys.modules['cupy'] = None")
    assert "not installed" in message
    assert 'pip install "autograd_gpu[cuda13]"' in message  # zsh expands brackets
    assert 'pip install "autograd_gpu[cuda12]"' in message


@pytest.mark.parametrize(
    ("count", "says"),
    [
        ("raise cupy.cuda.runtime.CUDARuntimeError(35)", "driver"),
        ("return 0", "CUDA_VISIBLE_DEVICES"),
    ],
)
def test_a_missing_device_is_named(count, says):
    pytest.importorskip("cupy")
    message = message_of(
        f"""
import cupy
def count():
    {count}
cupy.cuda.runtime.getDeviceCount = count
"""
    )
    # where there is a driver, the same error of the runtime says that it is too old
    assert "sees no device" in message or "driver is too old" in message
    assert says in message
