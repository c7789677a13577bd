"""The graph: nodes, the edges between them, and make_result, the only place that records.

A Node stands for one computed value.  It maps the gradient of that value to one gradient for each
input, and its edges lead to the Nodes that receive these.  Edges point from results to inputs, so
that a result owns the graph beneath it, and dropping the last result frees it at once.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias
from weakref import ReferenceType, WeakKeyDictionary, ref

from autograd_gpu.backend import Array
from autograd_gpu.modes import anomaly, levels, recording, watching
from autograd_gpu.variable import RemovableHandle, Variable

Gradient: TypeAlias = Any
"""What flows: a raw array, or a Variable under create_graph; a tuple for several outputs."""

Edges: TypeAlias = "tuple[Node | None, ...]"
PreHook: TypeAlias = Callable[[Gradient], Gradient]
Hook: TypeAlias = Callable[[tuple[Gradient, ...], Gradient], "Sequence[Gradient] | None"]

_recorded_at: WeakKeyDictionary[Node, str] = WeakKeyDictionary()


class Hooks:
    """The hooks of one Node; most Nodes have none."""

    __slots__ = ("after", "before", "keep_for")

    def __init__(self) -> None:
        self.before: list[PreHook] = []
        self.after: list[Hook] = []
        self.keep_for: list[ReferenceType[Variable]] = []


class Node:
    """One value in the graph.

    `shape` and `dtype` are those of the value, and so of its gradient.  A released Node has no
    shape any more.
    """

    __slots__ = ("__weakref__", "dtype", "edges", "hooks", "shape")

    label: ClassVar[str] = "node"
    # Whether a run with tangents has to leave the graph beneath it alone.
    keeps_graph: ClassVar[bool] = False
    edges: Edges
    shape: Any
    dtype: Any
    hooks: Hooks | None

    @property
    def name(self) -> str:
        """The name of the op that computed the value."""
        return self.label

    @property
    def next_functions(self) -> Edges:
        """For each input the Node that receives its gradient, or None where none is needed."""
        return self.edges

    @property
    def recorded_at(self) -> str | None:
        """Where the op was called; known for ops recorded under `detect_anomaly`."""
        return _recorded_at.get(self)

    def backward(self, g: Gradient, edges: Edges) -> tuple[Gradient, ...]:
        """One gradient per input, None where the edge is None; `g` is a raw array."""
        raise NotImplementedError

    def backward_recorded(self, g: Gradient, edges: Edges) -> tuple[Gradient, ...]:
        """The same on Variables, which records the derivative itself (create_graph)."""
        raise NotImplementedError

    def tangent(self, tangents: Sequence[Gradient]) -> Gradient:
        """The tangent of the value, from those of the inputs: raw arrays, None where there is none.

        NotImplemented where the backward has to tell.
        """
        return NotImplemented

    def tangent_recorded(self, tangents: Sequence[Gradient]) -> Gradient:
        """The same on Variables, which records how the tangent depends on the inputs."""
        return NotImplemented

    def silent(self, xp: Any, g: Array) -> Array | None:
        """Where the inputs get nothing from the raw gradient `g`, since that is 0: an array that
        broadcasts against them, or None for an op of which no more is known than that all of `g`
        must be 0.
        """
        return None

    def release(self) -> None:
        """Let go of what was saved for the backward."""
        self.shape = None

    def register_prehook(self, hook: PreHook) -> RemovableHandle[PreHook]:
        """Call `hook(g)` before the backward, with the gradient of the value; a result other than
        None replaces it."""
        return RemovableHandle(self._own_hooks().before, hook)

    def register_hook(self, hook: Hook) -> RemovableHandle[Hook]:
        """Call `hook(gradients, g)` after the backward; a tuple that it returns replaces the
        inputs' gradients."""
        return RemovableHandle(self._own_hooks().after, hook)

    def keep_gradient_for(self, variable: ReferenceType[Variable]) -> None:
        """Store the gradient of the value in `variable.grad` too (retain_grad)."""
        keep = self._own_hooks().keep_for
        if all(other() is not variable() for other in keep):
            keep.append(variable)

    def stop_keeping(self, variable: Variable) -> bool:
        """Undo `keep_gradient_for`; whether there was anything to undo."""
        keep = self.hooks.keep_for if self.hooks is not None else []
        for i, other in enumerate(keep):
            if other() is variable:
                del keep[i]
                return True
        return False

    def _own_hooks(self) -> Hooks:
        if self.hooks is None:
            self.hooks = Hooks()
        return self.hooks

    def __repr__(self) -> str:
        return f"<{type(self).__mro__[1].__name__} {self.name}>"


class FunctionNode(Node):
    """A Node recorded by an op; its subclasses say what is saved and how gradients come about."""

    __slots__ = ()


class AccumulateGrad(Node):
    """Receives a leaf's gradient.

    It keeps its leaf alive, while the leaf knows it weakly only: a leaf does not keep a graph
    alive after the result is gone.
    """

    __slots__ = ("variable",)

    label = "AccumulateGrad"

    variable: Variable

    def release(self) -> None:
        """Nothing is saved, and a leaf's Node is used by every graph that the leaf is in."""


