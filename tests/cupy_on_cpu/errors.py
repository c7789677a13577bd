"""The errors of the emulation; whatever it cannot do right raises one of them by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


class NotEmulated(NotImplementedError):
    """Part of CUDA that the emulation does not have."""

    def __init__(self, part: str, what: str) -> None:
        super().__init__(f"{part} is not emulated: {what}")


class IllegalCall(AssertionError):
    """A call that CUDA or cuBLAS would refuse or answer with garbage."""


class HostCompileError(RuntimeError):
    """NVRTC accepts a kernel, but g++ with the shim does not: there are no numbers to be had."""


class CannotStart(RuntimeError):
    """The emulation does not work here, or not any more; the message says what to do."""


def refuser(part: str, what: str) -> Callable[..., NoReturn]:
    """A function that raises NotEmulated, whatever it is called with."""

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotEmulated(part, what)

    refuse.__name__ = refuse.__qualname__ = what
    return refuse
