"""The Recorder of a backend that can not replay: steps run eagerly, and are told why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from autograd_gpu.recorder import Replay


class NoRecorder:
    """See `autograd_gpu.recorder.Recorder` for what the members mean."""

    recordings = 1
    by_update = False
    counters = None

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def record(
        self, run: Callable[[Sequence[Any]], list[Any]], given: Sequence[Any]
    ) -> tuple[list[Any], Replay | str]:
        return run(given), self.reason

    def rehearsal(self) -> AbstractContextManager[None]:
        return nullcontext()

    def reads(self, variable: Any, slot: str, held: Any) -> Any:
        return held

    def writes(self, variable: Any, slot: str, array: Any, is_new: bool) -> None:
        pass

    def numbers(self, read: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        return read()

    def on_failure(self, undo: Callable[[], object]) -> None:
        pass

    def update(self, change: Callable[..., None], variables: Any, *args: Any) -> None:
        change(variables, *args)

    def depends(self, read: Callable[[], Any]) -> None:
        pass

    def refuse(self, reason: str) -> None:
        pass
