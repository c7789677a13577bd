"""Ops inside derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograd_gpu.backend import NAMESPACES, Namespace
from autograd_gpu.primitive import PRIMITIVES
from autograd_gpu.variable import Variable


def call(xp: Namespace, op: Callable[..., Any], *operands: Any, **statics: Any) -> Any:
    """`op` inside a derivative, for ops that the backends' namespaces lack.

    On raw arrays that is its forward, on Variables the op itself, which is recorded.
    """
    if xp is NAMESPACES[Variable]:
        return op(*operands, **statics)
    return PRIMITIVES[op.__name__].forward(xp, *operands, **statics)
