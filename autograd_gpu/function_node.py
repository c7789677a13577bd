"""The node that a Function records: calls of user code, with what it returns checked."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from autograd_gpu.backend import (
    BACKENDS,
)
from autograd_gpu.batching import each
from autograd_gpu.forward import connected_to
from autograd_gpu.function_state import is_differentiable_array
from autograd_gpu.graph import (
    Edges,
    FunctionNode,
    Gradient,
    Node,
    gradient_edge,
    make_result,
    reconnected,
    selected,
)
from autograd_gpu.hooks import check_gradient
from autograd_gpu.modes import no_grad
from autograd_gpu.variable import Variable

if TYPE_CHECKING:
    from autograd_gpu.function import Function


_UNCONNECTED = (
    "{name} can't be differentiated twice: {what}, which the graph knows nothing of; "
    "keep inputs and outputs with self.save(...) in forward, and compute the rest from self.saved "
    "in backward"
)


class UserNode(FunctionNode):
    """The node of a Function: it owns the Function, and so what that saved."""

    __slots__ = ("function", "function_name", "origins", "several", "unconnected")

    function: Function | None
    function_name: str
    origins: list[tuple[str, int] | None]
    unconnected: list[str]
    several: bool

    @property
    def name(self) -> str:
        """The name of the Function."""
        return self.function_name

    def backward(self, g: Gradient, edges: Edges) -> tuple[Gradient, ...]:
        # User code gets arrays as they are: a batch of gradients comes one by one.
        return each(self._backward, g, edges)  # type: ignore[no-any-return]

    def _backward(self, g: Gradient, edges: Edges) -> tuple[Gradient, ...]:
        function = self._function()
        if edges is not self.edges:
            function = copy.copy(function)
            function.needs_input_grad = tuple([edge is not None for edge in edges])
        g = self._filled(g)
        with no_grad():
            grads = self._counted(function.backward(g))
        like = g[0] if self.several else g
        return tuple(
            [
                None if edge is None or grad is None else self._checked(grad, edge, i, like)
                for i, (grad, edge) in enumerate(zip(grads, edges, strict=True))
            ]
        )

    def backward_recorded(self, g: Gradient, edges: Edges) -> tuple[Gradient, ...]:
        g = self._filled(g)
        with connected_to(edges):
            grads = self._counted(self._connected_function(edges).backward(g))
        flowing = tuple(g) if self.several else (g,)
        results: list[Gradient] = []
        for i, (grad, edge) in enumerate(zip(grads, edges, strict=True)):
            if edge is None or grad is None:
                results.append(None)
                continue
            result = self._checked(grad, edge, i, flowing[0])
            what = f"backward returned a plain array for input {i}"
            results.append(self._known(grad, result, flowing, what))
        return tuple(results)

    def tangent(self, tangents: Sequence[Gradient]) -> Gradient:
        if not self._function()._has_jvp():
            return NotImplemented
        return each(self._jvp, tangents)

    def _jvp(self, tangents: Sequence[Gradient]) -> Gradient:
        with no_grad():
            return self._checked_tangents(self._function().jvp(*tangents), tangents)

    def tangent_recorded(self, tangents: Sequence[Gradient]) -> Gradient:
        if not self._function()._has_jvp():
            return NotImplemented
        with connected_to(self.edges):
            returned = self._connected_function(self.edges).jvp(*tangents)
        results = self._checked_tangents(returned, tangents)
        if not self.several:
            returned, results = (returned,), (results,)
        connected = tuple(
            [
                None if x is None else self._known(given, x, tangents, "jvp returned a plain array")
                for given, x in zip(returned, results, strict=True)
            ]
        )
        return connected if self.several else connected[0]

    def release(self) -> None:
        self.function = None
        self.shape = None

    def _function(self) -> Function:
        assert self.function is not None  # the engine refuses released nodes
        return self.function

    def _connected_function(self, edges: Edges) -> Function:
        """A copy with what was saved as Variables: the Function itself must not own these, as they
        own this node."""
        function = copy.copy(self._function())
        function.needs_input_grad = tuple([edge is not None for edge in edges])
        function._saved = tuple(map(self._connected, function._saved, self.origins))
        return function

    def _filled(self, g: Gradient) -> Gradient:
        """`g` with zeros for the outputs that no gradient reached."""
        if not self.several:
            return g
        first = next(x for x in g if x is not None)
        recorded = isinstance(first, Variable)
        xp = BACKENDS[type(first.value if isinstance(first, Variable) else first)].xp
        filled = []
        for x, shape, dtype in zip(g, self.shape, self.dtype, strict=True):
            if x is None:
                x = xp.zeros(shape, dtype=dtype)
                x = Variable(x) if recorded else x
            filled.append(x)
        return tuple(filled)

    def _counted(self, returned: Any) -> Sequence[Any]:
        n = len(self.edges)
        grads: Sequence[Any] = returned if isinstance(returned, (tuple, list)) else (returned,)
        if len(grads) != n:
            raise ValueError(
                f"the backward of {self.name} returned {len(grads)} gradients for {n} inputs; "
                f"return one for each, None where there is none"
            )
        return grads

    def _checked(self, grad: Any, edge: Node, i: int, like: Any) -> Gradient:
        what = f"the backward of {self.name} for input {i}"
        if not hasattr(grad, "dtype"):
            raise TypeError(f"{what} returned {type(grad).__name__}; an array or None is needed")
        return check_gradient(grad, edge.shape, edge.dtype, what, like=like)

    def _checked_tangents(self, returned: Any, tangents: Sequence[Gradient]) -> Gradient:
        """What `jvp` returned, if it has the kind, shape and dtype of the output."""
        what = f"the jvp of {self.name}"
        like = next(t for t in tangents if t is not None)
        if not self.several:
            return check_gradient(returned, self.shape, self.dtype, what, like=like)
        if not isinstance(returned, (tuple, list)) or len(returned) != len(self.shape):
            raise ValueError(f"{what} must return {len(self.shape)} tangents, one for each output")
        return tuple(
            [
                None if x is None else check_gradient(x, shape, dtype, what, like=like)
                for x, shape, dtype in zip(returned, self.shape, self.dtype, strict=True)
            ]
        )

    def _known(self, given: Any, result: Variable, flowing: Sequence[Any], what: str) -> Variable:
        """`result`, which raises when it is differentiated by more than its graph knows of."""
        if not isinstance(given, Variable):
            edges = [gradient_edge(x) for x in flowing if x is not None]
            return self._once(result, [None, *edges], f"under create_graph its {what}")
        if self.unconnected:
            kept = f"its forward kept {', '.join(self.unconnected)}"
            return self._once(result, [gradient_edge(result)], kept)
        return result

    def _connected(self, value: Any, origin: tuple[str, int] | None) -> Any:
        """A saved value as backward sees it under create_graph."""
        if not is_differentiable_array(value):
            return value
        if origin is None:
            return Variable(value)
        kind, i = origin
        if kind == "input":
            edge = self.edges[i]
            return Variable(value) if edge is None else reconnected(value, edge)
        return selected(value, self, i) if self.several else reconnected(value, self)

    def _once(self, result: Variable, edges: list[Node | None], what: str) -> Variable:
        """`result` such that its derivative by the inputs raises."""
        node = Once()
        node.edges = (*edges, *self.edges)
        node.what = _UNCONNECTED.format(name=self.name, what=what)
        return make_result(result.value, node) if any(node.edges) else result


class Once(FunctionNode):
    """A gradient that is known to depend on more than its graph shows: the identity along its first
    edge, an error along the others."""

    __slots__ = ("what",)

    label = "once_differentiable"
    what: str

    def backward(self, g: Gradient, edges: Edges) -> tuple[Gradient, ...]:
        if any(edges[1:]):
            raise RuntimeError(self.what)
        return (g,) + (None,) * (len(edges) - 1)

    def tangent(self, tangents: Sequence[Gradient]) -> Gradient:
        if any(t is not None for t in tangents[1:]):
            raise RuntimeError(self.what)
        return tangents[0]

    backward_recorded = backward
    tangent_recorded = tangent
