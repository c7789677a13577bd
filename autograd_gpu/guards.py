"""Context managers that set a mode, and decorate functions, generators and coroutines with it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextvars import ContextVar
from types import TracebackType
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")


class guard:
    """Sets a mode for the length of a with statement or of a decorated call; guards nest.

    A subclass says which mode.  The replaced values are kept in a context variable rather than in
    the guard, so that one guard object may be entered again, and by several threads at once.
    """

    mode: ContextVar[Any]
    replaced: ContextVar[tuple[Any, ...]]

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Without parentheses, as in `@no_grad`, it is the decorated function that arrives here."""
        if len(args) == 1 and inspect.isroutine(args[0]):
            make: Any = cls  # a subclass, which knows its value
            return make()(args[0])
        return super().__new__(cls)

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
        if not callable(function) or inspect.isclass(function):
            raise TypeError(
                f"{type(self).__name__} decorates functions, not {function!r:.60}; "
                f"decorate the methods of a class one by one"
            )
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
