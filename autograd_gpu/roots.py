"""What `backward` and `gradients` are given: checked, and made into Nodes and first gradients."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any

from autograd_gpu.graph import Carrier, Gradient, Node, gradient_edge
from autograd_gpu.hooks import check_gradient
from autograd_gpu.placement import backend_beside
from autograd_gpu.variable import Variable


def root_node(root: Any) -> Node:
    if isinstance(root, Variable):
        node = root.grad_fn or gradient_edge(root)
    else:
        raise TypeError(f"expected a Variable to differentiate, got {type(root).__name__}")
    if node is None:
        raise RuntimeError(
            "this Variable does not require a gradient: no input of its ops does, or it was "
            "computed under no_grad or detached; set requires_grad=True on a leaf before computing"
        )
    return node


def seed_for(root: Variable, grad: Any, create_graph: bool) -> Gradient:
    value = root.value
    if grad is None:
        if value.size != 1 or value.dtype.kind == "c":
            raise RuntimeError(
                f"the gradient of a root of shape {value.shape} and dtype {value.dtype} must be "
                f"given, as in y.backward(g); only a real scalar such as y.sum() has the default 1"
            )
        seed = backend_beside(value).xp.ones_like(value)
        return Variable(seed) if create_graph else seed
    if isinstance(grad, (int, float, complex)) and not hasattr(grad, "dtype"):
        seed = backend_beside(value).xp.full_like(value, grad)
        if value.size != 1:
            raise ValueError(f"backward: grad is a number, the root has shape {value.shape}")
        return Variable(seed) if create_graph else seed
    if isinstance(grad, (list, tuple)):
        grad = backend_beside(value).asarray(grad, value.dtype)
    like = root if create_graph else value
    return check_gradient(grad, value.shape, value.dtype, "the caller (grad=)", like=like)


def target_of(x: Variable, i: int) -> Node:
    node = x.grad_fn or gradient_edge(x)
    if node is None:
        raise RuntimeError(f"gradients: input {i} does not require a gradient")
    if node.__class__ is Carrier and not node.edges:
        raise RuntimeError(
            f"gradients: no graph leads to input {i}, as jvp keeps none of the function that it "
            f"runs; use grad or vjp there, which open a graph of their own"
        )
    return node


def variables(x: Any, what: str) -> list[Variable]:
    if not isinstance(x, (Variable, Iterable)):
        raise TypeError(f"gradients: {what} are Variables, not {type(x).__name__}")
    items = [x] if isinstance(x, Variable) else list(x)
    for i, item in enumerate(items):
        if not isinstance(item, Variable):
            raise TypeError(f"gradients: {what}[{i}] is {type(item).__name__}, not a Variable")
    if not items:
        raise ValueError(f"gradients: {what} is empty")
    return items


def given_gradients(given: Any, outputs: Any, n: int) -> list[Any]:
    if given is None:
        return [None] * n
    if isinstance(outputs, Variable) and not isinstance(given, (list, tuple)):
        return [given]
    if not hasattr(given, "__len__"):
        raise TypeError(
            f"gradients: grad_outputs is a sequence, as outputs is, not {type(given).__name__}"
        )
    if len(given) != n:
        raise ValueError(f"gradients: {len(given)} grad_outputs were given for {n} outputs")
    return list(given)


def require_used(targets: Sequence[Node | None], used: Container[Node | None]) -> None:
    for i, node in enumerate(targets):
        if node not in used:
            raise RuntimeError(
                f"gradients: the outputs do not depend on input {i}; "
                f"pass allow_unused=True to get None for it"
            )
