"""Waiting, memory, and switches that look for errors which a device does not report by itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from autograd_gpu.backend import BackendError, current_backend, load_backend, loaded_backends
from autograd_gpu.ops import debug


def synchronize() -> None:
    """Wait until all work submitted to the current device is done, as for timing; on NumPy that is
    always so."""
    for backend in loaded_backends():
        backend.synchronize()


def memory_summary() -> str:
    """The bytes in use and reserved by each backend's allocator, a line for each.

    On CuPy those of the current device; what captured `graphs` reserve comes on top.  NumPy has no
    pool of its own, and so no figures.

    >>> print(memory_summary().splitlines()[0])
    numpy: no memory pool
    """
    lines = []
    for backend in loaded_backends():
        figures = backend.memory()
        parts = ", ".join(f"{name} {size:,} bytes" for name, size in figures.items())
        lines.append(f"{backend.name}: {parts or 'no memory pool'}")
    return "\n".join(lines)


@contextmanager
def debug_indices() -> Iterator[None]:
    """Find array indices that are out of range on a GPU, where they wrap around silently.

    Every indexing op within the with statement, in all threads, has its indices checked on the
    device.  Nothing waits until the end, where the first one found raises IndexError.

    >>> with debug_indices():
    ...     y = Variable([1.0, 2.0])[[0, 1]]
    """
    try:
        report = load_backend("cupy").index_report()
    except BackendError:
        report = None
    if report is None:
        yield
        return
    debug.active.append(report)
    try:
        yield
    finally:
        debug.active.remove(report)
    message = report.error()
    if message is not None:
        raise IndexError(message)


@contextmanager
def raise_linalg_errors() -> Iterator[None]:
    """Let linear algebra raise LinAlgError for singular matrices and the like on a GPU too.

    CuPy otherwise returns NaN or garbage there, since to look takes a wait for each call.  NumPy
    always raises.
    """
    with current_backend().linalg_errors():
        yield
