"""New arrays: asarray with and without copies, devices, DLPack."""

import numpy as np
import pytest

import autograd_gpu as ag

x = np.array([[1.5, -2.0, 0.5], [3.0, 0.25, -1.0]])


def test_asarray_keeps_the_graph():
    v = ag.Variable(x, requires_grad=True)
    assert ag.asarray(v) is v
    assert ag.asarray(v, copy=True).requires_grad
    assert ag.asarray(v, copy=True).value is not v.value
    assert ag.asarray(v, dtype=ag.float32).requires_grad
    assert ag.asarray(v, device="cpu") is v
    stacked = ag.asarray([[v[0, 0], 2.0], [v[1, 1], 3.0]])
    assert stacked.shape == (2, 2)
    stacked.sum().backward()
    np.testing.assert_array_equal(v.grad, [[1, 0, 0], [0, 1, 0]])


def test_asarray_without_a_copy():
    v = ag.Variable(x)
    assert ag.asarray(v, copy=False) is v
    assert ag.asarray(x, copy=False).value is x
    assert ag.asarray(x, copy=True).value is not x
    assert ag.asarray(x > 0, copy=True).dtype == ag.bool
    for call in (
        lambda: ag.asarray([1.0], copy=False),
        lambda: ag.asarray(v, dtype=ag.float32, copy=False),
    ):
        with pytest.raises(ValueError, match="copy"):
            call()


@pytest.mark.parametrize(
    "call",
    [
        lambda **k: ag.zeros(2, **k),
        lambda **k: ag.ones(2, **k),
        lambda **k: ag.empty(2, **k),
        lambda **k: ag.full(2, 1.0, **k),
        lambda **k: ag.full(2, ag.Variable(1.0), **k),
        lambda **k: ag.arange(2, **k),
        lambda **k: ag.linspace(0, 1, 2, **k),
        lambda **k: ag.eye(2, **k),
        lambda **k: ag.asarray([1.0], **k),
        lambda **k: ag.zeros_like(ag.Variable(x), **k),
        lambda **k: ag.full_like(ag.Variable(x), 3.0, **k),
        lambda **k: ag.astype(ag.Variable(x), ag.float32, **k),
        lambda **k: ag.from_dlpack(x, **k),
    ],
)
def test_devices(call):
    assert call(device="cpu").device == "cpu"
    assert call(device=ag.Variable(x).device).device == "cpu"
    with pytest.raises(ValueError, match="device"):
        call(device="tpu")


def test_linspace_between_variables():
    a = ag.Variable(np.array([0.0, 1.0]), requires_grad=True)
    y = ag.linspace(a[0], a[1] * 4, 5)
    np.testing.assert_array_equal(y.numpy(), [0, 1, 2, 3, 4])
    y.sum().backward()
    np.testing.assert_allclose(a.grad, [2.5, 10])


def test_dlpack():
    v = ag.Variable(x)
    assert v.__dlpack_device__() == (1, 0)
    assert np.shares_memory(np.from_dlpack(v), x)
    assert ag.from_dlpack(v).value is not None
    assert np.shares_memory(ag.from_dlpack(x).value, x)
    assert not np.shares_memory(ag.from_dlpack(x, copy=True).value, x)
    with pytest.raises(TypeError, match="requires a gradient.*detach"):
        np.from_dlpack(ag.Variable(x, requires_grad=True))
