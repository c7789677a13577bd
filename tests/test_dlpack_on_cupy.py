"""DLPack in and out of CuPy: the same memory, in the order of streams, without a copy or a wait.

PyTorch and JAX cannot read the emulation's memory as a GPU's, so what they would be given is read
from the capsule itself, and what they would give is played by `Producer`.
"""

import ctypes

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu import backend as backends

CUDA, FLOAT, BFLOAT = 2, 2, 4  # DLPack's numbers


@pytest.fixture
def cp():
    try:
        backends.load_backend("cupy")
    except backends.BackendError as error:
        pytest.skip(f"no GPU and not run with --cupy-on-cpu: {error}")
    return pytest.importorskip("cupy")


@pytest.fixture
def counting(cp):
    from cupy_on_cpu import counting, is_started

    if not is_started():
        pytest.skip("counts need --cupy-on-cpu")
    return counting


class DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def contents(capsule):
    """What a library reads from a capsule of the unversioned protocol."""
    x = DLTensor.from_address(_pointer(capsule, b"dltensor"))
    assert x.lanes == 1
    return {
        "pointer": x.data + x.byte_offset,
        "device": (x.device_type, x.device_id),
        "dtype": (x.code, x.bits),
        "shape": tuple(x.shape[: x.ndim]),
        "strides": tuple(x.strides[: x.ndim]),
    }


class Producer:
    """Another library's array, as CuPy would be given it."""

    def __init__(self, x):
        self.x, self.streams = x, []

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()

    def __dlpack__(self, *, stream=None, **options):
        self.streams.append(stream)
        return self.x.__dlpack__(stream=stream, **options)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "c8", "i4", "?"])
def test_out_is_the_memory_itself(cp, counting, dtype):
    v = ag.Variable(cp.ones((2, 3, 4), dtype).transpose(2, 0, 1)[1:])
    with counting() as c:
        found = contents(v.__dlpack__())
    assert (c.launches, c.copies, c.waits, c.allocations) == (0, [], 0, 0)
    assert found["pointer"] == v.value.data.ptr
    assert found["device"] == v.__dlpack_device__() == (CUDA, 0)
    assert found["shape"] == v.shape
    assert found["strides"] == tuple(s // v.value.itemsize for s in v.value.strides)
    assert found["dtype"][1] == 8 * v.value.itemsize


def test_out_of_bfloat16(cp):
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    found = contents(ag.Variable(cp.ones(3, bfloat16)).__dlpack__())
    assert found["dtype"] == (BFLOAT, 16)


def test_the_host_waits_for_no_stream(cp, counting):
    v = ag.Variable(cp.ones(3))
    producer, consumer = (cp.cuda.Stream(non_blocking=True) for _ in range(2))
    with counting() as c, producer:
        for stream in (consumer.ptr, 1, -1):  # -1: the consumer sees to the order itself
            assert contents(v.__dlpack__(stream=stream))["pointer"] == v.value.data.ptr
    assert (c.waits, c.copies) == (0, [])


def test_what_needs_a_gradient_is_not_handed_out(cp):
    v = ag.Variable(cp.ones(3), requires_grad=True)
    with pytest.raises(TypeError, match="detach"):
        v.__dlpack__()
    assert contents(v.detach().__dlpack__())["pointer"] == v.value.data.ptr


@pytest.mark.parametrize("dtype", ["f4", "f2", "i8", "c16"])
def test_in_is_the_memory_itself(cp, counting, dtype):
    x = Producer(cp.arange(12).astype(dtype).reshape(3, 4).T)
    with counting() as c:
        v = ag.from_dlpack(x)
    assert (c.launches, c.copies, c.waits, c.allocations) == (0, [], 0, 0)
    assert v.value.data.ptr == x.x.data.ptr
    assert (v.shape, v.value.strides, v.dtype) == (x.x.shape, x.x.strides, x.x.dtype)
    x.x[0] = 7  # both see it
    assert v.tolist()[0] == [7] * 3


def test_the_producer_is_told_our_stream(cp):
    x = Producer(cp.ones(3))
    stream = cp.cuda.Stream(non_blocking=True)
    with stream:
        ag.from_dlpack(x)
    ag.from_dlpack(x)
    # 1 is the legacy default stream in the protocol
    assert x.streams == [stream.ptr, 1]


def test_there_and_back_with_a_gradient(cp, counting):
    theirs = Producer(cp.asarray([1.0, 2.0, 3.0]))
    x = ag.from_dlpack(theirs)
    x.requires_grad = True
    (x * x).sum().backward()
    out = contents(ag.Variable(x.grad).__dlpack__())
    assert out["pointer"] == x.grad.data.ptr
    assert theirs.x.tolist() == [1, 2, 3]
    assert x.grad.tolist() == [2, 4, 6]


def test_the_memory_outlives_its_first_owner(cp):
    x = cp.arange(4.0)
    v = ag.from_dlpack(Producer(x))
    pointer = x.data.ptr
    del x
    cp.zeros(4)  # would get that memory, had it been freed
    assert v.value.data.ptr == pointer
    assert v.tolist() == [0, 1, 2, 3]


def test_copies_are_made_where_they_are_asked_for(cp):
    x = cp.ones(3)
    v = ag.from_dlpack(Producer(x), copy=True)
    assert v.value.data.ptr != x.data.ptr
    host = ag.from_dlpack(Producer(x), device="cpu")
    assert isinstance(host.value, np.ndarray)


def test_arrays_of_the_host_stay_numpys(cp):
    torch = pytest.importorskip("torch")
    tensor = torch.arange(3.0)
    v = ag.from_dlpack(tensor)
    assert np.shares_memory(v.value, tensor.numpy())
    assert torch.from_dlpack(v).data_ptr() == tensor.data_ptr()


def test_the_device_is_the_producers(cp):
    from cupy_on_cpu import devices, is_started

    backend = backends.load_backend("cupy")
    if not is_started() and backend.device_count() < 2:
        pytest.skip("there is one GPU only")
    with devices(2):
        backends.count_devices(backend)
        with cp.cuda.Device(1):
            x = cp.ones(3)
        v = ag.from_dlpack(Producer(x))
        assert v.value.device.id == 1
        assert v.value.data.ptr == x.data.ptr
        assert contents((v + 1.0).__dlpack__())["device"] == (CUDA, 1)
    backends.count_devices(backend)


# --- the libraries themselves, which need a GPU of their own ------------------------------------


@pytest.fixture
def gpu(cp):
    from cupy_on_cpu import is_started

    if is_started():
        pytest.skip("PyTorch and JAX cannot read the emulation's memory")
    return cp


def test_memory_is_shared_with_pytorch(gpu):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch sees no GPU")
    tensor = torch.arange(4.0, device="cuda")
    x = ag.from_dlpack(tensor)
    assert x.value.data.ptr == tensor.data_ptr()
    back = torch.from_dlpack(ag.Variable(x.value * 2.0))
    assert back.is_cuda
    assert back.tolist() == [0, 2, 4, 6]


def test_memory_is_shared_with_jax(gpu):
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX sees no GPU")
    array = jax.numpy.arange(4.0)
    x = ag.from_dlpack(array)
    assert x.value.data.ptr == array.unsafe_buffer_pointer()
    back = jax.numpy.from_dlpack(ag.Variable(x.value * 2.0))
    assert back.tolist() == [0, 2, 4, 6]
