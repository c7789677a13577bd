"""Which function of this library user code called, for the error of an op inside it.

Many public functions are made of ops, and an op that fails knows its own name only.  The call stack
knows the rest, and looking at it costs nothing until there is an error.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from types import FrameType
from typing import Any

PACKAGE = __name__.partition(".")[0]
LAYERS = ("ops.", "nn.functional.", "numpy_adapters", "special", "fft", "linalg")
"""The modules whose functions users call by name."""


def public_call(op: str) -> str | None:
    """The call by which user code came to `op`, as `name(argument: dtype[shape], ...)`.

    None where that was the op itself.
    """
    frame: FrameType | None = sys._getframe(1)
    found = None
    while frame is not None and _module(frame).partition(".")[0] == PACKAGE:
        if _is_public(frame):
            found = frame
        frame = frame.f_back
    if found is None or (name := found.f_code.co_name.rstrip("_")) == op:
        return None
    return f"{name}({', '.join(_arguments(found))})"


def named(op: str, message: str) -> str:
    """The message of an error that `op` raises by itself, with the user's call before it."""
    call = public_call(op)
    return f"{op}: {message}" if call is None else f"{call}: {op}: {message}"


def describe(x: Any) -> str:
    """dtype and shape of an array or of those in a list, a number itself."""
    if hasattr(x, "dtype") and hasattr(x, "shape"):
        return f"{x.dtype}{list(x.shape)}"
    if not _is_option(x):
        shown = [describe(v) for v in x[:4]] + ["..."] * (len(x) > 4)
        return f"[{', '.join(shown)}]"
    return repr(x)[:60]


def described(x: Any) -> str:
    """The type of any value, with dtype and shape or as it is written."""
    return f"{type(x).__name__} {describe(x)}"


def require_function(name: str, f: Any, call: str) -> None:
    """Raise TypeError with what to write if `f` is no function, but the value of one perhaps."""
    if not callable(f):
        raise TypeError(f"{name}: write {call} with a function f, not {described(f)}")


def require_keys(name: str, state: Any, keys: Iterable[str]) -> None:
    """Raise ValueError for a `state` that is not of `name`, as it lacks some of `keys`."""
    missing = [key for key in keys if key not in state]
    if missing:
        raise ValueError(
            f"{name}: the state is of something else: it has {sorted(map(str, state))[:8]}, "
            f"and not {missing}"
        )


def _is_option(x: Any) -> bool:
    """Whether `x` is neither an array nor a list with arrays."""
    inside = x if isinstance(x, (list, tuple)) else (x,)
    return not any(hasattr(v, "dtype") and hasattr(v, "shape") for v in inside)


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _is_public(frame: FrameType) -> bool:
    module, code = _module(frame).partition(".")[2], frame.f_code
    return (
        module.startswith(LAYERS)
        and code.co_qualname == code.co_name  # neither a method nor nested
        and not code.co_name.startswith(("_", "<"))
    )


def _arguments(frame: FrameType) -> list[str]:
    """The arguments that were given to the function, as far as they still have their names."""
    names, more, _, values = inspect.getargvalues(frame)
    names = [*names, *((more,) if more else ())]
    given = [(name, values[name]) for name in names if values.get(name) is not None]
    return [f"{name}={x!r:.60}" if _is_option(x) else f"{name}: {describe(x)}" for name, x in given]