def gradient_edge(x: Variable) -> Node | None:
    """The Node that receives the gradient of `x`, or None if `x` does not require one.

    A leaf has one as long as that is in use, and another after a `.value` of another kind.
    """
    node = x.grad_fn
    if node is None and x._requires_grad:
        known = x._accumulator
        node = known() if known is not None else None
        value = x.value
        if node is None or node.shape != value.shape or node.dtype != value.dtype:
            # Written out: a constructor's call would cost as much as the rest.
            node = AccumulateGrad()
            node.variable = x
            node.edges = ()
            node.shape = value.shape
            node.dtype = value.dtype
            node.hooks = None
            x._accumulator = ref(node)
    return node


_new_variable = object.__new__


def make_result(value: Array, node: Node | None = None) -> Variable:
    """`value` as a Variable: the result of `node`, or a plain leaf where nothing is recorded.

    The only place that records.  Whoever calls it makes a node, with its edges, if grad mode is on
    and an input requires a gradient (`edges_of`), and saves in it what the backward will need.
    """
    result: Variable = _new_variable(Variable)
    result.value = value
    result.grad_fn = node
    if node is None:
        result._requires_grad = False
    else:
        node.shape = value.shape
        node.dtype = value.dtype
        node.hooks = None
        if watching:
            result.grad_fn = _watched(node)
    return result


def _watched(node: Node) -> Node:
    """What stands for a new node while a mode that is rarely on looks at all of them."""
    if anomaly.get():
        _recorded_at[node] = _call_site()
    active = levels.get()
    return active[-1].stand_in(node) if active else node


def edges_of(inputs: Sequence[object]) -> Edges | None:
    """The edges of an op with these inputs, or None if there is nothing to record."""
    if not recording.get():
        return None
    edges = tuple([gradient_edge(x) if isinstance(x, Variable) else None for x in inputs])
    return edges if any(edges) else None


class Select(FunctionNode):
    """One of the outputs of an op that has several: it hands its gradient on in a tuple."""

    __slots__ = ("count", "index")

    label = "select"
    index: int
    count: int

    def backward(self, g: Gradient, edges: Edges) -> tuple[Gradient, ...]:
        return ((None,) * self.index + (g,) + (None,) * (self.count - self.index - 1),)

    def tangent(self, tangents: Sequence[Gradient]) -> Gradient:
        return tangents[0][self.index]

    backward_recorded = backward
    tangent_recorded = tangent


class Alias(FunctionNode):
    """The identity: a node of its own for a value that has one already."""

    __slots__ = ()

    label = "alias"
    keeps_graph = True

    def backward(self, g: Gradient, edges: Edges) -> tuple[Gradient, ...]:
        return (g,)

    def tangent(self, tangents: Sequence[Gradient]) -> Gradient:
        return tangents[0]

    backward_recorded = backward
    tangent_recorded = tangent


def alias(value: Array, edge: Node) -> Variable:
    """`value` as the result of an identity whose gradient goes to `edge`."""
    node = Alias()
    node.edges = (edge,)
    return make_result(value, node)


class Carrier(FunctionNode):
    """Stands for a value that has tangents, in `autograd_gpu.forward`: the identity along its edge,
    or without one the end of the graph."""

    __slots__ = ("tangents",)

    label = "tangent"
    tangents: dict[object, Gradient]

    def backward(self, g: Gradient, edges: Edges) -> tuple[Gradient, ...]:
        return (g,) * len(edges)

    def tangent(self, tangents: Sequence[Gradient]) -> Gradient:
        return tangents[0]

    backward_recorded = backward
    tangent_recorded = tangent

    def release(self) -> None:
        """Nothing is saved."""


def make_results(values: Sequence[Array], node: Node | None = None) -> tuple[Variable, ...]:
    """As `make_result`, for an op with several outputs.

    The gradient of `node` is a tuple with None where no gradient arrived; a selecting node is
    recorded for each output that can have a gradient.
    """
    if node is None:
        return tuple([make_result(value) for value in values])
    node.shape = tuple([value.shape for value in values])
    node.dtype = tuple([value.dtype for value in values])
    node.hooks = None
    if watching:
        node = _watched(node)
    return tuple([selected(value, node, i) for i, value in enumerate(values)])


def selected(value: Array, node: Node, index: int) -> Variable:
    """Output `index` of `node` as a Variable."""
    if value.dtype.kind not in "fcV":
        return make_result(value)
    select = Select()
    select.edges = (node,)
    select.index = index
    select.count = len(node.shape)
    return make_result(value, select)


def reconnected(value: Array, node: Node | None) -> Any:
    """A saved array as a Variable whose gradient goes to `node`; the array itself for None."""
    if node is None:
        return value
    variable: Variable = _new_variable(Variable)
    variable.value = value
    variable.grad_fn = node
    return variable


def _call_site() -> str:
    """The innermost line outside this package, and the code on it."""
    package = __name__.partition(".")[0]
    frames = [
        (frame, line)
        for frame, line in traceback.walk_stack(None)
        if not str(frame.f_globals.get("__name__", "")).startswith((f"{package}.",))
    ]
    summary = traceback.StackSummary.extract(iter(frames[:1]))
    return f'File "{summary[0].filename}", line {summary[0].lineno}: {summary[0].line}'
