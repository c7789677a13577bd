"""Grad mode and anomaly mode: whether ops record, and how much they remember while recording.

Both are context variables, so every thread and every asyncio task has its own.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from autograd_gpu.guards import guard

P = ParamSpec("P")
R = TypeVar("R")

recording: ContextVar[bool] = ContextVar("autograd_gpu.recording", default=True)
anomaly: ContextVar[bool] = ContextVar("autograd_gpu.anomaly", default=False)

# What carries tangents forward (`autograd_gpu.forward.Level`), the outermost first.
levels: ContextVar[tuple[Any, ...]] = ContextVar("autograd_gpu.levels", default=())

# One entry for each watched guard that any thread or task is in: empty, it spares every op and
# backward the look at the context variables.
watching: list[None] = []

# One entry while the slots of Variable are properties (`autograd_gpu.slots`), which compiled calls
# would pass by.
replaced_slots: list[None] = []


def is_grad_enabled() -> bool:
    """Whether ops record in this thread (or task)."""
    return recording.get()


class recording_guard(guard):
    """Sets whether ops record."""

    mode = recording
    replaced: ContextVar[tuple[Any, ...]] = ContextVar("autograd_gpu.replaced", default=())


class no_grad(recording_guard):
    """Context manager and decorator: ops inside record nothing and return plain leaves.

    >>> x = Variable(3.0, requires_grad=True)
    >>> with no_grad():
    ...     y = x * x
    >>> y.requires_grad
    False
    """

    def __init__(self) -> None:
        super().__init__(False)


class enable_grad(recording_guard):
    """Context manager and decorator: ops inside record, also within a `no_grad`."""

    def __init__(self) -> None:
        super().__init__(True)


class set_grad_enabled(recording_guard):
    """Turns recording on or off: from the call on, or for the length of a with statement.

    As a decorator it sets the mode for the decorated calls only.

    >>> previous = is_grad_enabled()
    >>> with set_grad_enabled(False):
    ...     is_grad_enabled()
    False
    >>> is_grad_enabled() == previous
    True
    """

    def __init__(self, mode: bool) -> None:
        super().__init__(bool(mode))
        self.before = self.mode.get()
        self.mode.set(self.value)

    def __enter__(self) -> None:
        # The call has set the mode already; what a with statement restores is what was before it.
        self.replaced.set((self.before, self.replaced.get()))
        self.mode.set(self.value)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        self.mode.set(self.before)
        plain = enable_grad() if self.value else no_grad()
        return plain(function)


class watched_guard(guard):
    """A guard of a mode that is rarely on, which `watching` tells without a look at the mode."""

    def __enter__(self) -> None:
        watching.append(None)
        super().__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        super().__exit__(kind, error, traceback)
        watching.pop()


class detect_anomaly(watched_guard):
    """Context manager and decorator for finding a faulty derivative.

    Ops recorded inside remember the line that called them, and an exception in their backward
    shows it.  A backward run inside raises RuntimeError at the first gradient that holds a NaN;
    looking for NaNs waits for the device after every op, so this is for debugging.

    >>> x = Variable(1.0, requires_grad=True)
    >>> with detect_anomaly():
    ...     y = x * float("nan")
    ...     y.backward()
    Traceback (most recent call last):
    RuntimeError: the backward of multiply returned a NaN for input 0
    """

    mode = anomaly
    replaced: ContextVar[tuple[Any, ...]] = ContextVar("autograd_gpu.replaced_anomaly", default=())

    def __init__(self) -> None:
        super().__init__(True)
