"""Undoing a broadcast."""

from __future__ import annotations

from typing import Any

from autograd_gpu.backend import Namespace


def sum_to(xp: Namespace, g: Any, shape: tuple[int, ...]) -> Any:
    """Sum `g` over the axes along which an array of `shape` was broadcast to the shape of `g`.

    Each element of a broadcast operand fed every element along the stretched axes, so its gradient
    is the sum over these: the extra leading axes, and those that are 1 in `shape` only.  `xp` is
    the namespace of `g`.  Raises ValueError if `shape` does not broadcast to the shape of `g`.
    """
    given = tuple(g.shape)
    if given == shape:
        return g
    lead = len(given) - len(shape)
    axes = tuple(range(lead)) if lead > 0 else ()
    fits = lead >= 0
    for i, size in enumerate(shape):
        if fits and given[lead + i] != size:
            fits = size == 1
            axes += (lead + i,)
    if not fits:
        raise ValueError(f"a gradient of shape {given} cannot be summed to the shape {shape}")
    # One axis is a shorter way than a tuple, and a view would be copied where it becomes a `grad`.
    total = xp.sum(g, axis=axes[0] if len(axes) == 1 else axes)
    return total if len(axes) == lead else xp.reshape(total, shape)
