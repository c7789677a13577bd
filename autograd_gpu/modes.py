"""Grad mode and anomaly mode: whether ops record, and how much they remember while recording.

Both are context variables, so every thread and every asyncio task has its own.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextvars import ContextVar
from types import TracebackType
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")

recording: ContextVar[bool] = ContextVar("autograd_gpu.recording", default=True)
anomaly: ContextVar[bool] = ContextVar("autograd_gpu.anomaly", default=False)

# What carries tangents forward (`autograd_gpu.forward.Level`), the outermost first.
levels: ContextVar[tuple[Any, ...]] = ContextVar("autograd_gpu.levels", default=())

# One entry for each watched guard that any thread or task is in: empty, it spares every op and
# backward the look at the context variables.
watching: list[None] = []


def is_grad_enabled() -> bool:
    """Whether ops record in this thread (or task)."""
    return recording.get()


class guard:
    """Sets a mode for the length of a with statement or of a decorated call; guards nest.

    The replaced values are kept in a context variable rather than in the guard, so that one guard
    object may be entered again, and by several threads at once.
    """

    mode: ContextVar[Any] = recording
    replaced: ContextVar[tuple[Any, ...]] = ContextVar("autograd_gpu.replaced", default=())

    def __init__(self, value: Any) -> None:
        self.value = value

    def __enter__(self) -> None:
        self.replaced.set((self.mode.get(), self.replaced.get()))
        self.mode.set(self.value)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        value, outer = self.replaced.get()
        self.mode.set(value)
        self.replaced.set(outer)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """`function` with the mode set while its own code runs.

        Of generators and coroutines every step is guarded by itself: between two steps the caller
        has its own mode again.
        """
        same = type(self).__new__(type(self))
        same.value = self.value
        if inspect.isasyncgenfunction(function):

            @functools.wraps(function)
            async def stream(*args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[Any, Any]:
                inner = function(*args, **kwargs)
                step = inner.__anext__()
                try:
                    while True:
                        try:
                            item = await _Steps(step, same)
                        except StopAsyncIteration:
                            return
                        try:
                            sent = yield item
                        except GeneratorExit:
                            raise
                        except BaseException as error:
                            step = inner.athrow(error)
                        else:
                            step = inner.asend(sent)
                finally:
                    await _Steps(inner.aclose(), same)

            return cast(Callable[P, R], stream)
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def coroutine(*args: P.args, **kwargs: P.kwargs) -> Any:
                return await _Steps(function(*args, **kwargs), same)

            return cast(Callable[P, R], coroutine)
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generator(*args: P.args, **kwargs: P.kwargs) -> Generator[Any, Any, Any]:
                return (yield from _guarded(function(*args, **kwargs), same))

            return cast(Callable[P, R], generator)

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            with same:
                return function(*args, **kwargs)

        return call


def _guarded(inner: Any, mode: guard) -> Generator[Any, Any, Any]:
    """Drive `inner` (a generator or coroutine), with `mode` entered for each of its steps."""
    advance: Callable[[], Any] = functools.partial(inner.send, None)
    try:
        while True:
            try:
                with mode:
                    item = advance()
            except StopIteration as stop:
                return stop.value
            try:
                sent = yield item
            except GeneratorExit:
                raise
            except BaseException as error:
                advance = functools.partial(inner.throw, error)
            else:
                advance = functools.partial(inner.send, sent)
    finally:
        with mode:
            inner.close()


class _Steps:
    """An awaitable that drives another one with a guard around each step."""

    def __init__(self, inner: Coroutine[Any, Any, Any], mode: guard) -> None:
        self.inner = inner
        self.mode = mode

    def __await__(self) -> Generator[Any, Any, Any]:
        return _guarded(self.inner, self.mode)


class no_grad(guard):
    """Context manager and decorator: ops inside record nothing and return plain leaves.

    >>> x = Variable(3.0, requires_grad=True)
    >>> with no_grad():
    ...     y = x * x
    >>> y.requires_grad
    False
    """

    def __init__(self) -> None:
        super().__init__(False)


class enable_grad(guard):
    """Context manager and decorator: ops inside record, also within a `no_grad`."""

    def __init__(self) -> None:
        super().__init__(True)


class set_grad_enabled(guard):
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
