"""Several devices: which one is current in a thread, and what belongs to which.

Programs see one device unless `devices(2)` says otherwise.  All memory is the host's, so a kernel
could read across devices here; CuPy itself refuses that, as no device has access to another's
memory, and for cuBLAS, streams and modules the emulation does.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from .errors import IllegalCall

MOST = 4

_visible = 1
_thread = threading.local()
_streams: dict[int, int] = {}


@contextmanager
def devices(count: int) -> Iterator[None]:
    """Let the process see so many devices within the with statement, MOST at most."""
    global _visible
    assert 0 <= count <= MOST
    before = _visible
    _visible = count
    try:
        yield
    finally:
        _visible = before
        use(0)


def visible() -> int:
    return _visible


def current() -> int:
    """The current device of this thread, 0 at first."""
    return getattr(_thread, "number", 0)


def use(number: int) -> None:
    _thread.number = number


def own_stream(stream: int) -> int:
    """Note that the stream belongs to the current device."""
    _streams[stream] = current()
    return stream


def check_stream(stream: int, what: str) -> None:
    """Raise IllegalCall for a stream of another device; the default streams are of every one."""
    owner = _streams.get(stream)
    if owner is not None and owner != current():
        raise IllegalCall(
            f"{what} on a stream of device {owner}, while device {current()} is current"
        )


def check_current(number: int, what: str) -> None:
    if number != current():
        raise IllegalCall(f"{what} on device {number}, while device {current()} is current")
