"""cuBLAS while a CUDA graph is captured: through nvmath-python, since CuPy refuses to call it then.

CuPy 14.2's wrapper raises NotImplementedError on a capturing stream (cupy/cupy#6290).  The library
itself can be captured, given a workspace that lives as long as the graph; it would allocate one.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import cupy as cp

from autograd_gpu.recorder import NotReplayable

Array = Any

Calls = tuple[int, Callable[..., None], Callable[..., None], Callable[..., None]]
"""A handle, cublasGemmEx, cublasGemmStridedBatchedEx and cublasGemmBatchedEx."""

# What cuBLAS's manual recommends for compute capability 9 and above, and below.
_WORKSPACE, _SMALL_WORKSPACE = 32 << 20, 4 << 20

INSTALL = (
    "CuPy cannot call cuBLAS while a graph is captured; install nvmath-python: "
    '`pip install "autograd_gpu[graphs13]"`, or [graphs12] beside CuPy for CUDA 12'
)


class _Route(threading.local):
    # None: CuPy's own handle and wrapper
    products: Products | None = None


class Products:
    """The cuBLAS of one recorded step, or of the eager run before it.

    Without it, which `missing` explains, that eager run is left to CuPy, and `calls` raises in the
    recorded one.
    """

    def __init__(self) -> None:
        self._cublas: Any = None
        self._handle = 0
        self.missing = ""
        try:
            self._cublas = importlib.import_module("nvmath.bindings.cublas")
            self._handle = _handle(self._cublas)
        except ImportError:
            self.missing = INSTALL
        except Exception as error:  # it has errors of its own for libraries that it does not find
            self.missing = f"nvmath-python cannot use cuBLAS: {type(error).__name__}: {error}"
        self._stream: int | None = None
        self.workspace: Array | None = None

    def calls(self) -> Calls:
        """What to call on the current stream; NotReplayable if cuBLAS is `missing`."""
        cublas, handle = self._cublas, self._handle
        if self.missing:
            raise NotReplayable(self.missing)
        stream = cp.cuda.get_current_stream().ptr
        if stream != self._stream:
            if self.workspace is None:
                self.workspace = _new_workspace()
            cublas.set_stream(handle, stream)  # forgets the workspace, so this comes first
            cublas.set_workspace(handle, self.workspace.data.ptr, self.workspace.nbytes)
            self._stream = stream
        return handle, cublas.gemm_ex, cublas.gemm_strided_batched_ex, cublas.gemm_batched_ex


route = _Route()


@contextmanager
def captured_products() -> Iterator[Products]:
    """Within it this thread's products can be captured."""
    with _routed(Products()) as products:
        yield products


@contextmanager
def rehearsed_products() -> Iterator[None]:
    """Within it this thread's products take the way that captured ones take, if there is one: what
    cuBLAS loads for them is loaded then."""
    products = Products()
    with _routed(None if products.missing else products):
        yield


@contextmanager
def _routed(products: Products | None) -> Iterator[Any]:
    previous = route.products
    route.products = products
    try:
        yield products
    finally:
        route.products = previous


# A handle is expensive to make, and lives on, as CuPy's do.
_handles = threading.local()


def _handle(cublas: Any) -> int:
    known: dict[str, int] = _handles.__dict__
    device = f"device {cp.cuda.Device().id}"
    if device not in known:
        known[device] = cublas.create()
    return known[device]


def _new_workspace() -> Array:
    major = int(cp.cuda.Device().compute_capability) // 10
    return cp.empty(_WORKSPACE if major >= 9 else _SMALL_WORKSPACE, "uint8")
