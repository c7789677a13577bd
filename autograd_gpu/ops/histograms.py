"""How many elements fall where."""

from __future__ import annotations

from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.arguments import beside, namespace_of, variable
from autograd_gpu.ops.indexing import scatter_add
from autograd_gpu.ops.joining import stack
from autograd_gpu.ops.reductions import max_, min_
from autograd_gpu.primitive import primitive
from autograd_gpu.variable import Variable


@primitive(outputs=True)
def histogram_(
    xp: Namespace,
    x: Array,
    weights: Array | None = None,
    *,
    bins: Any = 10,
    range: Any = None,
    density: bool = False,
) -> tuple[Array, Array]:
    """`histogram` of arrays."""
    counts, edges = xp.histogram(x, bins=bins, range=range, weights=weights, density=density)
    return counts, edges


def histogram(
    x: Any, /, bins: Any = 10, range: Any = None, density: bool = False, weights: Any = None
) -> tuple[Variable, Variable]:
    """How many elements fall into each bin, and the bins' edges; not differentiable.

    Without `range` that of the elements is looked at, for which CuPy waits.
    Raises TypeError for weights that require a gradient; `bincount` has one for them.
    """
    if isinstance(weights, Variable) and weights.requires_grad:
        raise TypeError("histogram: no gradient flows to the weights; use bincount, or detach them")
    bins = bins.value if isinstance(bins, Variable) else bins
    found = histogram_(x, weights, bins, range, density)
    return found[0], found[1]


def bincount(
    x: Any, /, weights: Any = None, minlength: int = 0, *, length: int | None = None
) -> Variable:
    """How often each number from 0 on occurs in `x`, or the sums of its `weights`.

    Without `length`, the largest number is read on the host, which waits for a device.
    """
    x = variable(x)
    if x.ndim != 1 or x.dtype.kind not in "iub":
        raise TypeError(f"bincount: a 1-d array of integers is needed, not {x.dtype} {x.shape}")
    if length is None:
        least, largest = stack([min_(x), max_(x)]).tolist() if x.size else (0, -1)
        if least < 0:
            raise ValueError(f"bincount: numbers from 0 on are counted, and one is {least}")
        length = max(int(largest) + 1, minlength)
    if weights is None:
        weights = namespace_of(x).ones(x.shape, dtype="int64")
    return scatter_add(weights, x, (length,))


@primitive()
def digitize_(xp: Namespace, x: Array, bins: Array, *, right: bool) -> Array:
    """`digitize` of arrays."""
    return xp.digitize(x, bins, right)


def digitize(x: Any, /, bins: Any, right: bool = False) -> Variable:
    """The index of the bin that each element falls into; not differentiable."""
    x = variable(x)
    return digitize_(x, beside(x, bins), right)
