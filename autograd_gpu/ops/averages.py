"""Ranges, weighted means, covariances and correlations."""

from __future__ import annotations

from typing import Any

from autograd_gpu.ops.arguments import axis_of, beside, variable
from autograd_gpu.ops.powers import sqrt
from autograd_gpu.ops.reductions import (
    Axis,
    max_,
    mean,
    min_,
    sum_,
)
from autograd_gpu.ops.shape import broadcast_to, ravel, reshape
from autograd_gpu.variable import Variable


def ptp(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Variable:
    """The largest less the smallest element over `axis`."""
    return max_(x, axis, keepdims) - min_(x, axis, keepdims)


def average(
    x: Any, /, axis: Axis = None, weights: Any = None, *, keepdims: bool = False
) -> Variable:
    """The mean over `axis`, weighted with an array of the shape of `x` or one along `axis`."""
    x = variable(x)
    if weights is None:
        return mean(x, axis, None, keepdims)
    weights = beside(x, weights)
    if weights.shape != x.shape:
        if axis is None or isinstance(axis, tuple) or weights.shape != (x.shape[axis],):
            raise ValueError(
                f"average: weights of shape {weights.shape} for the shape {x.shape}, axis {axis}"
            )
        axis = axis_of("average", axis, x.ndim)
        weights = reshape(weights, (-1,) + (1,) * (x.ndim - axis - 1))
    total = sum_(broadcast_to(weights, x.shape), axis, None, keepdims)
    return sum_(x * weights, axis, None, keepdims) / total


def cov(m: Any, /, *, rowvar: bool = True, correction: float = 1) -> Variable:
    """The covariance matrix of variables, a row each, or with `rowvar=False` a column."""
    m = variable(m)
    x = reshape(m, (1, -1)) if m.ndim < 2 else m if rowvar else m.T
    x = x - mean(x, 1, None, True)
    other = x.conj() if x.dtype.kind == "c" else x
    y = (x @ other.T) / max(x.shape[1] - correction, 0)  # NaN for too few observations
    return reshape(y, ()) if y.shape == (1, 1) else y


def corrcoef(x: Any, /, *, rowvar: bool = True) -> Variable:
    """The correlation matrix of variables."""
    c = cov(x, rowvar=rowvar)
    if not c.ndim:
        return c / c
    n = c.shape[0]
    variances = reshape(ravel(c)[:: n + 1], (-1, 1))
    deviations = sqrt(variances.real if c.dtype.kind == "c" else variances)
    return c / deviations / deviations.T
