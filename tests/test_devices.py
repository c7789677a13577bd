"""Streams, memory, wrong indices and singular matrices, out of memory, and kernels that fail."""

import gc
import sys
import types

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu.backend import BackendError, load_backend


@pytest.fixture
def cp():
    try:
        load_backend("cupy")
    except BackendError as error:
        pytest.skip(f"no GPU and not run with --cupy-on-cpu: {error}")
    return pytest.importorskip("cupy")


@pytest.fixture
def counting(cp):
    from cupy_on_cpu import counting, is_started

    if not is_started():
        pytest.skip("counts need --cupy-on-cpu")
    return counting


def leaf(cp, *shape):
    return ag.Variable(cp.ones(shape, "f4"), requires_grad=True)


# --- indices -------------------------------------------------------------------------------------

WRONG = {
    "getitem": (lambda x, i: x[i], r"getitem, axis 0: index 7 is outside \[-4, 4\), and 1 more"),
    "second axis": (lambda x, i: x[:, None, i], r"getitem, axis 1: index 7 is outside \[-3, 3\)"),
    "after an ellipsis": (lambda x, i: x[..., i], "axis 1: index 7"),
    "take": (lambda x, i: ag.take(x, i, axis=1), r"take, axis 0: index 7 is outside \[-3, 3\)"),
    "set_at": (lambda x, i: ag.set_at(x, i, 1.0), "set_at, axis 0: index 7"),
    "scatter_add": (lambda x, i: ag.scatter_add(x[:3], i, (5, 3)), "scatter_add, axis 0: index 7"),
    "embedding": (
        lambda x, i: ag.nn.functional.embedding(i, x),
        r"indices: index 7 is outside \[0, 4\)",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_indices_are_found_on_cupy(cp, name):
    function, says = WRONG[name]
    x, i = leaf(cp, 4, 3), cp.asarray([0, 7, -9])
    with pytest.raises(IndexError, match=says), ag.debug_indices():
        function(x, ag.Variable(i))
    with ag.debug_indices():  # and nothing is left behind
        function(x, ag.Variable(i % 3))
    function(x, ag.Variable(i))


def test_looking_at_indices_waits_once_on_cupy(cp, counting):
    x, i = leaf(cp, 4), ag.Variable(cp.asarray([0, 3, -4]))
    with counting() as c, ag.debug_indices():
        for _ in range(3):
            x[i]
        inside = c.waits
    assert inside == 0
    assert (c.to_host, c.kernels.count("autograd_gpu_record_index")) == (1, 3)


def test_an_error_in_the_block_goes_first(cp):
    def wrong_and_then_worse():
        leaf(cp, 4)[ag.Variable(cp.asarray([9]))]
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), ag.debug_indices():
        wrong_and_then_worse()


def test_numpy_raises_by_itself():
    with ag.use_backend("numpy"), pytest.raises(IndexError), ag.debug_indices():
        ag.Variable([1.0, 2.0])[[5]]


# --- linear algebra ------------------------------------------------------------------------------


def test_a_singular_matrix_raises_if_asked_on_cupy(cp):
    x = ag.Variable(cp.zeros((3, 3)))
    ag.linalg.inv(x)  # whatever CuPy makes of it, without a wait
    with ag.use_backend("cupy"), ag.raise_linalg_errors():
        with pytest.raises(np.linalg.LinAlgError):
            ag.linalg.inv(x)
        with pytest.raises(np.linalg.LinAlgError):
            ag.linalg.cholesky(ag.Variable(-cp.eye(3)))
        ag.linalg.inv(ag.Variable(cp.eye(3)))


# --- memory --------------------------------------------------------------------------------------


def test_memory_summary_of_cupy(cp):
    gc.collect()  # what earlier tests left
    before = load_backend("cupy").memory()["used"]
    x = leaf(cp, 1000)
    lines = ag.memory_summary().splitlines()
    (line,) = [line for line in lines if line.startswith("cupy")]
    assert f"used {before + x.nbytes + (-x.nbytes) % 512:,} bytes" in line
    ag.synchronize()


@pytest.fixture
def small_pool(cp):
    """A pool of 1 MB, and the default one again afterwards."""
    pool = cp.cuda.MemoryPool()
    pool.set_limit(size=2**20)
    with cp.cuda.using_allocator(pool.malloc):
        yield pool


def test_out_of_memory_in_an_op_on_cupy(cp, small_pool):
    x = leaf(cp, 100_000)
    with pytest.raises(MemoryError) as caught:
        ag.concat([x, x])
    notes = "\n".join(caught.value.__notes__)
    assert "raised in concat(" in notes
    assert "float32[100000]" in notes
    assert "cupy's memory pool: 400,384 bytes used" in notes
    assert "smaller batches" in notes
    del caught
    y = x + 1.0  # the device is usable
    assert float(y[0].item()) == 2


def test_out_of_memory_in_a_backward_on_cupy(cp, small_pool):
    small_pool.set_limit(size=1_250_000)
    x = leaf(cp, 60_000)

    def backward():
        y = ag.exp(x * 2.0)  # five arrays of 240 kB at most
        loss = y.sum()
        loss.backward()

    backward()
    x.grad = None
    filler = cp.empty(60_000, "f4")
    with pytest.raises(MemoryError) as caught:
        backward()
    notes = "\n".join(caught.value.__notes__)
    assert "raised in" in notes
    assert "cupy's memory pool: " in notes
    assert x.grad is None
    del caught, filler
    backward()
    assert x.grad is not None
    used = small_pool.used_bytes()
    assert used <= 2 * 240_128, "the failed graph is freed"


# --- streams -------------------------------------------------------------------------------------


def test_the_callers_stream_is_used_on_cupy(cp, monkeypatch):
    from autograd_gpu.engine import backward

    seen = []
    x = leaf(cp, 8)
    stream = cp.cuda.Stream(non_blocking=True)

    class Probe(ag.Function):
        def forward(self, x):
            seen.append(cp.cuda.get_current_stream().ptr)
            return x * 2

        def backward(self, g):
            seen.append(cp.cuda.get_current_stream().ptr)
            return g * 2

    with stream:
        y = Probe.apply(x)
        backward(y.sum())
    assert seen == [stream.ptr] * 2
    y = Probe.apply(x)
    with stream:
        backward(y.sum())
    assert seen[2:] == [cp.cuda.Stream.null.ptr, stream.ptr]
    stream.synchronize()
    assert x.grad.tolist() == [4.0] * 8


def test_kernels_go_to_the_callers_stream_on_cupy(cp, counting):
    x, stream = leaf(cp, 4, 4), cp.cuda.Stream(non_blocking=True)
    for current in (stream, cp.cuda.Stream.null):  # a backward goes where it is called
        with stream:
            y = ag.sum(ag.gelu(x @ x, "tanh") * x)
        with counting() as c, current:
            y.backward()
        assert len(c.blas) == 2
        assert c.streams == {current.ptr}


# --- what is missing or does not fit -------------------------------------------------------------


class Status(Exception):
    def __init__(self, status):
        super().__init__(f"error {status}")
        self.status = status


MACHINES = {
    "a driver too old": (35, 12020, "too old: it supports CUDA 12.2, CuPy .* is built for 13"),
    "no driver": (35, 0, "driver is missing"),
    "no GPU": (100, 13000, "no GPU, or CUDA_VISIBLE_DEVICES hides it"),
    "something else": (999, 13000, "driver is missing or too old"),
}


@pytest.mark.parametrize("name", MACHINES)
def test_machines_without_a_device_for_cupy(cp, name, monkeypatch):
    status, driver, says = MACHINES[name]
    module = sys.modules["autograd_gpu.backends.cupy_backend"]

    def count():
        raise Status(status)

    runtime = types.SimpleNamespace(
        getDeviceCount=count,
        driverGetVersion=lambda: driver,
        runtimeGetVersion=lambda: 13000,
        CUDARuntimeError=Status,
    )
    fake = types.SimpleNamespace(
        __version__=cp.__version__, cuda=types.SimpleNamespace(runtime=runtime)
    )
    monkeypatch.setattr(module, "cp", fake)
    with pytest.raises(BackendError, match=says):
        module.create()


def test_a_wheel_for_another_cuda_on_cupy(cp, monkeypatch):
    module = sys.modules["autograd_gpu.backends.cupy_backend"]

    def version():
        raise ImportError("libnvrtc.so.12: cannot open shared object file")

    nvrtc = types.SimpleNamespace(getVersion=version)
    cuda = types.SimpleNamespace(runtime=cp.cuda.runtime, nvrtc=nvrtc)
    monkeypatch.setattr(module, "cp", types.SimpleNamespace(__version__="14.2.0", cuda=cuda))
    with pytest.raises(BackendError, match=r"(?s)libnvrtc.so.12.*wheel is for another CUDA"):
        module.create()


def test_a_missing_library_of_cuda_on_cupy(cp, monkeypatch):
    module = sys.modules["autograd_gpu.backends.cupy_backend"]

    def without_cublas():
        raise ImportError("libcublas.so.12: cannot open shared object file")

    monkeypatch.setattr(module, "CupyBackend", without_cublas)
    with pytest.raises(BackendError, match=r"(?s)cublas.so.12.*pip install \"autograd_gpu\[cuda"):
        module.create()


def test_no_device_is_left_visible_on_cupy(cp):
    from cupy_on_cpu import devices, is_started

    if not is_started():
        pytest.skip("how many devices there are is the emulation's to choose")
    module = sys.modules["autograd_gpu.backends.cupy_backend"]
    with devices(0), pytest.raises(BackendError, match="sees no device; check CUDA_VISIBLE"):
        module.create()


def test_an_error_of_the_device_says_where_to_look_on_cupy(cp, monkeypatch):
    def illegal_address(self, *args, **kwargs):
        raise cp.cuda.runtime.CUDARuntimeError(700)

    x = leaf(cp, 3)
    y = ag.exp(x).sum()
    monkeypatch.setattr(load_backend("cupy").xp, "exp", illegal_address)
    with pytest.raises(cp.cuda.runtime.CUDARuntimeError) as caught:
        ag.exp(x)
    notes = "\n".join(caught.value.__notes__)
    assert "raised in exp(x: float32[3])" in notes
    assert "CUDA_LAUNCH_BLOCKING=1" in notes
    monkeypatch.undo()
    y.backward()


def test_a_kernel_that_does_not_compile_on_cupy(cp):
    from autograd_gpu.backends import cupy_activations

    bad = cp.ElementwiseKernel("T x", "T y", "y = nonsense(x)", "autograd_gpu_bad")
    xp = load_backend("cupy").xp
    good, xp.silu_value = xp.silu_value, cupy_activations._for_floats(bad)
    try:
        with pytest.raises(cp.cuda.compiler.CompileException) as caught:
            ag.silu(leaf(cp, 3))
    finally:
        xp.silu_value = good
    assert "raised in silu(x: float32[3])" in caught.value.__notes__
    assert "nonsense" in str(caught.value)
    assert "CUDA_PATH" in "".join(caught.value.__notes__)
    assert ag.silu(leaf(cp, 3)).shape == (3,)
