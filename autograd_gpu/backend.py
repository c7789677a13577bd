"""What the layers above may ask of an array library, and how one is picked.

`Backend` is the complete list of what a backend provides.  The implementations live in
`autograd_gpu.backends` and are loaded by name when first asked for; nothing under `autograd_gpu/`
imports them, NumPy or CuPy.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from autograd_gpu.guards import guard
from autograd_gpu.recorder import Recorder

Array: TypeAlias = Any
"""A backend's own array: numpy.ndarray or cupy.ndarray."""

Namespace: TypeAlias = Any
"""A module-like object with the array API's functions; see `Backend.xp`."""


class BackendError(ImportError):
    """A backend was asked for that cannot work on this machine; the message says why."""


class Uploader(Protocol):
    """Copies from the host that run beside what the thread that made it computes."""

    def working(self) -> AbstractContextManager[None]:
        """For other threads: what they compute inside is ordered with the maker's work."""
        ...

    def send(self, x: Any) -> Any:
        """Begin to copy a NumPy array; `receive` takes what this returns."""
        ...

    def receive(self, sent: Any) -> Array:
        """The array on the device, which later work of the maker sees complete."""
        ...


class Backend(Protocol):
    """An array library, as far as this project uses one.

    `xp` is the backend's array_api_compat namespace with a few names added or replaced, which the
    forwards and derivatives of ops use like any other:

    - `assign(x, index, v)`: `x[index] = v` in place; where the index repeats an element, the last
      write wins
    - `conj(x)`: real arrays and Python numbers come back as they are, not copied
    - `matmul(a, b)`, NumPy's rules; transposed views are multiplied as they are
    - `scatter_add(g, index, shape)`: zeros of `shape` with `g` added at `index` (anything that
      indexes an array); repeated indices add up, in the same order every time
    - `masked(x, mask)`: `x` where the mask holds, or numbers in its place are not 0; 0 elsewhere
    - `windows(x, size, stride, dilation)`: a read-only view [..., *out, *size] of the windows over
      the last `len(size)` axes
    - `special.name(...)`: the functions of scipy.special, or a clear ImportError
    - `conv`, `conv_input`, `conv_weight` and the pooling functions of `ops.convolution` and
      `ops.pooling`, with the same arguments
    - optionally, faster forms of the steps that `ops.kernels.kernel` marks, by their names
    """

    @property
    def name(self) -> str:
        """'numpy' or 'cupy'."""
        ...

    @property
    def xp(self) -> Namespace:
        """The namespace in which forwards and derivatives are computed."""
        ...

    @property
    def array_type(self) -> type:
        """The exact type of this backend's arrays, also of 0-d ones."""
        ...

    def asarray(self, data: Any, dtype: Any = None) -> Array:
        """An array of this backend from a number, a list or its own arrays and scalars.

        Never moves an array from another backend: that raises TypeError.
        """
        ...

    def to_host(self, x: Array) -> Any:
        """A NumPy copy of `x`; waits for the device."""
        ...

    def from_host(self, x: Any, device: Any = None) -> Array:
        """A copy of the NumPy array `x` on this backend."""
        ...

    def uploader(self) -> Uploader:
        """For copies to the device that current computation does not wait for."""
        ...

    def recorder(self) -> Recorder:
        """For one run of a step that is to be replayed; see `compile`."""
        ...

    def device(self, x: Array) -> Any:
        """Where `x` lives, as the array API's `device` attribute says it."""
        ...

    def device_count(self) -> int:
        """How many devices arrays may live on."""
        ...

    def device_number(self, x: Array) -> int:
        """The number of the device of `x`."""
        ...

    def current_device(self) -> int:
        """The number of the device on which this thread computes."""
        ...

    def use_device(self, number: int) -> int:
        """Let this thread compute on that device from now on; the number of the one before."""
        ...

    def to_device(self, x: Array, device: Any) -> Array:
        """A copy of `x` on another device of this backend; waits for nothing."""
        ...

    def synchronize(self) -> None:
        """Wait until all work submitted to the current device is done."""
        ...

    def memory(self) -> Mapping[str, int]:
        """Bytes in use and reserved by the allocator; empty where there is no pool."""
        ...

    def advice(self, error: BaseException) -> str | None:
        """What to do about an error that comes from this library's device or compiler."""
        ...

    def index_report(self) -> Any:
        """Looks at indices on the device (`add`, `error`); None where indexing raises by itself."""
        ...

    def linalg_errors(self) -> AbstractContextManager[Any]:
        """Within it a singular matrix and the like raise LinAlgError, which may wait."""
        ...

    def is_shared(self, x: Array) -> bool:
        """Whether `x` is a view of another buffer, or has a layout that cannot be written into."""
        ...

    def host_generator(self, seed: int) -> Any:
        """A numpy.random.Generator: it draws on the host, the same numbers on every backend."""
        ...

    def steps(
        self,
        name: str,
        arrays: Sequence[Sequence[Array | None]],
        options: Callable[[], Mapping[str, Any]],
        copies: Sequence[Array | None] | None = None,
    ) -> None:
        """`{name}_step(*arrays[i], **options())` for every i, with one call of `options`.

        `copies[i]`, where given, takes the new value of the parameter `arrays[i][0]`.  In a
        recorded step `options` is called again for each repetition.
        """
        ...

    def sgd_step(
        self,
        param: Array,
        grad: Array,
        buffer: Array | None,
        *,
        lr: float,
        momentum: float,
        dampening: float,
        weight_decay: float,
        nesterov: bool,
        first: bool,
    ) -> None:
        """One SGD step in place on `param` and the momentum `buffer`, as in PyTorch's SGD."""
        ...

    def adam_step(
        self,
        param: Array,
        grad: Array,
        m: Array,
        v: Array,
        *,
        lr: float,
        beta1: float,
        beta2: float,
        eps: float,
        weight_decay: float,
        decoupled: bool,
        step: int,
    ) -> None:
        """One Adam (or, decoupled, AdamW) step in place on `param`, `m` and `v`."""
        ...

    def rmsprop_step(
        self,
        param: Array,
        grad: Array,
        square: Array,
        buffer: Array | None,
        average: Array | None,
        *,
        lr: float,
        alpha: float,
        eps: float,
        weight_decay: float,
        momentum: float,
    ) -> None:
        """One RMSprop step in place on `param` and the states that are given."""
        ...

    def adagrad_step(
        self, param: Array, grad: Array, total: Array, *, lr: float, eps: float, weight_decay: float
    ) -> None:
        """One Adagrad step in place on `param` and the sum of squares `total`."""
        ...

    def lion_step(
        self,
        param: Array,
        grad: Array,
        m: Array,
        *,
        lr: float,
        beta1: float,
        beta2: float,
        weight_decay: float,
    ) -> None:
        """One Lion step in place on `param` and `m`."""
        ...

    def average_step(self, average: Array, x: Array, *, decay: float) -> None:
        """`average` moved by 1 - `decay` of its distance to `x`, in place."""
        ...


