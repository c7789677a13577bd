"""CuPy behind the Backend protocol, or the reason why it cannot work on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from autograd_gpu.backend import BackendError

_INSTALL = (
    'for an NVIDIA GPU use `pip install "autograd_gpu[cuda13]"` (driver 580 or newer) or '
    '`pip install "autograd_gpu[cuda12]"`'
)

try:
    import cupy as cp
    from cupy.cuda.device import get_device_id
except ImportError as error:
    raise BackendError(f"CuPy is not installed or not usable ({error}); {_INSTALL}") from error

Array = Any


class CupyBackend:
    """CuPy; see `autograd_gpu.backend.Backend` for what the members mean."""

    name = "cupy"
    array_type: type = cp.ndarray

    def __init__(self) -> None:
        # Not before create() has looked for a device: these define kernels and need cuBLAS.
        from autograd_gpu.backends import cupy_live, cupy_steps
        from autograd_gpu.backends.cupy_namespace import namespace

        self._live_number = cupy_live.LiveNumber

        self.xp: Any = namespace()
        self.steps = cupy_steps.steps
        for name in cupy_steps.NAMES:
            setattr(self, f"{name}_step", cupy_steps.single(name))
        self.unscale = cupy_steps.unscale

    def asarray(self, data: Any, dtype: Any = None) -> Array:
        """An array from a number, a list or CuPy's own arrays; NumPy arrays raise TypeError."""
        if isinstance(data, self._live_number):
            data = data.array
        if isinstance(data, cp.ndarray):
            return data if dtype is None else data.astype(dtype, copy=False)
        _refuse_foreign(data)
        return cp.asarray(data, dtype)

    def constant(self, data: Any, dtype: Any = None) -> Array:
        """The numbers as arguments of a kernel that writes them, or copied if they are many."""
        from autograd_gpu.backends.cupy_constants import constant

        return constant(np.asarray(data, dtype))

    def to_host(self, x: Array) -> Any:
        """A NumPy copy of `x`; waits for the device."""
        return cp.asnumpy(x)

    def from_host(self, x: Any, device: Any = None) -> Array:
        """A copy of the NumPy array `x` on `device` (an id or a cupy Device; None: the current)."""
        if device is None:
            return cp.array(x)
        with cp.cuda.Device(device):
            return cp.array(x)

    def uploader(self) -> Any:
        """Copies through pinned memory on a stream of their own."""
        from autograd_gpu.backends.cupy_upload import Uploader

        return Uploader()

    def recorder(self) -> Any:
        """Captures a step as a CUDA graph."""
        from autograd_gpu.backends.cupy_graph import GraphRecorder

        return GraphRecorder()

    def device(self, x: Array) -> Any:
        """The cupy.cuda.Device of `x`."""
        return x.device

    def device_count(self) -> int:
        """The devices that this process sees."""
        return int(cp.cuda.runtime.getDeviceCount())

    def device_number(self, x: Array) -> int:
        """The id of the device of `x`."""
        return x.data.device_id  # type: ignore[no-any-return]

    def current_device(self) -> int:
        """The id of the device that is current in this thread."""
        return get_device_id()  # type: ignore[no-any-return]

    def use_device(self, number: int) -> int:
        """Let this thread use that device; the id of the one before."""
        before = get_device_id()
        if number != before:
            cp.cuda.runtime.setDevice(number)
        return before  # type: ignore[no-any-return]

    def to_device(self, x: Array, device: Any) -> Array:
        """A copy of `x` on another device, in the order of the current streams of both."""
        with x.device:
            source = cp.cuda.get_current_stream()
            ready = source.record()
        with cp.cuda.Device(device):
            stream = cp.cuda.get_current_stream()
            stream.wait_event(ready)
            # CuPy makes what has gaps contiguous first, there; the copy itself is stream's
            out = x.copy()
            done = stream.record()
        with x.device:  # whoever gets the memory of x next writes after the copy
            source.wait_event(done)
        return out

    def synchronize(self) -> None:
        """Wait until all work submitted to the current device is done."""
        cp.cuda.Device().synchronize()

    def memory(self) -> Mapping[str, int]:
        """Bytes 'used' by arrays and 'reserved' by the memory pool of the current device, and
        those that captured 'graphs' have in pools of their own."""
        from autograd_gpu.backends import cupy_graph_pools

        pool = getattr(cp.cuda.get_allocator(), "__self__", None)
        if not hasattr(pool, "used_bytes"):  # an allocator without a pool
            pool = cp.get_default_memory_pool()
        graphs = cupy_graph_pools.reserved()
        return {"used": pool.used_bytes(), "reserved": pool.total_bytes(), "graphs": graphs}

    def advice(self, error: BaseException) -> str | None:
        """For memory that is used up, kernels that do not compile, and errors of the device."""
        if isinstance(error, cp.cuda.memory.OutOfMemoryError):
            return (
                "results keep the graph beneath them alive: drop those that are done with, take "
                "smaller batches, no_grad where nothing is differentiated, or checkpoint()"
            )
        if isinstance(error, cp.cuda.compiler.CompileException):
            return (
                "CuPy could not compile a kernel: it has none for these dtypes (complex numbers, "
                "say, where only real ones are allowed), or the headers of another CUDA version "
                "are found first (see cupy.show_config(), unset CUDA_PATH), or the kernel is one "
                "of your own"
            )
        runtime, driver = cp.cuda.runtime.CUDARuntimeError, cp.cuda.driver.CUDADriverError
        if isinstance(error, (runtime, driver)):
            return (
                "an error on the device shows up at a later call than the one that made it; with "
                "CUDA_LAUNCH_BLOCKING=1 in the environment it shows up there"
            )
        return None

    def index_report(self) -> Any:
        """Looks at indices on the device and keeps the first that is out of range."""
        from autograd_gpu.backends.cupy_debug import IndexReport

        return IndexReport()

    def linalg_errors(self) -> Any:
        """Within it CuPy looks at what cuSOLVER reports, and raises LinAlgError."""
        import cupyx

        return cupyx.errstate(linalg="raise")

    def is_shared(self, x: Array) -> bool:
        """Whether `x` is a view of another buffer; views that repeat elements are."""
        # results of cupy's as_strided have no base
        flags = x.flags
        return x.base is not None or not (flags.c_contiguous or flags.f_contiguous)

    def host_generator(self, seed: int) -> np.random.Generator:
        """NumPy's generator, for the same numbers as on NumPy."""
        return np.random.Generator(np.random.PCG64(seed))


