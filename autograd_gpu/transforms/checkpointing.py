"""checkpoint: trade time for memory by computing a part of the forward again in the backward."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from weakref import ref

from autograd_gpu.callers import require_function
from autograd_gpu.engine import gradients
from autograd_gpu.forward import announce, connected_to, keeping_graphs
from autograd_gpu.graph import (
    AccumulateGrad,
    Alias,
    Edges,
    FunctionNode,
    Gradient,
    Node,
    alias,
    gradient_edge,
    make_result,
    make_results,
    reconnected,
)
from autograd_gpu.modes import enable_grad, levels, recording
from autograd_gpu.precision import casting
from autograd_gpu.random import default_generator
from autograd_gpu.transforms.tree import tree_leaves, tree_like, tree_map
from autograd_gpu.variable import Variable


def checkpoint(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """`f(*args, **kwargs)`, keeping nothing of its inside for the backward, which calls it again.

    Gradients flow to the Variables in the arguments, also in nested tuples, lists and dicts, and to
    those that `f` reads by capture (parameters).  `f` must do the same thing when it is called
    again, and keep no intermediate Variables elsewhere; what it captures must not change until
    then, while arguments may; dropout, which uses the default generator, has the
    same mask again.  Nests, and can be differentiated to any order.

    >>> x = Variable([1.0, 2.0], requires_grad=True)
    >>> checkpoint(lambda x: tanh(tanh(x)), x).sum().backward()
    >>> x.grad.shape
    (2,)
    """
    require_function("checkpoint", f, "checkpoint(f, x)")
    if not recording.get():
        return f(*args, **kwargs)
    # Copies of the containers and of Variables without a gradient: these may change afterwards.
    call = tree_map(_constant, (args, kwargs))
    given = tree_leaves(call)
    edges = [gradient_edge(x) if isinstance(x, Variable) else None for x in given]
    kept = [x.value if edge is not None else x for x, edge in zip(given, edges, strict=True)]
    # The whole graph is recorded, looked at, and dropped: what survives that was there before.
    generator = default_generator()
    drawn = generator.state_dict()
    with _within(levels, ()):  # the node gets them
        structure, needs, sketch = _first_call(f, call, kept, edges)
    captured = sketch.captured()
    if not any(edges) and not captured:
        return structure
    node = CheckpointNode()
    node.edges = (*edges, *captured)
    node.call = (f, tree_map(lambda _: 0, call), kept)  # the structure, and the leaves
    node.captured = captured
    node.casting = casting.get()
    node.drawn = drawn if drawn != generator.state_dict() else None
    leaves = tree_leaves(structure)
    values = [x.value for x, needed in zip(leaves, needs, strict=True) if needed]
    node.count = len(values)
    recorded = iter(
        make_results(values, node) if len(values) > 1 else [make_result(values[0], node)]
    )
    return tree_like(
        structure,
        [next(recorded) if needed else x for x, needed in zip(leaves, needs, strict=True)],
    )


def _first_call(
    f: Callable[..., Any], call: Any, kept: list[Any], edges: list[Node | None]
) -> tuple[Any, list[bool], _Sketch]:
    """What `f` returned, as leaves; which of these had a graph; and a sketch of that."""
    fresh = _opened(kept, edges, create_graph=False)
    args, kwargs = tree_like(call, fresh)
    returned = f(*args, **kwargs)
    needs = [isinstance(x, Variable) and x.requires_grad for x in tree_leaves(returned)]
    own = [x for x, edge in zip(fresh, edges, strict=True) if edge is not None]
    sketch = _Sketch([gradient_edge(x) for x in _outputs(returned)], own)
    return tree_map(_detached, returned), needs, sketch


def _constant(x: Any) -> Any:
    return x.detach() if isinstance(x, Variable) and not x.requires_grad else x


def _detached(x: Any) -> Any:
    return x.detach() if isinstance(x, Variable) and x.requires_grad else x


def _outputs(returned: Any) -> list[Variable]:
    return [x for x in tree_leaves(returned) if isinstance(x, Variable) and x.requires_grad]


def _opened(kept: list[Any], edges: Sequence[Node | None], *, create_graph: bool) -> list[Any]:
    """The arguments with Variables of their own in place of those with an edge."""
    return [
        x if edge is None else alias(x, edge) if create_graph else Variable(x, requires_grad=True)
        for x, edge in zip(kept, edges, strict=True)
    ]


class CheckpointNode(FunctionNode):
    """The node of a checkpointed call: its edges lead to the arguments and to what was captured."""

    __slots__ = ("call", "captured", "casting", "count", "drawn")

    label = "checkpoint"
    call: Any
    # What the function will meet again; the edges themselves change inside another checkpoint.
    captured: list[Node]
    count: int
    # Where the default generator was, if the function drew from it.
    drawn: dict[str, Any] | None
    # What `autocast` said.
    casting: Any

    def backward(self, g: Gradient, edges: Edges) -> tuple[Gradient, ...]:
        return tuple(
            [None if x is None else x.value for x in self._gradients(g, edges, create_graph=False)]
        )

    def backward_recorded(self, g: Gradient, edges: Edges) -> tuple[Gradient, ...]:
        return tuple(self._gradients(g, edges, create_graph=True))

    def release(self) -> None:
        self.call = None
        self.captured = []
        self.shape = None

    def _gradients(self, g: Gradient, edges: Edges, *, create_graph: bool) -> list[Any]:
        f, call, values = self.call
        n = len(values)
        opened = _opened(values, self.edges[:n], create_graph=create_graph)
        args, kwargs = tree_like(call, opened)
        with (
            enable_grad(),
            keeping_graphs(),
            connected_to(self.edges if create_graph else ()),
            _random_numbers_from(self.drawn),
            _within(casting, self.casting),
        ):
            outputs = _outputs(f(*args, **kwargs))
        if len(outputs) != self.count:
            raise RuntimeError(
                f"checkpoint: the function returned {self.count} Variables with a gradient at "
                f"first and {len(outputs)} when it was called again"
            )
        stops = {x.grad_fn for x in _outputs(opened)}
        onward = self.edges[n:] if create_graph else (None,) * len(self.captured)
        outputs, cut = _cut(outputs, dict(zip(self.captured, onward, strict=True)), stops)
        inputs = [*opened, *cut]
        wanted = [i for i, edge in enumerate(edges) if edge is not None]
        cotangents = list(g) if self.count > 1 else [g]
        pairs = [(y, c) for y, c in zip(outputs, cotangents, strict=True) if c is not None]
        found = gradients(
            [y for y, _ in pairs],
            [inputs[i] for i in wanted],
            [c for _, c in pairs],
            create_graph=create_graph,
            allow_unused=True,
        )
        results: list[Any] = [None] * len(edges)
        for i, x in zip(wanted, found, strict=True):
            results[i] = x
        return results


@contextmanager
def _within(mode: ContextVar[Any], value: Any) -> Iterator[None]:
    token = mode.set(value)
    try:
        yield
    finally:
        mode.reset(token)


@contextmanager
def _random_numbers_from(drawn: dict[str, Any] | None) -> Iterator[None]:
    """The default generator as it was, for the same dropout masks again."""
    if drawn is None:
        yield
        return
    generator = default_generator()
    now = generator.state_dict()
    generator.load_state_dict(drawn)
    try:
        yield
    finally:
        generator.load_state_dict(now)


class _Sketch:
    """A graph without the nodes: weak references to them, and who leads where."""

    def __init__(self, roots: list[Node | None], own: list[Variable]) -> None:
        nodes = [node for node in dict.fromkeys(roots) if node is not None]
        index = {node: i for i, node in enumerate(nodes)}
        self.edges: list[list[int]] = []
        for node in nodes:  # grows meanwhile
            found = []
            for edge in node.edges:
                if edge is not None:
                    if edge not in index:
                        index[edge] = len(nodes)
                        nodes.append(edge)
                    found.append(index[edge])
            self.edges.append(found)
        self.roots = [index[node] for node in dict.fromkeys(roots) if node is not None]
        # A leaf's node lives no longer than the graph, so it is the leaf that counts.
        self.alive = [
            ref(node.variable) if isinstance(node, AccumulateGrad) else ref(node) for node in nodes
        ]
        # What depends on the arguments was computed inside, even if f keeps it.
        ours = {id(x) for x in own}
        self.inside = {
            i
            for i, node in enumerate(nodes)
            if isinstance(node, AccumulateGrad) and id(node.variable) in ours
        }
        users: list[list[int]] = [[] for _ in nodes]
        for i, found in enumerate(self.edges):
            for j in found:
                users[j].append(i)
        stack = list(self.inside)
        while stack:
            for i in users[stack.pop()]:
                if i not in self.inside:
                    self.inside.add(i)
                    stack.append(i)

    def captured(self) -> list[Node]:
        """The outermost nodes that outlived the graph."""
        found: list[Node] = []
        seen = set(self.roots)
        stack = list(self.roots)
        while stack:
            i = stack.pop()
            survivor = None if i in self.inside else self.alive[i]()
            if isinstance(survivor, Variable):
                survivor = gradient_edge(survivor)
            if survivor is not None:
                found.append(survivor)
                continue
            for j in self.edges[i]:
                if j not in seen:
                    seen.add(j)
                    stack.append(j)
        return found


def _cut(
    outputs: list[Variable], captured: Mapping[Node, Node | None], stops: set[Node | None]
) -> tuple[list[Variable], list[Variable]]:
    """Put a node of its own before each captured one, so that nothing beneath that runs here.

    `captured` says where the new node leads; `stops` are the nodes of the arguments.  Returns the
    outputs, and Variables of the new nodes.
    """
    replaced: dict[Node, Alias] = {}
    for edge, onward in captured.items():
        node = replaced[edge] = Alias()
        node.edges = (onward,)
        node.shape, node.dtype, node.hooks = edge.shape, edge.dtype, None
        announce(node)
    met: set[Node] = set()
    seen: set[Node | None] = {None, *stops, *replaced.values()}
    stack: list[Node] = []

    def instead(edge: Node | None) -> Node | None:
        if edge in replaced:
            met.add(edge)
            return replaced[edge]
        if edge is not None and edge not in seen:
            seen.add(edge)
            stack.append(edge)
        return edge

    # A captured Variable may have been returned as it is.
    results = [reconnected(x.value, instead(gradient_edge(x))) for x in outputs]
    while stack:
        node_inside = stack.pop()
        node_inside.edges = tuple([instead(edge) for edge in node_inside.edges])
    if len(met) != len(replaced):
        missing = ", ".join(edge.name for edge in replaced if edge not in met)
        raise RuntimeError(
            f"checkpoint: the function did not use {missing} when it was called again; it must do "
            f"the same thing each time, and keep no intermediate Variables elsewhere"
        )
    return results, [reconnected(None, node) for node in replaced.values()]