NAMES = ("numpy", "cupy")

# The look-ups of the hot path: the exact type of an array leads to its namespace and backend.
# The layer of ops adds Variable to NAMESPACES, so that derivatives can be run on Variables.
NAMESPACES: dict[type, Namespace] = {}
BACKENDS: dict[type, Backend] = {}

# What an op asks first: as NAMESPACES, but for arrays that may live on one of several devices.
# Their ops take the longer way, where devices are looked at, so that nobody else pays for that.
ON_ONE_DEVICE: dict[type, Namespace] = {}
SEVERAL_DEVICES: list[Backend] = []

_loaded: dict[str, Backend] = {}
_chosen: str | None = None
_using: ContextVar[str | None] = ContextVar("autograd_gpu.backend", default=None)


def load_backend(name: str) -> Backend:
    """The backend called `name`; loaded on first use, with a BackendError where it cannot work."""
    backend = _loaded.get(name)
    if backend is None:
        if name not in NAMES:
            raise ValueError(f"backend {name!r} is unknown; choose one of {NAMES} or 'auto'")
        module = importlib.import_module(f"autograd_gpu.backends.{name}_backend")
        backend = module.create()
        register(backend)
        _loaded[name] = backend
    return backend


def register(backend: Backend) -> None:
    """Let ops take the arrays of this backend."""
    NAMESPACES[backend.array_type] = backend.xp
    BACKENDS[backend.array_type] = backend
    count_devices(backend)


def count_devices(backend: Backend) -> None:
    """Look how many devices the backend has, and choose the way that its ops take."""
    if backend in SEVERAL_DEVICES:
        SEVERAL_DEVICES.remove(backend)
    if backend.device_count() > 1:
        SEVERAL_DEVICES.append(backend)
        ON_ONE_DEVICE.pop(backend.array_type, None)
    else:
        ON_ONE_DEVICE[backend.array_type] = backend.xp


