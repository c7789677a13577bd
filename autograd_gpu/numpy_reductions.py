"""Reductions over some of the elements: `where=` and `initial=` of NumPy's sum, max, mean, ..."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from autograd_gpu import ops
from autograd_gpu.ops.arguments import variable

Axis = int | tuple[int, ...] | None

IDENTITIES: dict[str, float | None] = {
    "sum": 0,
    "prod": 1,
    "all": True,
    "any": False,
    "max": None,
    "min": None,
    "logsumexp": -math.inf,
}
JOIN = {"sum": "add", "prod": "multiply", "all": "logical_and", "any": "logical_or"}
JOIN |= {"max": "maximum", "min": "minimum", "logsumexp": "logaddexp"}


def _partial(name: str) -> Callable[..., Any]:
    """The reduction `name` over the elements where `where` holds, joined with `initial`."""
    reduce, join = getattr(ops, name), getattr(ops, JOIN[name])

    def call(
        x: Any, axis: Axis = None, *, initial: Any = None, where: Any = True, **options: Any
    ) -> Any:
        x = variable(x)
        if where is not True:
            identity = IDENTITIES[name] if IDENTITIES[name] is not None else initial
            if identity is None:
                raise ValueError(f"{name}: where= needs initial=, since a {name} has no identity")
            x = ops.where(where, x, identity)
        y = reduce(x, axis=axis, **options)
        return y if initial is None else join(y, initial)

    return call


def mean(x: Any, axis: Axis = None, *, keepdims: bool = False, where: Any) -> Any:
    """The mean of the elements where `where` holds."""
    x = variable(x)
    total = ops.sum_(ops.where(where, x, 0), axis=axis, keepdims=keepdims)
    return total / _count(x, where, axis, keepdims)


def var(
    x: Any, axis: Axis = None, *, correction: float = 0, keepdims: bool = False, where: Any
) -> Any:
    """The variance of the elements where `where` holds."""
    squares = ops.square(ops.abs_(_deviations(x, where, axis)))
    n = _count(squares, where, axis, keepdims) - correction
    return ops.sum_(squares, axis=axis, keepdims=keepdims) / n


def std(
    x: Any, axis: Axis = None, *, correction: float = 0, keepdims: bool = False, where: Any
) -> Any:
    """The standard deviation of the elements where `where` holds; its gradient at 0 is 0."""
    deviations = _deviations(x, where, axis)
    n = _count(deviations, where, axis, keepdims) - correction
    return ops.linalg.vector_norm(deviations, axis=axis, keepdims=keepdims) / ops.sqrt(n)


def _deviations(x: Any, where: Any, axis: Axis) -> Any:
    """Distances from the mean, 0 for what does not count."""
    x = variable(x)
    return ops.where(where, x - mean(x, axis, keepdims=True, where=where), 0)


def _count(x: Any, where: Any, axis: Axis, keepdims: bool) -> Any:
    """The number of elements that count, in the real dtype of `x`."""
    mask = ops.broadcast_to(where, x.shape)
    return ops.astype(ops.count_nonzero(mask, axis=axis, keepdims=keepdims), ops.real(x).dtype)


PARTIAL: dict[str, Callable[..., Any]] = {
    **{name: _partial(name) for name in IDENTITIES},
    "mean": mean,
    "std": std,
    "var": var,
}
