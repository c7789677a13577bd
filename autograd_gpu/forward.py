"""Forward mode: tangents that are carried from the inputs of ops to their results.

A Node tells the tangent of its value from those of its inputs (`Node.tangent`), by what it saved
for its backward; where it can't, two reverse passes through this Node alone tell it.

A Level is one run of a function with tangents.  Tangents belong to Nodes, and each Level knows its
own, so nested runs never take one for another's.  Within a Level `make_result` hands every new Node
over as soon as it is recorded; where the graph beneath it is wanted by nobody else, a Carrier takes
its place, which has no graph, so that memory does not grow with the number of ops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from autograd_gpu.accumulation import fit
from autograd_gpu.backend import NAMESPACES, SEVERAL_DEVICES, Array, backend_of
from autograd_gpu.engine import gradients
from autograd_gpu.graph import Carrier, Gradient, Node, gradient_edge
from autograd_gpu.modes import enable_grad, levels, watching
from autograd_gpu.placement import backend_beside, near
from autograd_gpu.values import is_differentiable
from autograd_gpu.variable import Variable

_keeping: ContextVar[bool] = ContextVar("autograd_gpu.keeping", default=False)

_wanted: ContextVar[frozenset[Node | None]] = ContextVar("autograd_gpu.wanted", default=frozenset())


def _is_cut(node: Node | None) -> bool:
    """Whether no graph is beneath: nothing, or a value of a run with tangents."""
    return node is None or (node.__class__ is Carrier and not node.edges)


class Level:
    """One run with tangents: `with level:` around the function.

    A Carrier has its tangents with it, under the `key` of each run; `known` are those of other
    Nodes.  `inner` are the Nodes that nothing outside of this run leads to, besides Carriers: their
    tangents are raw arrays, where others are Variables with a graph of their own.
    """

    def __init__(self) -> None:
        self.key = object()  # not the run itself, which Carriers would keep alive
        self.known: WeakKeyDictionary[Node, Gradient] = WeakKeyDictionary()
        self.inner: WeakSet[Node] = WeakSet()

    def __enter__(self) -> None:
        watching.append(None)
        self.token = levels.set((*levels.get(), self))

    def __exit__(self, *error: object) -> None:
        levels.reset(self.token)
        watching.pop()

    def tangent(self, node: Node | None) -> Gradient:
        """The tangent of the value of a Node in this run, or None."""
        if isinstance(node, Carrier):
            return node.tangents.get(self.key)
        return None if node is None else self.known.get(node)

    def is_inner(self, node: Node | None, outer: Sequence[Level]) -> bool:
        """Whether nothing outside of this run, of which `outer` are around, leads to the Node."""
        if _is_cut(node):
            return not any(level.tangent(node) is not None for level in outer)
        return node in self.inner

    def stand_in(self, node: Node) -> Node:
        """Tell the tangents of a new Node, in this run and in those around it; the Node itself, or
        the Carrier in its place."""
        active = levels.get()
        carrier = None
        alone = all(map(_is_cut, node.edges))
        if alone and not (node.keeps_graph or _keeping.get()):
            carrier = Carrier()
            carrier.edges, carrier.tangents = (), {}
            carrier.shape, carrier.dtype, carrier.hooks = node.shape, node.dtype, None
        for i, level in enumerate(active):
            outer = active[:i]
            looked_up = carrier is None or level is not active[-1]  # by runs within this one
            tangents = [level.tangent(edge) for edge in node.edges]
            inner = (alone and not outer) or all(level.is_inner(e, outer) for e in node.edges)
            if inner and looked_up:
                level.inner.add(node)
            given = [t for t in tangents if t is not None]
            if given:
                recorded = not inner or any(isinstance(t, Variable) for t in given)
                token = levels.set(outer)  # what computes it has tangents there
                try:
                    t = tangent_of(node, tangents, recorded=recorded)
                finally:
                    levels.reset(token)
                if carrier is not None:
                    carrier.tangents[level.key] = t
                if isinstance(node, Carrier):  # an argument of a run within these
                    node.tangents[level.key] = t
                elif looked_up:
                    level.known[node] = t
        return node if carrier is None else carrier


@contextmanager
def keeping_graphs() -> Iterator[None]:
    """Within it no Carrier takes the place of a Node: for who will walk the graph."""
    token = _keeping.set(True)
    try:
        yield
    finally:
        _keeping.reset(token)


def announce(node: Node) -> None:
    """Tell the runs that are going on of a Node that `make_result` did not see, and that stays."""
    for level in levels.get()[-1:]:
        level.stand_in(node)


@contextmanager
def connected_to(edges: Sequence[Node | None]) -> Iterator[None]:
    """Within it gradients that the user's code takes stay connected with these Nodes: for a
    recorded backward that calls it, whatever the Nodes lead to."""
    token = _wanted.set(_wanted.get().union(edges))
    try:
        yield
    finally:
        _wanted.reset(token)


def is_wanted(node: Node) -> bool:
    """Whether a backward that is being recorded has to lead to `node`."""
    return node in _wanted.get()


def is_carried(node: Node) -> bool:
    """Whether a run that is going on has a tangent for the value of `node`."""
    return any(level.tangent(node) is not None for level in levels.get())


def mark_inner(leaf: Variable) -> Node | None:
    """The Node of a new leaf, of which the runs that are going on know that it is their own as long
    as somebody holds it; None for a leaf without a gradient."""
    node = gradient_edge(leaf)
    if node is not None:
        for level in levels.get():
            level.inner.add(node)
    return node


def tangent_of(node: Node, tangents: Sequence[Gradient], *, recorded: bool) -> Gradient:
    """The tangent of the value of `node`; `recorded` asks for Variables with a graph."""
    try:
        if not SEVERAL_DEVICES:
            return _tangent_here(node, tangents, recorded)
        with near(_first_of(tangents)):
            return _tangent_here(node, tangents, recorded)
    except Exception as error:
        error.add_note(f"raised in forward mode, at {node.name}")
        raise


def _tangent_here(node: Node, tangents: Sequence[Gradient], recorded: bool) -> Gradient:
    if recorded:
        tangents = [as_variable(t) for t in tangents]
        with enable_grad():
            t = node.tangent_recorded(tangents)
            t = _by_two_pulls(node, tangents, True) if t is NotImplemented else t
            return fitted(t, node.shape, node.dtype)
    t = node.tangent(tangents)
    t = _by_two_pulls(node, tangents, False) if t is NotImplemented else t
    return fitted(t, node.shape, node.dtype)


def _first_of(tangents: Sequence[Gradient]) -> Array:
    """The raw array of a tangent, to tell the backend and device by."""
    first = next(t for t in tangents if t is not None)
    if first.__class__ is tuple:
        return _first_of(first)
    return first.value if isinstance(first, Variable) else first


def as_variable(t: Gradient) -> Gradient:
    """A raw tangent as a Variable, also within a tuple."""
    if t.__class__ is tuple:
        return tuple(map(as_variable, t))
    return t if t is None or isinstance(t, Variable) else Variable(t)


def fitted(t: Gradient, shape: Any, dtype: Any) -> Gradient:
    """`t` in the shape and dtype of the value that it is the tangent of; None for integers."""
    if t is None:
        return None
    if t.__class__ is tuple:
        return tuple(map(fitted, t, shape, dtype))
    if t.dtype is dtype and t.shape == shape and t.__class__ in NAMESPACES:
        return t
    if not is_differentiable(dtype):
        return None
    xp = NAMESPACES.get(t.__class__)
    if xp is None:  # NumPy's scalars
        xp = backend_of(t).xp
        t = xp.asarray(t)
    if t.dtype != dtype:
        if t.dtype.kind == "c" and dtype.kind != "c":
            t = xp.real(t)
        t = xp.astype(t, dtype)
    return t if t.shape == shape else xp.broadcast_to(t, shape)


def _by_two_pulls(node: Node, tangents: Sequence[Gradient], recorded: bool) -> Gradient:
    """The gradients are linear in what arrives at the Node, and what multiplies that is the
    Jacobian: so the gradient of the gradients by what arrives is the product from the right."""
    xp = backend_beside(_first_of(tangents)).xp
    several = node.shape.__class__ is tuple and node.dtype.__class__ is tuple
    kinds = zip(node.shape, node.dtype, strict=True) if several else [(node.shape, node.dtype)]
    arrived = [
        Variable(xp.zeros(shape, dtype=dtype), is_differentiable(dtype)) for shape, dtype in kinds
    ]
    held = [mark_inner(x) for x in arrived]
    pairs = zip(node.edges, tangents, strict=True)
    edges = tuple([None if t is None else edge for edge, t in pairs])
    with enable_grad():
        pulled = node.backward_recorded(tuple(arrived) if several else arrived[0], edges)
        products = [
            (fit(g, edge), t)
            for g, edge, t in zip(pulled, edges, tangents, strict=True)
            if edge is not None and g is not None
        ]
    products = [(g, t) for g, t in products if g.requires_grad]
    if not products:
        return None
    wanted = [x for x in arrived if x.requires_grad]
    found = iter(
        gradients(
            [g for g, _ in products],
            wanted,
            [t for _, t in products],
            create_graph=recorded,
            allow_unused=True,
        )
    )
    del held
    results = [next(found) if x.requires_grad else None for x in arrived]
    if not recorded:
        results = [None if x is None else x.value for x in results]
    return tuple(results) if several else results[0]


def push(
    outputs: Sequence[Node], tangents: Mapping[Node, Gradient], *, recorded: bool
) -> list[Gradient]:
    """The tangents of the values of `outputs`, along the recorded graph that leads to them from the
    Nodes of `tangents`; None for an output that depends on none of these.

    `recorded` asks for Variables that can be differentiated again.
    """
    order: list[Node] = []
    uses: dict[Node, int] = dict.fromkeys(outputs, 1)
    stack: list[tuple[Node, bool]] = [(node, False) for node in outputs]
    seen: set[Node] = set(tangents)
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            for edge in node.edges:
                if edge is not None:
                    uses[edge] = uses.get(edge, 0) + 1
                    stack.append((edge, False))
    known: dict[Node, Gradient] = dict(tangents)
    for node in order:
        arrived = [None if edge is None else known.get(edge) for edge in node.edges]
        if any(t is not None for t in arrived):
            known[node] = tangent_of(node, arrived, recorded=recorded)
        for edge in node.edges:
            if edge is not None:
                uses[edge] -= 1
                if not uses[edge]:  # no more than what is still needed is kept
                    known.pop(edge, None)
    return [known.get(node) for node in outputs]
