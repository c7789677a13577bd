"""cuBLAS while a CUDA graph is captured: through nvmath-python, since CuPy refuses to call it then.

CuPy 14.2's wrapper raises NotImplementedError on a capturing stream (cupy/cupy#6290).  The library
itself can be captured, given a workspace that outlives the graph; it would allocate one otherwise.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import cupy as cp

Array = Any

# What cuBLAS's manual recommends for compute capability 9 and above, and below.
_WORKSPACE, _SMALL_WORKSPACE = 32 << 20, 4 << 20

INSTALL = (
    "products in a captured step need nvmath-python: pip install 'autograd_gpu[graphs13]', or "
    "[graphs12] beside CuPy for CUDA 12"
)

Calls = tuple[int, Callable[..., None], Callable[..., None]]
"""A handle, cublasGemmEx and cublasGemmStridedBatchedEx."""


class _Current(threading.local):
    # None stands for CuPy's own handle and wrapper
    calls: Calls | None = None


current = _Current()


def new_workspace() -> Array:
    """Memory for what cuBLAS computes on the side; a graph keeps its own alive."""
    major = int(cp.cuda.Device().compute_capability) // 10
    return cp.empty(_WORKSPACE if major >= 9 else _SMALL_WORKSPACE, "uint8")


@contextmanager
def capturable(stream: Any, workspace: Array) -> Iterator[None]:
    """Within it this thread's products run on `stream` and can be captured.

    Without nvmath-python they stay with CuPy until the stream captures, and raise then.
    """
    previous = current.calls
    current.calls = _calls(stream, workspace)
    try:
        yield
    finally:
        current.calls = previous


# A handle is expensive to make, and lives on, as CuPy's do.
_handles = threading.local()


def _calls(stream: Any, workspace: Array) -> Calls | None:
    try:
        from nvmath.bindings import cublas
    except ImportError:
        return None
    known: dict[int, int] = _handles.__dict__
    device = f"device {cp.cuda.Device().id}"
    if device not in known:
        known[device] = cublas.create()
    handle = known[device]
    cublas.set_stream(handle, stream.ptr)  # forgets the workspace, so this comes first
    cublas.set_workspace(handle, workspace.data.ptr, workspace.nbytes)
    return handle, cublas.gemm_ex, cublas.gemm_strided_batched_ex
