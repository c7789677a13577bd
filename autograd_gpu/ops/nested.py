"""Ops inside derivatives, and array functions in blocks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from autograd_gpu.backend import NAMESPACES, Array, Namespace
from autograd_gpu.batching import BatchedNamespace, each
from autograd_gpu.ops.kernels import kernel
from autograd_gpu.primitive import PRIMITIVES
from autograd_gpu.variable import Variable


def call(xp: Namespace, op: Callable[..., Any], *operands: Any, **statics: Any) -> Any:
    """`op` inside a derivative, for ops that the backends' namespaces lack.

    On raw arrays that is its forward, on Variables the op itself, which is recorded.  A forward
    need not know of batches.
    """
    if xp is NAMESPACES[Variable]:
        return op(*operands, **statics)
    forward = PRIMITIVES[op.__name__].forward
    if isinstance(xp, BatchedNamespace):
        return each(partial(forward, xp.plain), *operands, **statics)
    return forward(xp, *operands, **statics)


def wide(xp: Namespace, x: Any) -> Any:
    """Half types in float32: sums and exponentials need its digits."""
    return xp.astype(x, "float32") if x.dtype.itemsize == 2 else x


def narrow(xp: Namespace, y: Any, x: Any) -> Any:
    """`y` in the dtype of `x` if that is bfloat16, which with a Python float gives float32."""
    return xp.astype(y, x.dtype) if x.dtype.kind == "V" else y


@kernel
def blockwise(xp: Namespace, function: Callable[..., Array], *arrays: Array) -> Array:
    """`function(*arrays)` for an elementwise function of real arrays of one shape and dtype, which
    its result has too.

    A backend may call it on one block after the other, so that what lies between the steps of the
    function stays in the cache.
    """
    return function(*arrays)
