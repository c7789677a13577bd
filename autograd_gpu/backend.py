"""Which backends there are, which arrays belong to which, and how one is picked.

The implementations live in `autograd_gpu.backends` and are loaded by name when first asked for;
nothing under `autograd_gpu/` imports them, NumPy or CuPy.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Sequence
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

from autograd_gpu.backend_api import (
    Array as Array,
    Backend as Backend,
    BackendError as BackendError,
    Namespace as Namespace,
    Uploader as Uploader,
)
from autograd_gpu.guards import guard

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
    name = _using.get() or _chosen or _from_environment()
    return _auto() if name == "auto" else load_backend(name)


@cache
def _from_environment() -> str:
    """Asked once: a look into the environment takes longer than all else here."""
    return os.environ.get("AUTOGRAD_GPU_BACKEND") or "auto"


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