def _find_backends() -> None:
    """Let a checkout that is not installed, or stands before the installed package on the path,
    find its folder backends/, which only an installation puts inside the package."""
    name = "autograd_gpu.backends"
    if name in sys.modules or importlib.util.find_spec(name) is not None:
        return
    folder = Path(__file__).resolve().parents[1] / "backends"
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None or not folder.is_dir():
        raise ModuleNotFoundError(f"{name} is not installed, nor is there a folder {folder}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


def loaded_backends() -> list[Backend]:
    """The backends that are in use so far, the current one among them."""
    current_backend()
    return list(_loaded.values())


def memory_figures() -> str:
    """What the memory pools hold, in words, for errors; empty where there is no pool."""
    parts = []
    for backend in _loaded.values():
        figures = backend.memory()
        if figures:
            sizes = ", ".join(f"{size:,} bytes {name}" for name, size in figures.items())
            parts.append(f"{backend.name}'s memory pool: {sizes}")
    return "; ".join(parts)


def explain_resources(error: BaseException) -> None:
    """Note in an error what the memory pools hold, if it is about memory, and what to do."""
    if isinstance(error, MemoryError):
        figures = memory_figures()
        if figures:
            error.add_note(figures)
    for backend in _loaded.values():
        advice = backend.advice(error)
        if advice is not None and advice not in getattr(error, "__notes__", ()):
            error.add_note(advice)


def find_backend(x: object) -> Backend | None:
    """The backend whose array or scalar `x` is, or None; never imports an array library anew."""
    backend = BACKENDS.get(type(x))
    if backend is not None:
        return backend
    for cls in type(x).__mro__:
        if cls in BACKENDS:
            return BACKENDS[cls]
        root = cls.__module__.partition(".")[0]
        if root in NAMES and hasattr(x, "dtype"):
            return load_backend(root)
    return None


def backend_of(x: object) -> Backend:
    """The backend whose array `x` is; TypeError for anything else."""
    backend = find_backend(x)
    if backend is None:
        raise TypeError(
            f"expected a NumPy or CuPy array or a Variable, got {type(x).__name__}: {x!r:.80}"
        )
    return backend


def set_backend(name: str) -> None:
    """Choose the backend of new arrays: 'numpy', 'cupy', or 'auto' (CuPy if it sees a GPU).

    Existing arrays stay where they are.  Raises BackendError where the backend cannot work.

    >>> set_backend("numpy")
    >>> get_backend()
    'numpy'
    """
    global _chosen
    if name != "auto":
        load_backend(name)
    _chosen = name


class use_backend(guard):
    """`set_backend` for the length of a with statement or a decorated call, in this thread or task
    only.

    >>> with use_backend("numpy"):
    ...     get_backend()
    'numpy'
    """

    mode = _using
    replaced: ContextVar[tuple[Any, ...]] = ContextVar("autograd_gpu.replaced_backend", default=())

    def __init__(self, name: str) -> None:
        super().__init__(name)
        if name != "auto":
            load_backend(name)


def current_backend() -> Backend:
    """The backend in which new arrays are made."""
    name = _using.get() or _chosen or os.environ.get("AUTOGRAD_GPU_BACKEND") or "auto"
    return _auto() if name == "auto" else load_backend(name)


def get_backend() -> str:
    """The name of the backend in which new arrays are made.

    Unless `use_backend`, `set_backend` or the environment variable AUTOGRAD_GPU_BACKEND says
    otherwise, that is 'cupy' where CuPy is installed and sees a GPU, and 'numpy' elsewhere.
    """
    return current_backend().name


def available_backends() -> list[str]:
    """The names of the backends that work on this machine.

    >>> "numpy" in available_backends()
    True
    """
    return [name for name in NAMES if _works(name)]


def _works(name: str) -> bool:
    try:
        load_backend(name)
    except BackendError:
        return False
    return True


_automatic: Backend | None = None


def _auto() -> Backend:
    # Asked once: whether a machine has a GPU does not change, and looking costs an import of CuPy.
    global _automatic
    if _automatic is None:
        _automatic = load_backend("cupy" if _works("cupy") else "numpy")
    return _automatic


def same_home(a: Backend, b: Backend) -> bool:
    """Whether arrays of both may meet in an op.

    While a step is recorded, a backend of its own has stand-ins for the arrays of another.
    """
    return a is b or getattr(a, "stands_for", None) is b or getattr(b, "stands_for", None) is a


def backend_mismatch(op: str, operands: Sequence[object]) -> TypeError:
    """The error for an op whose operands live on different backends."""
    kinds = ", ".join(
        f"{backend.name} array of shape {getattr(x, 'shape', ())}"
        if (backend := find_backend(x)) is not None
        else type(x).__name__
        for x in operands
    )
    return TypeError(
        f"{op}: operands live on different backends ({kinds}); nothing is moved silently, "
        f"use .to('cupy') or .to('numpy') on one of them"
    )


_find_backends()
