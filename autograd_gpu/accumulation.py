"""Handing gradients over: in the shape and dtype of a value, into slots, into a leaf's `.grad`."""

from __future__ import annotations

import threading
from sys import getrefcount
from typing import cast

from autograd_gpu.backend import NAMESPACES, backend_of
from autograd_gpu.broadcast import sum_to
from autograd_gpu.graph import AccumulateGrad, Gradient, Node
from autograd_gpu.hooks import replaced
from autograd_gpu.modes import guard
from autograd_gpu.variable import ALONE, Variable


def _named() -> int:
    x = object()
    return getrefcount(x)


# What getrefcount says of an object that one local name refers to, and of one that a container
# holds besides; by experiment, as the interpreter's versions differ.
NAMED = _named()
HELD_AND_NAMED = NAMED + 1

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


def added(old: Gradient, grad: Gradient) -> Gradient:
    """The sum of two contributions to one gradient, in a buffer of its own."""
    if old.__class__ is tuple:
        pairs = zip(old, grad, strict=True)
        return tuple([b if a is None else a if b is None else a + b for a, b in pairs])
    total = old + grad
    if total.__class__ in NAMESPACES:
        return total
    return backend_of(total).asarray(total)  # NumPy's sum of 0-d arrays is a scalar


def finish_leaf(node: Node, g: Gradient, captured: dict[Node, Gradient]) -> Gradient | None:
    """Run a leaf's hooks on its gradient, and return it if it is still to be written."""
    variable: Variable = node.variable  # type: ignore[attr-defined]
    if variable._hooks:
        with guard(isinstance(g, Variable)):
            for hook in tuple(variable._hooks):
                g = replaced(g, hook(g), node, "a hook on the leaf of")
    if captured:
        if node in captured:
            captured[node] = g
        return None
    if variable._post_hooks:
        # Whoever registered such a hook wants the gradient now, not after the whole backward.
        leaves, finished = [cast(AccumulateGrad, node)], [g]
        del g
        commit(leaves, finished)
        return None
    return g


def commit(leaves: list[AccumulateGrad], finished: list[Gradient]) -> None:
    """Add the finished gradients into their leaves' `.grad`, which share memory with nothing.

    An array that is no view and that only the list holds is nobody's saved tensor, gradient or
    variable; any other is copied.  Writing comes last, so that an error in the backward leaves
    every `.grad` as it was.
    """
    with _lock:
        while leaves:
            variable = leaves.pop().variable
            grad = finished.pop()
            if variable.grad is None:
                alone = getrefcount(grad) == NAMED and grad.base is None
                variable.grad = grad if alone else grad.copy()
            elif getrefcount(variable.grad) == ALONE and variable.grad.base is None:
                variable.grad += grad
            else:
                variable.grad = added(variable.grad, grad)
            del grad
            if variable._post_hooks:
                with guard(False):
                    for hook in tuple(variable._post_hooks):
                        hook(variable)