def _refuse_foreign(data: Any) -> None:
    # cupy.asarray would upload these without a word, also from within a list
    if isinstance(data, list | tuple):
        for item in data:
            _refuse_foreign(item)
    elif hasattr(data, "__dlpack__") and not isinstance(data, cp.ndarray | np.generic):
        raise TypeError(
            f"expected a CuPy array, a number or a list, got {type(data)}; "
            "arrays are not moved silently"
        )


def create() -> CupyBackend:
    """The backend; BackendError where CuPy sees no device or lacks a library of CUDA."""
    runtime = cp.cuda.runtime
    try:
        count = runtime.getDeviceCount()
    except runtime.CUDARuntimeError as error:
        raise BackendError(_no_device(error)) from error
    if count == 0:
        raise BackendError(f"CuPy {cp.__version__} sees no device; check CUDA_VISIBLE_DEVICES")
    try:
        cp.cuda.nvrtc.getVersion()
        return CupyBackend()
    except (ImportError, RuntimeError) as error:
        raise BackendError(
            f"CuPy {cp.__version__} cannot load a library of CUDA "
            f"{_version(runtime.runtimeGetVersion())} that it is built for ({error}); "
            f"most likely the wheel is for another CUDA version: {_INSTALL}"
        ) from error


# cudaError_t
_INSUFFICIENT_DRIVER, _NO_DEVICE = 35, 100


def _no_device(error: Any) -> str:
    runtime = cp.cuda.runtime
    has, needs = runtime.driverGetVersion(), runtime.runtimeGetVersion()
    if error.status == _INSUFFICIENT_DRIVER and has:
        return (
            f"the NVIDIA driver is too old: it supports CUDA {_version(has)}, CuPy "
            f"{cp.__version__} is built for {_version(needs)} ({error}); update it, or {_INSTALL}"
        )
    if error.status == _NO_DEVICE:
        return (
            f"CuPy {cp.__version__} sees no device: there is a driver, but no GPU, or "
            f"CUDA_VISIBLE_DEVICES hides it ({error})"
        )
    return (
        f"CuPy {cp.__version__} sees no device, because the NVIDIA driver is missing or too "
        f"old ({error}); {_INSTALL}"
    )


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"
