"""The arrays that a function refers to, which a recording of it keeps alive."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

from autograd_gpu.backend import BACKENDS, Array


def arrays_of(function: Callable[..., Any]) -> list[Array]:
    """Arrays in the closure, the globals, the defaults and the object of `function`, and in the
    lists, tuples and dicts there."""
    found: list[Array] = []
    for value in _values(function):
        items: Any = value
        if isinstance(value, dict):
            items = value.values()
        elif not isinstance(value, (list, tuple)):
            items = [value]
        found += [x for x in items if type(x) in BACKENDS]
    return found


def _values(function: Any) -> Iterator[Any]:
    while isinstance(function, functools.partial):
        yield from (*function.args, *function.keywords.values())
        function = function.func
    owner = getattr(function, "__self__", None)
    yield from getattr(owner, "__dict__", {}).values()
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if code is None:
        return
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # nothing in it yet
            continue
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    for name in _names(code):
        if name in function.__globals__:
            yield function.__globals__[name]


def _names(code: CodeType) -> Iterator[str]:
    """What the code and the functions within it look up."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
