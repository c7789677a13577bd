"""Checking forward mode against gradients that have been checked themselves."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from autograd_gpu.backend import Array, backend_of
from autograd_gpu.differences import DIRECTIONS, GradCheckError, Problem, uniform
from autograd_gpu.forward import push
from autograd_gpu.graph import gradient_edge
from autograd_gpu.variable import Variable


def check_forward(
    problem: Problem,
    outputs: Sequence[Variable],
    weights: Sequence[Array],
    leaves: Sequence[Variable],
    grads: Sequence[Array],
    tolerances: Any,
) -> None:
    """Compare sum(w * tangent) with sum(gradient * direction), for random directions of each leaf.

    Raises GradCheckError where they differ.
    """
    bits = random.Random(2)
    nodes = [node for y in outputs if (node := gradient_edge(y)) is not None]
    for i, (leaf, grad) in enumerate(zip(leaves, grads, strict=True)):
        node = gradient_edge(leaf)
        assert node is not None
        for _ in range(DIRECTIONS if leaf.size else 0):
            direction = uniform(bits, leaf.shape, leaf.dtype)
            tangents = push(nodes, {node: direction}, recorded=False)
            pairs = zip(weights, tangents, strict=True)
            forward = sum(_product(w, t) for w, t in pairs if t is not None)
            reverse = _product(grad, direction)
            if not tolerances.pass_(forward, reverse):
                raise GradCheckError(
                    f"grad_check: {problem.names[i]}, in a random direction: forward mode "
                    f"{forward:.10g}, reverse mode {reverse:.10g} "
                    f"(difference {abs(forward - reverse):.3g})",
                    input=problem.indices[i],
                    name=problem.names[i],
                    analytic=forward,
                    numeric=reverse,
                )


def _product(a: Array, b: Array) -> float:
    xp = backend_of(a).xp
    return float(xp.sum(xp.real(xp.conj(a) * b)))
