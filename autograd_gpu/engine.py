"""The two-phase engine: count the edges into every node, then run each node once.

`backward` and `gradients` are the only two ways in.  There is no recursion, so the depth of a graph
is limited by memory only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from sys import getrefcount
from typing import Any

from autograd_gpu.accumulation import (
    HELD_AND_NAMED,
    added,
    commit,
    finish_leaf,
    fit,
    keep,
    retained,
    take_over,
)
from autograd_gpu.backend import BACKENDS, SEVERAL_DEVICES, explain_resources
from autograd_gpu.core import core
from autograd_gpu.graph import AccumulateGrad, Edges, Gradient, Node
from autograd_gpu.hooks import find_nan, recorded_at, run_hooks, run_prehooks
from autograd_gpu.modes import anomaly, enable_grad, watching
from autograd_gpu.placement import Follower
from autograd_gpu.roots import (
    given_gradients,
    require_used,
    root_node,
    seed_for,
    target_of,
    variables,
)
from autograd_gpu.safety import keep_zeros, safe
from autograd_gpu.variable import Variable

_NOTHING: Mapping[Node, Edges] = {}

_RELEASED = (
    "backward through {name} a second time: its saved arrays were released after the first; "
    "pass retain_graph=True to the first backward to keep them"
)


def backward(root: Variable, grad: Any = None, *, retain_graph: bool = False) -> None:
    """Add the gradient of `root` to the `.grad` of every leaf that it depends on.

    Parameters
    ----------
    root
        A Variable that requires a gradient.
    grad
        The gradient of the loss with respect to `root`, of its shape and dtype; 1 for a real
        scalar, required otherwise.
    retain_graph
        Keep what the graph saved, so that a second backward can run through it.

    Gradients accumulate over calls until `zero_grad`.  If an error comes up, every `.grad` is as it
    was before, but for leaves with post-accumulate hooks.  Raises RuntimeError for a root without a
    graph, a missing `grad` and a released graph, ValueError and TypeError for a `grad` that does
    not fit.

    >>> x = Variable([1.0, 2.0], requires_grad=True)
    >>> y = x * 3.0
    >>> y.backward(Variable([1.0, 10.0]))
    >>> x.grad
    array([ 3., 30.], dtype=float32)
    """
    node = root.grad_fn or root_node(root)
    value = root.value
    if (
        grad.__class__ is not value.__class__
        or grad.shape != value.shape
        or grad.dtype is not value.dtype
        or SEVERAL_DEVICES
    ):
        grad = seed_for(root, grad, False)
    counts = None if core is None else core.count_all(node)
    if counts is None:
        counts = _count_all(node)
    _run([node], [grad], {}, counts, _NOTHING, {}, retain_graph, False)


def gradients(
    outputs: Variable | Sequence[Variable],
    inputs: Variable | Sequence[Variable],
    grad_outputs: Any = None,
    *,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
) -> Any:
    """The gradients of `outputs` with respect to `inputs`; every `.grad` is left alone.

    Parameters
    ----------
    outputs, inputs
        One Variable or a sequence of them.  Inputs may be leaves or results.
    grad_outputs
        The gradients of the outputs: one for one output, or a sequence with None for the default.
    retain_graph
        Keep what the graph saved; the default is `create_graph`.
    create_graph
        Record the derivative too, so that the results can be differentiated again.
    allow_unused
        Return None for inputs that the outputs do not depend on, where RuntimeError is raised
        otherwise.

    Returns a list of Variables for a sequence of inputs, one Variable for one input; arrays are
    their own, as those of `.grad`.  Only the nodes on a path to an input run.

    >>> x = Variable(2.0, requires_grad=True)
    >>> dy = gradients(x * x * x, x, create_graph=True)
    >>> dy.item(), gradients(dy, x).item()
    (12.0, 12.0)
    """
    outs = variables(outputs, "outputs")
    ins = variables(inputs, "inputs")
    given = given_gradients(grad_outputs, outputs, len(outs))
    roots = [root_node(x) for x in outs]
    targets = [target_of(x, i) for i, x in enumerate(ins)]
    slots: dict[Node, Gradient] = {}
    for node, root, one in zip(roots, outs, given, strict=True):
        seed = seed_for(root, one, create_graph)
        slots[node] = added(slots[node], seed) if node in slots else seed
        del seed
    captured: dict[Node, Gradient] = dict.fromkeys(targets)
    counts, masked = _count_paths(list(slots), captured)
    if not allow_unused:  # before anything runs and is released
        require_used(targets, counts)
    slots = {node: seed for node, seed in slots.items() if node in counts}
    retain = create_graph if retain_graph is None else retain_graph
    ready = [node for node in slots if not counts[node]]
    seeds = [slots.pop(node) for node in ready]
    with enable_grad() if create_graph else nullcontext():
        _run(ready, seeds, slots, counts, masked, captured, retain, create_graph)
    if not allow_unused:
        require_used(targets, [node for node, g in captured.items() if g is not None])
    results = [take_over(captured, node) for node in targets]
    return results[0] if isinstance(inputs, Variable) else results


# Phase one ------------------------------------------------------------------------------------


def _count_all(root: Node) -> dict[Node, int]:
    """For every node beneath `root` the number of edges that lead into it."""
    counts = {root: 0}
    stack = [root]
    while stack:
        node = stack.pop()
        if node.shape is None:
            raise RuntimeError(_RELEASED.format(name=node.name))
        for edge in node.edges:
            if edge is not None:
                if edge in counts:
                    counts[edge] += 1
                else:
                    counts[edge] = 1
                    if edge.edges:  # a leaf leads nowhere
                        stack.append(edge)
    return counts


def _count_paths(
    roots: list[Node], targets: Mapping[Node, Gradient]
) -> tuple[dict[Node, int], dict[Node, Edges]]:
    """As `_count_all`, for the nodes on a path from `roots` to `targets` only.

    Also returns each such node's edges with None in place of those that lead to no target; nothing
    if all nodes are on such a path.
    """
    counts = dict.fromkeys(roots, 0)
    stack = list(counts)
    while stack:
        node = stack.pop()
        leads_nowhere = True
        for edge in node.edges:
            if edge is not None:
                leads_nowhere = False
                if edge in counts:
                    counts[edge] += 1
                else:
                    counts[edge] = 1
                    stack.append(edge)
        if node.shape is None or (leads_nowhere and node not in targets):
            return _count_some_paths(roots, targets)
    return counts, {}


def _count_some_paths(
    roots: list[Node], targets: Mapping[Node, Gradient]
) -> tuple[dict[Node, int], dict[Node, Edges]]:
    """As `_count_paths`, where nodes may lead to no target."""
    users: dict[Node, list[Node]] = {node: [] for node in roots}
    stack = list(users)
    while stack:
        node = stack.pop()
        for edge in node.edges:
            if edge is not None:
                if edge in users:
                    users[edge].append(node)
                else:
                    users[edge] = [node]
                    stack.append(edge)
    needed = {node for node in targets if node in users}
    stack = list(needed)
    while stack:
        for user in users[stack.pop()]:
            if user not in needed:
                needed.add(user)
                stack.append(user)
    on_path = [node for node in users if node in needed]  # in an order that each run has
    counts = {node: len(users[node]) for node in on_path}
    masked: dict[Node, Edges] = {}
    for node in on_path:
        edges = tuple([edge if edge in needed else None for edge in node.edges])
        if any(edges) and node.shape is None:
            raise RuntimeError(_RELEASED.format(name=node.name))
        masked[node] = edges
    return counts, masked


# Phase two ------------------------------------------------------------------------------------


def _run(
    ready: list[Node],
    arrived: list[Gradient],
    slots: dict[Node, Gradient],
    counts: dict[Node, int],
    masked: Mapping[Node, Edges],
    captured: dict[Node, Gradient],
    retain: bool,
    create_graph: bool,
    follow: Follower | None = None,
) -> None:
    """Run each node once all of its gradient has arrived; then write the leaves' gradients.

    `ready` holds nodes and `arrived` their gradients, None where no path delivered one; a gradient
    that waits for more contributions is in `slots`.  `counts` says how many these are.  Where there
    are several devices, `follow` makes the one of a gradient the current one.
    """
    if SEVERAL_DEVICES and follow is None:
        with Follower() as follow:
            _run(ready, arrived, slots, counts, masked, captured, retain, create_graph, follow)
        return
    leaves: list[AccumulateGrad] = []
    finished: list[Gradient] = []
    kept: list[tuple[Node, Gradient]] = []
    failed: list[Node] = []
    state = (
        ready, arrived, slots, counts, masked, captured, retain, create_graph, leaves, finished,
        kept, failed,
    )  # fmt: skip
    try:
        if core is None or watching or follow is not None:
            _run_ready(*state, follow)
        else:
            core.run_ready(*state)
    except BaseException as error:
        for node in failed:
            error.add_note(f"raised in the backward of {node.name}{recorded_at(node)}")
        explain_resources(error)
        raise
    results = retained(kept) if kept else ()
    if leaves:
        commit(leaves, finished, follow)
    if results:
        keep(results, follow)


def _run_ready(
    ready: list[Node],
    arrived: list[Gradient],
    slots: dict[Node, Gradient],
    counts: dict[Node, int],
    masked: Mapping[Node, Edges],
    captured: dict[Node, Gradient],
    retain: bool,
    create_graph: bool,
    leaves: list[AccumulateGrad],
    finished: list[Gradient],
    kept: list[tuple[Node, Gradient]],
    failed: list[Node],
    follow: Follower | None,
) -> None:
    """The loop of `_run`, of which `autograd_gpu/c/run.c` is the compiled form.

    Gradients of leaves go to `finished`, those of results that retain them to `kept`, and the node
    at which an error comes up to `failed`.
    """
    check_nan = safely = False
    if watching:
        check_nan, safely = anomaly.get(), safe.get()
    node = None
    grads: Any
    old: Any
    try:
        while ready:
            node = ready.pop()
            g = arrived.pop()
            edges = masked[node] if masked else node.edges
            if g is None:  # the inputs wait for one contribution less all the same
                grads = (None,) * len(edges)
                cls = None
                if not retain:
                    node.release()
            else:
                if follow is not None:
                    follow(g)
                if node.hooks is not None:
                    g = run_prehooks(node, node.hooks, g)
                    if node.hooks.keep_for and not captured:
                        kept.append((node, g))
                if node.__class__ is AccumulateGrad:
                    leaf = node.variable
                    if captured or leaf._hooks or leaf._post_hooks:
                        g = finish_leaf(node, g, captured)
                    if g is not None:
                        leaves.append(node)
                        finished.append(g)
                    continue
                if captured and node in captured:
                    captured[node] = g
                    if not any(edges):
                        continue
                grads = (
                    node.backward_recorded(g, edges) if create_graph else node.backward(g, edges)
                )
                if safely:
                    grads = keep_zeros(node, grads, g)
                if node.hooks is not None and node.hooks.after:
                    grads = run_hooks(node, node.hooks, grads, g)
                if check_nan:
                    find_nan(node, grads)
                if not retain:
                    node.release()
                cls = g.__class__
                g = None  # a buffer that only its slot holds may be added into
            for edge, grad in zip(edges, grads):  # noqa: B905  # strict= costs 0.1 us
                if edge is None:
                    continue
                if follow is not None and grad is not None:
                    follow(grad)  # that of a transfer lives elsewhere than g
                if grad is not None and (
                    grad.__class__ is not cls
                    or grad.shape != edge.shape
                    or grad.dtype is not edge.dtype
                ):
                    grad = fit(grad, edge)
                if edge in slots:
                    if grad is not None:
                        old = slots[edge]
                        kind = old.__class__
                        if (
                            getrefcount(old) == HELD_AND_NAMED
                            and kind in BACKENDS
                            and old.base is None
                        ):
                            old += grad  # nothing else holds this buffer
                        else:
                            slots[edge] = added(old, grad)
                        old = None
                    if counts[edge] == 1:
                        ready.append(edge)
                        arrived.append(slots.pop(edge))
                    else:
                        counts[edge] -= 1
                elif counts[edge] == 1:
                    ready.append(edge)
                    arrived.append(grad)
                else:
                    counts[edge] -= 1
                    if grad is not None:
                        slots[edge] = grad
            grads = grad = None
    except BaseException:
        if node is not None:
            failed.append(node)
        raise
