"""One run of a function with some of its arguments opened for differentiation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from weakref import WeakSet

from autograd_gpu.engine import gradients
from autograd_gpu.forward import is_carried, is_wanted, mark_inner
from autograd_gpu.graph import AccumulateGrad, Carrier, Node, alias, gradient_edge, reconnected
from autograd_gpu.modes import enable_grad, recording
from autograd_gpu.transforms.tree import (
    raw,
    tree_leaves,
    tree_like,
    tree_map,
    zeros_like,
)
from autograd_gpu.values import is_differentiable
from autograd_gpu.variable import Variable

_finished: WeakSet[Node] = WeakSet()
"""The Nodes of the leaves that a run opened for itself and is through with."""


class Run:
    """`f(*args, **kwargs)`, recorded with respect to the arguments `argnums`.

    `inner` are the Variables that `f` saw in place of the leaves of these arguments, `y` is what it
    returned.  `connected` says that `y` depends on something outside that requires a gradient, so
    that what is derived here has to be differentiable again.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        argnums: int | tuple[int, ...],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        has_aux: bool = False,
    ) -> None:
        self.name = getattr(f, "__name__", type(f).__name__)
        self.argnums = argnums
        self.recording = recording.get()
        self.nodes: list[Node] = []  # a leaf does not keep its own alive
        numbers = (argnums,) if isinstance(argnums, int) else argnums
        passed = list(args)
        self.opened: list[Any] = []
        for n in numbers:
            if not -len(args) <= n < len(args):
                raise ValueError(f"argnums: {n} is out of range for {len(args)} arguments")
            self.opened.append(args[n])
            passed[n] = tree_map(self._open, args[n])
        self.given = tree_leaves(self.opened)
        inner = [x for n in numbers for x in tree_leaves(passed[n])]
        # f may assign to what it gets, which then has a node of its own.
        self.inner: list[Variable] = [
            x if x.grad_fn is None else reconnected(x.value, x.grad_fn) for x in inner
        ]
        self.has_variables = any(isinstance(x, Variable) for x in tree_leaves(list(args)))
        with enable_grad():
            returned = f(*passed, **kwargs)
        self.aux = None
        if has_aux:
            if not (isinstance(returned, tuple) and len(returned) == 2):
                raise TypeError(f"{self.name} with has_aux=True must return a pair (value, aux)")
            returned, self.aux = returned
        self.y = returned
        self.leaves = tree_leaves(returned)
        for node in self.nodes:
            _finished.add(node)
        self.connected = self.recording and self._reaches_outside()

    def _open(self, x: Any) -> Variable:
        if isinstance(x, Variable):
            if self.recording and x.requires_grad:
                edge = gradient_edge(x)
                assert edge is not None
                return alias(x.value, edge)
            x = x.value
        fresh = Variable(x)
        require_differentiable(fresh, self.name)
        fresh.requires_grad = True
        node = mark_inner(fresh)
        assert node is not None
        self.nodes.append(node)
        return fresh

    def _reaches_outside(self) -> bool:
        seen: set[Any] = {gradient_edge(x) for x in self.outputs()}
        stack = list(seen)
        while stack:
            node = stack.pop()
            kind = node.__class__
            if kind is AccumulateGrad and node not in _finished:
                return True
            if is_wanted(node) or (kind is Carrier and is_carried(node)):
                return True
            for edge in node.edges:
                if edge is not None and edge not in seen:
                    seen.add(edge)
                    stack.append(edge)
        return False

    def outputs(self) -> list[Variable]:
        """The outputs that a gradient can flow from."""
        return [x for x in self.leaves if isinstance(x, Variable) and x.requires_grad]

    def scalar(self) -> Variable | None:
        """The one output as a real scalar; None if it depends on nothing."""
        y = self.y
        if isinstance(y, (tuple, list, dict)) or y is None:
            raise TypeError(
                f"the gradient needs a function of one scalar, {self.name} returned "
                f"{type(y).__name__}; use has_aux=True of value_and_grad, jacobian or vjp"
            )
        if getattr(y, "size", 1) != 1:
            raise ValueError(
                f"the gradient needs a scalar, {self.name} returned an array of shape {y.shape}; "
                f"use jacobian, elementwise_grad or vjp"
            )
        dtype = getattr(y, "dtype", None)
        if isinstance(y, complex) or (dtype is not None and dtype.kind == "c"):
            raise TypeError(
                f"the gradient needs a real scalar, {self.name} returned a complex one; use vjp"
            )
        return y if isinstance(y, Variable) and y.requires_grad else None

    def pull(
        self,
        outputs: list[Variable],
        cotangents: list[Any] | None,
        *,
        create_graph: bool,
        retain_graph: bool | None = None,
    ) -> list[Variable]:
        """The gradients by the inner Variables; zeros where there is none."""
        found: list[Variable | None] = [None] * len(self.inner)
        if outputs and self.inner:
            found = gradients(
                outputs,
                self.inner,
                cotangents,
                create_graph=create_graph,
                retain_graph=retain_graph,
                allow_unused=True,
            )
        return [
            Variable(zeros_like(x)) if g is None else g
            for x, g in zip(self.inner, found, strict=True)
        ]

    def as_arguments(self, leaves: list[Any]) -> Any:
        """Leaves in the structure of the opened arguments: one for one argnum, else a tuple."""
        results = tree_like(self.opened, leaves)
        return results[0] if isinstance(self.argnums, int) else tuple(results)

    def closed(self, grads: list[Variable]) -> list[Any]:
        """Gradients as the caller wants them: arrays for arrays, unless they have a graph."""
        return [
            g if isinstance(x, Variable) or g.requires_grad else g.value
            for x, g in zip(self.given, grads, strict=True)
        ]

    def outside(self, tree: Any) -> Any:
        """What `f` returned, without the graph of this run unless something outside needs it."""

        def close(x: Any) -> Any:
            if not isinstance(x, Variable):
                return x
            if self.connected and x.requires_grad:
                return x
            if not self.has_variables:
                return x.writable()  # the caller may, whatever the graph has saved
            return x.detach() if x.requires_grad else x

        return tree_map(close, tree)


