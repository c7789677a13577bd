"""New arrays: asarray with and without copies, devices, DLPack."""

import array

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


@pytest.mark.parametrize(
    ("obj", "dtype"),
    [
        (True, "bool"), (3, "int64"), (2**63, "uint64"), (1.5, "float32"), (1j, "complex64"),
        ([], "float32"), ([[], []], "float32"), ([True, 2], "int64"), ([1, 2.5], "float32"),
        ([1, 2j], "complex64"), (range(3), "int64"), ([range(2), [3, 4]], "int64"),
        ([np.float64(1.0), 2], "float64"), (array.array("h", [1, 2]), "int16"),
        (memoryview(np.ones((2, 2))), "float64"), (b"ab", "uint8"),
    ],
)  # fmt: skip
def test_asarray_of_numbers_lists_and_buffers(obj, dtype):
    assert ag.asarray(obj).dtype == dtype
    np.testing.assert_array_equal(
        ag.asarray(obj).numpy(), np.asarray(list(obj) if isinstance(obj, bytes) else obj)
    )


def test_asarray_shares_the_memory_of_a_buffer():
    numbers = array.array("d", [1.0, 2.0])
    assert np.shares_memory(ag.asarray(numbers).value, numbers)
    assert np.shares_memory(ag.asarray(numbers, copy=False).value, numbers)
    assert not np.shares_memory(ag.asarray(numbers, copy=True).value, numbers)
    with pytest.raises(ValueError, match="copy=False forbids"):
        ag.asarray(numbers, dtype=ag.float32, copy=False)


@pytest.mark.parametrize("obj", [None, "abc", {}, object()])
def test_asarray_of_other_things(obj):
    with pytest.raises(TypeError, match=f"got {type(obj).__name__}"):
        ag.asarray(obj)


def test_asarray_of_another_library():
    with pytest.raises(TypeError, match="use from_dlpack"):
        ag.asarray(pytest.importorskip("array_api_strict").ones(2))


def test_asarray_of_lists_that_mix():
    v = ag.Variable([1.0, 2.0], requires_grad=True)
    assert ag.asarray([1, v[0]]).dtype == ag.float32
    assert ag.asarray([v[0], 2], dtype=ag.float64).dtype == ag.float64
    nested = ag.asarray([[v[0], 2], [[3.0, 4.0][0], v[1] * v[1]]])
    nested.sum().backward()
    np.testing.assert_array_equal(v.grad, [1, 4])
    with pytest.raises(ValueError, match="one shape"):
        ag.asarray([v, [1.0]])
