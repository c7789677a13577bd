"""Minus the logarithms of likelihoods; arguments as in `losses`."""

from __future__ import annotations

import math
from typing import Any

from autograd_gpu import ops
from autograd_gpu.nn.functional.arguments import (
    backend_near,
    check_equal_shapes,
    raw,
    shape_of,
)
from autograd_gpu.nn.functional.losses import check_reduction, numbers, reduced
from autograd_gpu.ops.layers import check_range
from autograd_gpu.placement import on_its_device
from autograd_gpu.precision import in_float32
from autograd_gpu.variable import Variable


@on_its_device
@in_float32
def gaussian_nll_loss(
    x: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Variable:
    """(log(var) + (x - target)² / var) / 2 with variances at least `eps`; with `full` plus
    log(2 π) / 2.

    `var` is a number, or has the shape of `x`, or lacks the last axis of `x` or has a 1 in place of
    one of them.  Raises ValueError for negative ones, but not on a GPU.
    """
    op = "gaussian_nll_loss"
    check_reduction(op, reduction)
    check_equal_shapes(op, x=x, target=target)
    shape, given = shape_of(x), shape_of(var)
    x = ops.asarray(x)
    var = ops.asarray(backend_near(x).constant(var, x.dtype) if not hasattr(var, "shape") else var)
    if given and given == shape[:-1]:
        var = ops.expand_dims(var, axis=-1)
    elif given and (
        len(given) != len(shape)
        or [n for n, m in zip(given, shape, strict=True) if n != m] not in ([], [1])
    ):
        raise ValueError(f"{op}: var {list(given)} is neither of x {list(shape)} nor of its rows")
    try:
        check_range(backend_near(var).xp, raw(var), 0, math.inf)
    except ValueError as error:
        raise ValueError(f"{op}: var {error}") from None
    # the bound takes no part in the derivative, as in PyTorch
    below = ops.subtract(eps, var.detach())
    var = var + ops.maximum(below, 0)
    d = ops.subtract(x, numbers(target, x))
    loss = 0.5 * (ops.log(var) + d * d / var)
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


@on_its_device
@in_float32
def poisson_nll_loss(
    x: Any,
    target: Any,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Variable:
    """exp(x) - target · x for rates given as logarithms, or else x - target · log(x + eps).

    `full` adds Stirling's approximation of log(target!) where `target` is above 1.
    """
    op = "poisson_nll_loss"
    check_reduction(op, reduction)
    check_equal_shapes(op, x=x, target=target)
    x, target = ops.asarray(x), numbers(target, x)
    loss = ops.exp(x) - target * x if log_input else x - target * ops.log(x + eps)
    if full:
        t: Any = raw(target)
        xp = backend_near(x).xp
        large = xp.where(t > 1, t, 1.0)
        stirling = large * xp.log(large) - large + 0.5 * xp.log(2 * math.pi * large)
        loss = loss + xp.where(t > 1, stirling, 0.0).astype(loss.dtype)
    return reduced(loss, reduction)
