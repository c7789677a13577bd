"""Handing gradients over: in the shape and dtype of a value, into slots, into a leaf's `.grad`."""

from __future__ import annotations

import threading
from sys import getrefcount
from typing import Any

from autograd_gpu.backend import BACKENDS, NAMESPACES, Array, backend_of
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
            which = "a leaf" if variable.name is None else f"the leaf {variable.name!r}"
            g = replaced(g, hook(g), node, f"a hook on {which}")
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
            if variable.grad is not None:
                _require_fit(variable, leaves[node])
        for node in leaves:
            variable = node.variable  # type: ignore[attr-defined]
            _add(variable, leaves, node)
            if variable._post_hooks:
                for hook in tuple(variable._post_hooks):
                    hook(variable)


def keep(kept: dict[Node, Gradient]) -> None:
    """Add the gradients of results into the `.grad` of those that retain one (retain_grad)."""
    with _lock:
        for node in kept:
            for reference in node.hooks.keep_for if node.hooks is not None else ():
                variable = reference()
                if variable is not None:
                    if variable.grad is not None:
                        _require_fit(variable, kept[node])
                    _add(variable, kept, node)


def take_over(captured: dict[Node, Gradient], key: Any) -> Variable | None:
    """The gradient in a slot as a Variable whose array nothing else holds."""
    if captured[key].__class__ not in BACKENDS:  # a Variable already, or None
        return captured[key]  # type: ignore[no-any-return]
    if getrefcount(captured[key]) == ALONE and captured[key].base is None:
        return Variable(captured[key])
    return Variable(captured[key].copy())


def _add(variable: Variable, gradients: dict[Node, Gradient], key: Node) -> None:
    """Add into `.grad`; only `gradients[key]` may touch the array here: a name would count."""
    if variable.grad is None:
        if getrefcount(gradients[key]) == ALONE and gradients[key].base is None:
            variable.grad = gradients[key]
        else:
            variable.grad = gradients[key].copy()
    elif getrefcount(variable.grad) == ALONE and variable.grad.base is None:
        variable.grad += gradients[key]
    else:
        variable.grad = backend_of(gradients[key]).asarray(variable.grad + gradients[key])


def _require_fit(variable: Variable, g: Array) -> None:
    """A `.grad` that the user has set is one that a gradient can be added to."""
    grad: Array = variable.grad
    which = "a leaf's" if variable.name is None else f"{variable.name!r}'s"
    if grad.__class__ is not g.__class__ or grad.dtype.kind != g.dtype.kind:
        found = f"{grad.dtype} {type(grad).__name__}" if hasattr(grad, "dtype") else type(grad)
        raise TypeError(
            f"{which} .grad is a {found}, to which no {g.dtype} {type(g).__name__} can be added"
        )
    if grad.shape != g.shape:
        raise ValueError(
            f"{which} .grad has shape {grad.shape}, to which no gradient of shape {g.shape} can be "
            f"added"
        )
