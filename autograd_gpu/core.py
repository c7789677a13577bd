"""The compiled core: an op's call and the engine's loops in C, where that was built.

Without it the same is done in Python.
What the C in `autograd_gpu/c` does not know how to do it leaves to the Python functions, which stay
the definition of what an op and a backward are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from autograd_gpu.accumulation import added, finish_leaf, fit
from autograd_gpu.backend import BACKENDS, NAMESPACES, ON_ONE_DEVICE
from autograd_gpu.codegen import Writer
from autograd_gpu.extension import extension
from autograd_gpu.graph import AccumulateGrad, FunctionNode, Node, gradient_edge
from autograd_gpu.hooks import run_hooks, run_prehooks
from autograd_gpu.modes import recording, replaced_slots, watching
from autograd_gpu.operands import scalar
from autograd_gpu.precision import casting
from autograd_gpu.variable import Variable


def _configured() -> Any:
    """The extension module, told of this package's classes; None where Python is to serve."""
    core = extension
    if core is None:
        return None
    try:
        core.configure(
            AccumulateGrad=AccumulateGrad,
            BACKENDS=BACKENDS,
            NAMESPACES=NAMESPACES,
            Node=Node,
            ON_ONE_DEVICE=ON_ONE_DEVICE,
            Variable=Variable,
            added=added,
            casting=casting,
            finish_leaf=finish_leaf,
            fit=fit,
            gradient_edge=gradient_edge,
            recording=recording,
            replaced_slots=replaced_slots,
            run_hooks=run_hooks,
            run_prehooks=run_prehooks,
            scalar=scalar,
            watching=watching,
        )
    except ImportError:  # in use: it serves one copy of the package in a process
        return None
    return core


core = _configured()

# In the order of the enumeration in c/op.h.
OPERAND, SHAPE, STATIC, RESULT, AUX = range(5)


def compiled(
    op: Callable[..., Any], writer: Writer, node_type: type[FunctionNode], reflected: bool = False
) -> Callable[..., Any]:
    """`op`, the usual calls of which are compiled; `op` itself without a compiled core.

    `reflected` is for operators whose operands are given the other way round.
    """
    if core is None or writer.variadic or writer.outputs:
        return op
    statics = writer.statics.values()
    plain = writer.direct
    fast = core.Op(
        python=op,
        node_type=node_type,
        forward=writer.forward,
        function=plain and plain.function,
        constants=plain.constants if plain else (),
        statics=tuple(writer.statics),
        # The class stands for a parameter that has to be given.
        defaults=tuple(core.Op if p.default is p.empty else p.default for p in statics),
        operands=len(writer.operands),
        optional=_bits(writer, writer.optional),
        wanted=_bits(writer, writer.wanted),
        saved=tuple((f"s_{x}", *_saved(writer, x)) for x in writer.saved),
        casts=writer.cast is not None,
        aux=writer.aux,
        reflected=reflected,
    )
    return functools.update_wrapper(fast, op)


def _bits(writer: Writer, operands: Iterable[str]) -> int:
    return sum(1 << writer.operands.index(x) for x in operands)


def _saved(writer: Writer, x: str) -> tuple[int, int, int]:
    """What is kept as `x`, the place of the operand or parameter, and for which inputs only."""
    users = _bits(writer, writer.users(x))
    if x in writer.statics:
        return STATIC, list(writer.statics).index(x), users
    if x in ("y", "aux"):
        return (RESULT if x == "y" else AUX), 0, users
    if x in writer.operands:
        return OPERAND, writer.operands.index(x), users
    return SHAPE, writer.operands.index(x.removesuffix("_shape")), users
