"""Running hooks, and checking the gradients that user code returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograd_gpu.backend import BACKENDS, SEVERAL_DEVICES, Array, backend_of
from autograd_gpu.batched import is_batch_of
from autograd_gpu.graph import Gradient, Hooks, Node
from autograd_gpu.modes import recording_guard
from autograd_gpu.placement import require_together
from autograd_gpu.variable import Variable


def run_prehooks(node: Node, hooks: Hooks, g: Gradient) -> Gradient:
    with recording_guard(isinstance(g, Variable)):  # a raw gradient's computation is not recorded
        for hook in tuple(hooks.before):
            g = replaced(g, hook(g), node, f"a hook on {node.name}")
    return g


def run_hooks(
    node: Node, hooks: Hooks, grads: Sequence[Gradient], g: Gradient
) -> Sequence[Gradient]:
    for hook in tuple(hooks.after):
        with recording_guard(isinstance(g, Variable)):
            new = hook(tuple(grads), g)
        if new is not None:
            if not isinstance(new, (tuple, list)):
                raise TypeError(
                    f"a hook on {node.name} returned {type(new).__name__}; a tuple of "
                    f"{len(node.edges)} gradients or None is needed"
                )
            if len(new) != len(node.edges):
                raise ValueError(
                    f"a hook on {node.name} returned {len(new)} gradients for "
                    f"{len(node.edges)} inputs"
                )
            grads = [
                replaced(old, one, edge, f"a hook on {node.name} for the input from {edge.name}")
                if edge is not None and one is not None
                else one
                for old, one, edge in zip(grads, new, node.edges, strict=True)
            ]
    return grads


def replaced(g: Gradient, new: Gradient, node: Node, what: str) -> Gradient:
    """What a hook returned in place of `g`, checked."""
    if new is None:
        return g
    if g.__class__ is not tuple:
        return check_gradient(new, node.shape, node.dtype, what, like=g)
    if not isinstance(new, (tuple, list)) or len(new) != len(g) or all(x is None for x in new):
        raise TypeError(
            f"{what} returned {type(new).__name__}; None, or a tuple with a gradient or None for "
            f"each of {len(g)} outputs is needed"
        )
    like = next(x for x in g if x is not None)
    return tuple(
        [
            None if x is None else check_gradient(x, shape, dtype, what, like=like)
            for x, shape, dtype in zip(new, node.shape, node.dtype, strict=True)
        ]
    )


def check_gradient(
    grad: Gradient, shape: Any, dtype: Any, what: str, *, like: Gradient
) -> Gradient:
    """`grad`, which user code returned, if it has the right kind, shape and dtype."""
    wants_variable = isinstance(like, Variable)
    if isinstance(grad, Variable) and not wants_variable:
        grad = grad.value
    if wants_variable and not isinstance(grad, Variable):
        grad = Variable(grad)
    kind = type(grad.value) if isinstance(grad, Variable) else type(grad)
    if kind not in BACKENDS:
        if not hasattr(grad, "dtype"):
            raise TypeError(f"{what} returned {kind.__name__}; an array or None is needed")
        grad = backend_of(grad).asarray(grad)
        kind = type(grad)
    if like is not None:
        expected = type(like.value) if isinstance(like, Variable) else type(like)
        if getattr(BACKENDS.get(expected), "stands_for", None) is BACKENDS[kind]:
            grad = BACKENDS[expected].asarray(grad)  # a step is recorded, this is from outside
        elif kind is not expected and expected in BACKENDS and not is_batch_of(kind, expected):
            raise TypeError(
                f"{what} returned a {BACKENDS[kind].name} array, the graph is on "
                f"{BACKENDS[expected].name}; nothing is moved silently"
            )
        if SEVERAL_DEVICES and kind is expected:
            require_together(f"the gradient of {what}", _raw(grad), _raw(like))
    if grad.shape != shape:
        raise ValueError(
            f"{what} returned a gradient of shape {tuple(grad.shape)}; the shape is {shape}"
        )
    if grad.dtype != dtype:
        raise TypeError(f"{what} returned a gradient of dtype {grad.dtype}; the dtype is {dtype}")
    return grad


def _raw(g: Gradient) -> Array:
    return g.value if isinstance(g, Variable) else g


def find_nan(node: Node, grads: Sequence[Gradient]) -> None:
    for i, grad in enumerate(grads):
        parts = grad if isinstance(grad, tuple) else (grad,)
        for part in parts:
            raw = part.value if isinstance(part, Variable) else part
            if raw is not None and bool((raw != raw).any()):
                raise RuntimeError(
                    f"the backward of {node.name} returned a NaN for input {i}{recorded_at(node)}"
                )


def recorded_at(node: Node) -> str:
    return f", recorded at {node.recorded_at}" if node.recorded_at else ""