def require_differentiable(x: Variable, name: str) -> None:
    """Refuse an argument of the function `name` that has no derivatives."""
    if not is_differentiable(x.dtype):
        raise TypeError(
            f"the derivative of {name} by an argument of dtype {x.dtype} is not defined; pass "
            f"floating-point numbers, or choose other argnums"
        )


def match(tree: Any, like: Any, what: str) -> list[Any]:
    """The leaves of `tree`, which has the structure of `like`."""
    leaves = tree_leaves(tree)
    expected = tree_leaves(like)
    if len(leaves) != len(expected):
        raise ValueError(f"{what}: {len(leaves)} arrays were given for {len(expected)}")
    for i, (x, y) in enumerate(zip(leaves, expected, strict=True)):
        if getattr(x, "shape", ()) != getattr(y, "shape", ()) and not isinstance(x, list):
            raise ValueError(
                f"{what}: array {i} has shape {getattr(x, 'shape', ())}, "
                f"the shape {getattr(y, 'shape', ())} is needed"
            )
        if hasattr(x, "dtype") and hasattr(y, "dtype") and x.dtype != y.dtype:
            raise TypeError(f"{what}: array {i} has dtype {x.dtype}, the dtype {y.dtype} is needed")
    return leaves


def seed(x: Any, like: Variable) -> Any:
    """A cotangent or tangent for `like`: numbers take its dtype."""
    if hasattr(x, "dtype"):
        return x
    return Variable(raw(like) * 0 + x) if not like.ndim else x


def any_requires_grad(leaves: list[Any]) -> bool:
    """Whether one of the leaves is a Variable that requires a gradient."""
    return any(isinstance(x, Variable) and x.requires_grad for x in leaves)
