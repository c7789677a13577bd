"""What is brought to the device without a copy: constants, and the addresses of many arrays."""

from contextlib import nullcontext

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu.nn import functional as F


@pytest.fixture
def cp(cupy_backend):
    import cupy

    with ag.use_backend("cupy"):
        yield cupy


@pytest.fixture
def counts(cupy_backend):
    """What is counted within, emulated; on a GPU, where nothing counts, None."""
    from cupy_on_cpu import counting, is_started

    return counting if is_started() else nullcontext


HOSTS = [
    np.float64(2.5),
    np.arange(3, dtype="i8"),
    np.arange(5, dtype="u1"),  # no whole number of words
    np.arange(12, dtype="f2").reshape(3, 4)[:, ::-1],
    np.arange(3) > 1,
    np.arange(6).reshape(2, 3) * (1 + 1j),
    np.zeros((0, 3)),
    np.arange(1000.0),  # more than one launch
]


@pytest.mark.parametrize("host", HOSTS, ids=lambda x: f"{x.dtype}{list(x.shape)}")
def test_constants_are_not_copied(cp, cupy_backend, counts, host):
    with counts() as c:
        x = cupy_backend.constant(host)
    assert c is None or (c.copies, c.waits) == ([], 0)
    assert (type(x), x.dtype, x.shape, x.base) == (cp.ndarray, host.dtype, host.shape, None)
    np.testing.assert_array_equal(x.get(), host)


def test_large_constants_are(cupy_backend, counting):
    host = np.arange(5000)
    with counting() as c:
        x = cupy_backend.constant(host, "f4")
    assert (c.to_device, c.launches) == (1, 0)
    np.testing.assert_array_equal(x.get(), host.astype("f4"))


def test_constants_of_captured_steps(cp):
    x = ag.Variable(cp.arange(3200.0).reshape(1, 1, 80, 40), requires_grad=True)

    def step(x):
        y = F.interpolate(x, size=(90, 30), mode="bilinear")
        y = F.avg_pool2d(y, 4, 3, padding=1, count_include_pad=False)
        y = F.adaptive_avg_pool2d(y, (7, 4))
        return y, *ag.gradients(ag.sum(y * y), x)

    captured = ag.compile(step)
    for _ in range(3):
        found = captured(x)
    assert captured.reason is None
    for mine, eager in zip(found, step(x), strict=True):
        np.testing.assert_array_equal(mine.numpy(), eager.numpy())


def draws(count, *shape):
    return [np.random.default_rng(i).standard_normal(shape) for i in range(count)]


JOINS = {
    "concat": lambda xp, xs: xp.concat(xs),
    "concat along the last": lambda xp, xs: xp.concat(xs, axis=-1),
    "concat along the second": lambda xp, xs: xp.concat(xs, axis=1),
    "concat flat": lambda xp, xs: xp.concat(xs, axis=None),
    "stack": lambda xp, xs: xp.stack(xs),
    "stack last": lambda xp, xs: xp.stack(xs, axis=-1),
    "stack second": lambda xp, xs: xp.stack(xs, axis=1),
    "concat of unequal": lambda xp, xs: xp.concat(
        [x[:, : i % 4] for i, x in enumerate(xs)], axis=1
    ),
    "concat of views": lambda xp, xs: xp.concat([x[::-1, :, ::2] for x in xs], axis=1),
    "concat of nothing": lambda xp, xs: xp.concat([x[:0] for x in xs]),
}


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "complex128", "bool"])
@pytest.mark.parametrize("name", JOINS)
def test_many_arrays_are_joined_as_by_numpy(cupy_backend, counts, name, dtype):
    host = [x.astype(dtype) for x in draws(11, 2, 3, 4)]
    arrays = [cupy_backend.from_host(x) for x in host]
    with counts() as c:
        found = JOINS[name](cupy_backend.xp, arrays)
    if c is not None:
        assert (c.copies, c.waits) == ([], 0)
        assert c.kernels.count("autograd_gpu_join") == (name != "concat of nothing")
    want = JOINS[name](np, host)
    assert (found.dtype, found.shape) == (want.dtype, want.shape)
    np.testing.assert_array_equal(found.get(), want)


def test_more_arrays_than_a_launch_takes(cupy_backend, counts):
    host = [x.astype("f4" if i % 2 else "i2") for i, x in enumerate(draws(500, 3, 2))]
    arrays = [cupy_backend.from_host(x) for x in host]
    with counts() as c:
        found = cupy_backend.xp.concat(arrays, axis=1)
    assert c is None or (c.kernels.count("autograd_gpu_join"), c.copies) == (3, [])
    want = np.concat(host, axis=1)
    assert found.dtype == want.dtype
    np.testing.assert_array_equal(found.get(), want)


def test_arrays_that_do_not_fit_are_refused_as_ever(cupy_backend):
    xp = cupy_backend.xp
    arrays = [cupy_backend.from_host(x) for x in draws(10, 2, 3)]
    with pytest.raises(ValueError):
        xp.concat([*arrays, arrays[0][:, :2]])
    with pytest.raises(ValueError):
        xp.stack([*arrays, arrays[0][:1]])
    with pytest.raises(ValueError):
        xp.concat(arrays, axis=2)
    with pytest.raises(ValueError):
        xp.stack(arrays, axis=3)


def test_many_steps_of_a_network_are_captured(cp):
    w = ag.Variable(cp.full((3, 3), 0.1), requires_grad=True)

    def step(x):
        h, states = x[0], []
        for i in range(12):
            h = ag.tanh(h @ w + x[i])
            states.append(h)
        y = ag.stack(states)
        return y, *ag.gradients(ag.sum(y * y), w)

    captured, x = ag.compile(step), ag.Variable(cp.ones((12, 2, 3)))
    for _ in range(3):
        found = captured(x)
    assert captured.reason is None
    for mine, eager in zip(found, step(x), strict=True):
        np.testing.assert_array_equal(mine.numpy(), eager.numpy())
