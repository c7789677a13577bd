"""Handing gradients over: in the shape and dtype of a value, into slots, into a leaf's `.grad`."""

from __future__ import annotations

import threading
from sys import getrefcount
from typing import Any

from autograd_gpu.backend import BACKENDS, NAMESPACES, backend_of
from autograd_gpu.broadcast import sum_to
from autograd_gpu.graph import Gradient, Node
from autograd_gpu.hooks import replaced
from autograd_gpu.variable import ALONE, Variable

# Adding into a leaf's .grad reads and writes it; threads that share leaves take turns.
_lock = threading.RLock()


def fit(grad: Gradient, node: Node) -> Gradient:
    """`grad` with the shape and dtype of `node`'s value: the one place that undoes a broadcast,
    a promotion of the dtype and a step into the complex numbers."""
    if grad.__class__ is tuple:
        return grad
    xp = NAMESPACES.get(grad.__class__)
    if xp is None:
        xp = backend_of(grad).xp
        grad = xp.asarray(grad)
    if grad.shape != node.shape:
        grad = sum_to(xp, grad, node.shape)
    if grad.dtype != node.dtype:
        if grad.dtype.kind == "c" and node.dtype.kind != "c":
            grad = xp.real(grad)
        if grad.dtype != node.dtype:
            grad = xp.astype(grad, node.dtype)
    if grad.__class__ not in NAMESPACES:  # NumPy's sum of everything is a scalar
        grad = xp.asarray(grad)
    return grad


def accumulate(slots: dict[Any, Gradient], key: Any, grad: Gradient) -> None:
    """Add `grad` to what is in a slot: in place if nothing else holds that buffer.

    An array that is no view and that only the slot refers to is nobody's saved tensor, gradient
    or variable.  Only `slots[key]` may touch the array here: a name for it would count.
    """
    if slots[key].__class__ in BACKENDS:
        if getrefcount(slots[key]) == ALONE and slots[key].base is None:
            slots[key] += grad
            return
        total = slots[key] + grad
        # NumPy's sum of 0-d arrays is a scalar.
        slots[key] = total if total.__class__ in BACKENDS else backend_of(total).asarray(total)
    elif slots[key].__class__ is tuple:
        slots[key] = tuple(
            [
                b if a is None else a if b is None else a + b
                for a, b in zip(slots[key], grad, strict=True)
            ]
        )
    else:
        slots[key] = slots[key] + grad


def finish_leaf(
    node: Node, g: Gradient, leaves: dict[Node, Gradient], captured: dict[Node, Gradient]
) -> None:
    """A leaf's gradient is complete: run its hooks and note the gradient for `commit`."""
    variable: Variable = node.variable  # type: ignore[attr-defined]  # a node without edges
    if variable._hooks:
        for hook in tuple(variable._hooks):
            g = replaced(g, hook(g), node, "a hook on the leaf of")
    if captured:
        if node in captured:
            captured[node] = g
    elif variable._post_hooks:
        # Whoever registered such a hook wants the gradient now, not after the whole backward.
        finished = {node: g}
        del g
        commit(finished)
    else:
        leaves[node] = g


def commit(leaves: dict[Node, Gradient]) -> None:
    """Add the finished gradients into their leaves' `.grad`, which share memory with nothing.

    This comes last, so that an error in the backward leaves every `.grad` as it was.
    """
    with _lock:
        for node in leaves:
            variable: Variable = node.variable  # type: ignore[attr-defined]
            if variable.grad is None:
                if getrefcount(leaves[node]) == ALONE and leaves[node].base is None:
                    variable.grad = leaves[node]
                else:
                    variable.grad = leaves[node].copy()
            elif getrefcount(variable.grad) == ALONE and variable.grad.base is None:
                variable.grad += leaves[node]
            else:
                variable.grad = backend_of(leaves[node]).asarray(variable.grad + leaves[node])
            if variable._post_hooks:
                for hook in tuple(variable._post_hooks):
                    hook(variable)
