"""Minus the logarithms of likelihoods; arguments as in `losses`."""

from __future__ import annotations

import math
from typing import Any

from autograd_gpu import ops
from autograd_gpu.nn.functional.arguments import check_equal_shapes
from autograd_gpu.nn.functional.losses import check_reduction, operand, reduced
from autograd_gpu.precision import in_float32
from autograd_gpu.variable import Variable


@in_float32
def gaussian_nll_loss(
    x: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Variable:
    """(log(var) + (x - target)² / var) / 2 with variances of the shape of `x`, at least `eps`;
    with `full` plus log(2 π) / 2."""
    op = "gaussian_nll_loss"
    check_reduction(op, reduction)
    check_equal_shapes(op, x=x, target=target, var=var)
    var = ops.asarray(var)
    # the bound takes no part in the derivative, as in PyTorch
    var = var + ops.where(var.value < eps, eps - var.value, 0)
    d = ops.subtract(x, operand(target, x))
    loss = 0.5 * (ops.log(var) + d * d / var)
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


@in_float32
def poisson_nll_loss(
    x: Any, target: Any, log_input: bool = True, eps: float = 1e-8, reduction: str = "mean"
) -> Variable:
    """exp(x) - target · x for rates given as logarithms, or else x - target · log(x + eps)."""
    op = "poisson_nll_loss"
    check_reduction(op, reduction)
    check_equal_shapes(op, x=x, target=target)
    x, target = ops.asarray(x), operand(target, x)
    loss = ops.exp(x) - target * x if log_input else x - target * ops.log(x + eps)
    return reduced(loss, reduction)
