"""Which of its arguments a function is differentiated by."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from autograd_gpu.callers import described, require_function


def argument_numbers(name: str, f: Any, argnums: Any) -> int | tuple[int, ...]:
    """`argnums` as an int or a tuple of them.

    Raises TypeError with what to write if it is an argument of `f` instead, or `f` no function.
    """
    require_function(name, f, f"{name}(f)(x)")
    try:
        if isinstance(argnums, Sequence):
            return tuple([operator.index(n) for n in argnums])
        if not getattr(argnums, "shape", ()):
            return operator.index(argnums)
    except TypeError:
        pass
    raise TypeError(
        f"{name}(f, argnums): write {name}(f)(x) to differentiate at x; argnums are positions of "
        f"arguments, an int or several, not {described(argnums)}"
    )
