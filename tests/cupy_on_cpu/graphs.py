"""Stream capture: what a captured stream is given to do is kept, and done when the graph runs.

The rules are CUDA's.  A call that is illegal while a stream captures raises the error that CUDA
gives and spoils the capture: whatever comes next in it raises too, the end of the capture included,
after which the stream is as good as new.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

from . import counters

Work = Callable[[], None]

GLOBAL, THREAD_LOCAL, RELAXED = 0, 1, 2  # cudaStreamCaptureMode

# cudaError_t
_ILLEGAL_STATE = 401
_UNSUPPORTED = 900
_INVALIDATED = 901
_ISOLATION = 905
_IMPLICIT = 906

LEGACY = 0
_LEGACY_STREAMS = (LEGACY, 1)


@dataclass
class _Capture:
    mode: int
    thread: int
    blocking: bool
    work: list[Work] = field(default_factory=list)
    spoiled: str = ""


_captured: dict[int, _Capture] = {}
_graphs: dict[int, list[Work]] = {}


def is_capturing(stream: int) -> bool:
    return stream in _captured


def is_spoiled(stream: int) -> bool:
    """Whether an illegal call has spoiled the stream's capture, which has not been ended yet."""
    return stream in _captured and bool(_captured[stream].spoiled)


def do(stream: int, work: Work, what: str = "work") -> None:
    """Do the work now, or keep it if the stream captures."""
    capture = _captured.get(stream)
    if capture is None:
        if stream in _LEGACY_STREAMS and any(c.blocking for c in _captured.values()):
            _fail(_IMPLICIT, f"{what} on the legacy stream, which waits for blocking streams")
        counters.stream(stream)
        work()
        return
    if capture.spoiled:
        _fail(_INVALIDATED, f"{what} after {capture.spoiled}")
    capture.work.append(work)


def refuse(what: str, stream: int | None = None) -> None:
    """Raise for what no capture can go on beside, on this stream or, without one, anywhere."""
    if stream is None:
        _refuse(what, list(_captured.values()))
    elif stream in _captured:
        _refuse(what, [_captured[stream]])


def refuse_unsafe(what: str) -> None:
    """Raise for calls such as cudaMalloc, which graphs do not repeat, unless captures are relaxed.

    A relaxed capture lets its own thread make them, a thread-local one all other threads.
    """
    here = threading.get_ident()
    _refuse(
        what,
        [
            c
            for c in _captured.values()
            if c.mode == GLOBAL or (c.mode == THREAD_LOCAL and c.thread == here)
        ],
    )


def refuse_event(what: str) -> NoReturn:
    """Raise for work that is not in the capture and would have to wait for it, or it for that."""
    _spoil(what, list(_captured.values()))
    _fail(_ISOLATION, what)


def _refuse(what: str, captures: list[_Capture]) -> None:
    if captures:
        _spoil(what, captures)
        _fail(_UNSUPPORTED, what)


def _spoil(what: str, captures: list[_Capture]) -> None:
    for capture in captures:
        capture.spoiled = capture.spoiled or what
        capture.work.clear()


def _fail(status: int, what: str) -> NoReturn:
    from cupy_backends.cuda.api.runtime import CUDARuntimeError

    error = CUDARuntimeError(status)
    error.add_note(f"during stream capture: {what}")
    raise error


def begin(stream: int, mode: int, blocking: bool) -> None:
    if stream in _captured or stream in _LEGACY_STREAMS:
        _fail(_ILLEGAL_STATE, "cudaStreamBeginCapture of a stream that captures, or cannot")
    _captured[stream] = _Capture(mode, threading.get_ident(), blocking)


def end(stream: int, graph: int) -> int:
    capture = _captured.pop(stream, None)
    if capture is None:
        _fail(_ILLEGAL_STATE, "cudaStreamEndCapture of a stream that does not capture")
    if capture.spoiled:
        _fail(_INVALIDATED, f"cudaStreamEndCapture after {capture.spoiled}")
    _graphs[graph] = capture.work
    return graph


def instantiate(graph: int, executable: int) -> int:
    _graphs[executable] = _graphs[graph]
    return executable


def launch(executable: int, stream: int) -> None:
    counters.graph_launch()
    for work in _graphs[executable]:
        do(stream, work)


def destroy(handle: int) -> None:
    _graphs.pop(handle, None)
