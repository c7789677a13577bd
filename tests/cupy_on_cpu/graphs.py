"""Stream capture: what a captured stream is given to do is kept, and done when the graph runs."""

from __future__ import annotations

from collections.abc import Callable

from . import counters

Work = Callable[[], None]

_captured: dict[int, list[Work]] = {}
_graphs: dict[int, list[Work]] = {}


def is_capturing(stream: int) -> bool:
    return stream in _captured


def do(stream: int, work: Work) -> None:
    """Do the work now, or keep it if the stream captures."""
    if stream in _captured:
        _captured[stream].append(work)
    else:
        work()


def refuse(what: str, stream: int | None = None) -> None:
    """Raise as CUDA does for calls that are illegal while a stream captures."""
    if stream in _captured if stream is not None else _captured:
        raise RuntimeError(f"cudaErrorStreamCaptureUnsupported: {what} during stream capture")


def begin(stream: int) -> None:
    if stream in _captured:
        raise RuntimeError("cudaErrorIllegalState: the stream captures already")
    _captured[stream] = []


def end(stream: int, graph: int) -> int:
    _graphs[graph] = _captured.pop(stream)
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
