"""Which gradients are 0 because what arrived at an op is; used by `autograd_gpu.safety`.

`silent(node, xp, g)` is true where no element of the inputs gets anything from `g`: an array that
broadcasts against them.
"""

from __future__ import annotations

from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.reductions import kept
from autograd_gpu.primitive import PRIMITIVES

ELEMENTWISE = (
    "activations",
    "arithmetic",
    "bessel",
    "bessel_orders",
    "complex_functions",
    "complexes",
    "distributions",
    "elementwise",
    "exponentials",
    "gammas",
    "hypergeometric",
    "integrals",
    "powers",
    "selection",
    "special",
    "trigonometry",
)
REDUCTIONS = ("logsumexp", "max", "mean", "min", "prod", "std", "sum", "var")
ROWS = ("cumulative_prod", "cumulative_sum", "log_softmax", "softmax")


def elementwise(node: Any, xp: Namespace, g: Array) -> Array:
    """Each element by itself."""
    return g == 0


def reduction(node: Any, xp: Namespace, g: Array) -> Array:
    """All elements that were reduced to one."""
    if node.s_axis is None or node.s_keepdims:
        return g == 0
    x = getattr(node, "s_x", None)
    return (g == 0).reshape(kept(node.s_x_shape if x is None else x.shape, node.s_axis))


def row(node: Any, xp: Namespace, g: Array) -> Array:
    """All elements along the op's axis together."""
    axis = getattr(node, "s_axis", None)
    return xp.all(g == 0, axis=axis, keepdims=True)


def mark() -> None:
    """Give the nodes of the ops that are known here their rule; all others keep the general one."""
    for name, primitive in PRIMITIVES.items():
        rule = {**dict.fromkeys(REDUCTIONS, reduction), **dict.fromkeys(ROWS, row)}.get(name)
        module = primitive.forward.__module__.rpartition(".")[2]
        if module in ELEMENTWISE and not primitive.outputs:
            rule = elementwise
        if rule is not None:
            setattr(primitive.node_type, "silent", rule)  # noqa: B010
