"""Handing gradients over: in the shape and dtype of a value, into slots, into a leaf's `.grad`."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from sys import getrefcount
from typing import Any, cast

from autograd_gpu.backend import BACKENDS, NAMESPACES, SEVERAL_DEVICES, Array, backend_of
from autograd_gpu.broadcast import sum_to
from autograd_gpu.graph import AccumulateGrad, Gradient, Node
from autograd_gpu.hooks import replaced
from autograd_gpu.modes import recording_guard
from autograd_gpu.placement import Follower, copied, require_together
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
        return tuple([b if a is None else a if b is None else added(a, b) for a, b in pairs])
    total = old + grad
    if total.__class__ in NAMESPACES:
        return total
    return backend_of(total).asarray(total)  # NumPy's sum of 0-d arrays is a scalar


def finish_leaf(node: Node, g: Gradient, captured: dict[Node, Gradient]) -> Gradient | None:
    """Run a leaf's hooks on its gradient, and return it if it is still to be written."""
    variable: Variable = node.variable  # type: ignore[attr-defined]
    if variable._hooks:
        with recording_guard(isinstance(g, Variable)):
            for hook in tuple(variable._hooks):
                g = replaced(g, hook(g), node, f"a hook on {_name(variable)}")
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


def commit(
    leaves: list[AccumulateGrad], finished: list[Gradient], follow: Follower | None = None
) -> None:
    """Add the finished gradients into their leaves' `.grad`, which share memory with nothing.

    An array that is no view and that only the list holds is nobody's saved tensor, gradient or
    variable; any other is copied.  Writing comes last, so that an error in the backward leaves
    every `.grad` as it was.  `follow` is given where gradients may live on several devices.
    """
    with _lock:
        for node in leaves:
            if node.variable.grad is not None:
                _require_fits(leaves, finished)
                break
        while leaves:
            variable = leaves.pop().variable
            grad = finished.pop()
            if follow is not None:
                follow(grad)
            if variable.grad is None:
                alone = getrefcount(grad) == NAMED and grad.base is None
                variable.grad = grad if alone else grad.copy()
            elif getrefcount(variable.grad) == ALONE and variable.grad.base is None:
                variable.grad += grad
            else:
                variable.grad = added(variable.grad, grad)
            del grad
            if variable._post_hooks:
                with recording_guard(False):
                    for hook in tuple(variable._post_hooks):
                        hook(variable)


def retained(kept: Sequence[tuple[Node, Gradient]]) -> list[tuple[Variable, Array]]:
    """Which results retain which gradient (retain_grad)."""
    pairs = []
    for node, g in kept:
        for reference in node.hooks.keep_for if node.hooks is not None else ():
            variable = reference()
            if variable is not None:
                if variable.grad is not None:
                    _require_fit(variable, g)
                pairs.append((variable, g))
    return pairs


def keep(pairs: Sequence[tuple[Variable, Array]], follow: Follower | None = None) -> None:
    """Add gradients into the `.grad` of results."""
    with _lock:
        for variable, g in pairs:
            if follow is not None:
                follow(g)
            variable.grad = g.copy() if variable.grad is None else added(variable.grad, g)


def take_over(captured: dict[Node, Gradient], key: Any) -> Variable | None:
    """The gradient in a slot as a Variable whose array nothing else holds."""
    if captured[key].__class__ not in BACKENDS:  # a Variable already, or None
        return captured[key]  # type: ignore[no-any-return]
    if getrefcount(captured[key]) == ALONE and captured[key].base is None:
        return Variable(captured[key])
    return Variable(copied(captured[key]))


def _require_fits(leaves: list[AccumulateGrad], finished: list[Gradient]) -> None:
    for node, g in zip(leaves, finished, strict=True):
        if node.variable.grad is not None:
            _require_fit(node.variable, g)


def _require_fit(variable: Variable, g: Array) -> None:
    """A `.grad` that the user has set is one that a gradient can be added to."""
    grad: Array = variable.grad
    if grad.__class__ is not g.__class__ or grad.dtype.kind != g.dtype.kind:
        kind = BACKENDS.get(grad.__class__)
        found = f"{kind.name} array of {grad.dtype}" if kind is not None else type(grad).__name__
        raise TypeError(
            f"the .grad of {_name(variable)} is a {found}, to which no "
            f"{backend_of(g).name} array of {g.dtype} can be added"
        )
    if SEVERAL_DEVICES:
        require_together(f"the .grad of {_name(variable)} and its gradient", grad, g)
    if grad.shape != g.shape:
        raise ValueError(
            f"the .grad of {_name(variable)} has shape {grad.shape}, to which no gradient of shape "
            f"{g.shape} can be added"
        )


def _name(variable: Variable) -> str:
    what = "result" if variable.grad_fn else "leaf"
    return f"a {what}" if variable.name is None else f"the {what} {variable.name!r}"
