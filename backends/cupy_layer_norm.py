"""Layer norm and group norm for CuPy: one reduction over rows, one elementwise kernel.

Half types are computed in float32.  The signatures are those of `numpy_layer_norm` and of
`numpy_group_norm`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Any, NamedTuple

import cupy as cp
import numpy as np

from autograd_gpu.backends.cupy_rows import compute_dtype, kernels

Array = Any


def layer_norm(
    x: Array, weight: Array | None, bias: Array | None, *, count: int, eps: float
) -> tuple[Array, Any]:
    """`x` normalised over its last `count` axes, times `weight`, plus `bias`; and what
    `layer_norm_gradients` gets as `kept`: the rows' means and variances."""
    y = cp.empty(x.shape, x.dtype)
    return y, _normalised(x, weight, bias, _as_rows(x, count), eps, y)


def layer_norm_gradients(
    g: Array,
    x: Array,
    weight: Array | None,
    kept: Any,
    needs: Sequence[bool],
    *,
    count: int,
    eps: float,
) -> tuple[Array | None, Array | None, Array | None]:
    """The gradients for `x`, `weight` and the bias of `layer_norm`, where they are needed."""
    normal = x.shape[x.ndim - count :]
    return _gradients(g, x, weight, kept, needs, _as_rows(x, count), eps, normal)


def groups_normalised(
    x: Array, weight: Array | None, bias: Array | None, *, groups: int, eps: float
) -> tuple[Array, Any]:
    """`x` [N, C, ...] normalised over groups of its channels, times `weight`, plus `bias`; and what
    `group_norm_gradients` gets as `kept`: the groups' means and variances."""
    y = cp.empty(x.shape, cp.result_type(*(v for v in (x, weight, bias) if v is not None)))
    return y, _normalised(x, weight, bias, _as_groups(x, groups), eps, y)


def group_norm_gradients(
    g: Array,
    x: Array,
    weight: Array | None,
    kept: Any,
    needs: Sequence[bool],
    *,
    groups: int,
    eps: float,
) -> tuple[Array | None, Array | None, Array | None]:
    """The gradients for `x`, `weight` and the bias of `group_norm`, where they are needed."""
    return _gradients(g, x, weight, kept, needs, _as_groups(x, groups), eps, x.shape[1:2])


class _View(NamedTuple):
    """How kernels see an array: statistics go over `axes`, gradients of a weight over `others`."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    others: tuple[int, ...]

    def over(self, axes: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of sums over `axes`."""
        return tuple(1 if i in axes else n for i, n in enumerate(self.shape))


def _as_rows(x: Array, count: int) -> _View:
    lead = x.ndim - count
    return _View((prod(x.shape[:lead]), prod(x.shape[lead:])), (1,), (0,))


def _as_groups(x: Array, groups: int) -> _View:
    n, channels, *rest = x.shape
    return _View((n, groups, channels // groups, prod(rest)), (2, 3), (0, 3))


def _normalised(
    x: Array, weight: Array | None, bias: Array | None, view: _View, eps: float, y: Array
) -> Any:
    if not x.size:
        return None
    x, y, compute = x.reshape(view.shape), y.reshape(view.shape), compute_dtype(y)
    by_name = kernels(compute)
    mean, variance = (cp.empty(view.over(view.axes), compute) for _ in range(2))
    by_name["moments"](x, mean, variance, axis=view.axes, keepdims=True)
    rows = _row(weight, 1, view), _row(bias, 0, view)
    by_name["normalise"](x, mean, variance, *rows, eps, y)
    return mean, variance


def _gradients(
    g: Array,
    x: Array,
    weight: Array | None,
    kept: Any,
    needs: Sequence[bool],
    view: _View,
    eps: float,
    normal: tuple[int, ...],
) -> tuple[Array | None, Array | None, Array | None]:
    needs_x, needs_weight, needs_bias = needs
    grad_x = cp.empty(x.shape, x.dtype) if needs_x else None
    compute = compute_dtype(x) if kept is None else kept[0].dtype
    grad_bias, grad_weight = (cp.zeros(normal, compute) for _ in range(2))
    if x.size:
        x, g = x.reshape(view.shape), g.reshape(view.shape)
        mean, variance = kept
        by_name = kernels(compute)
        if grad_x is not None:
            row, width = _row(weight, 1, view), x.size // mean.size
            plain, along = (cp.empty(mean.shape, compute) for _ in range(2))
            by_name["products"](
                g, x, row, mean, variance, eps, plain, along, axis=view.axes, keepdims=True
            )
            by_name["gradient"](
                g, x, row, mean, variance, plain, along, eps, width, grad_x.reshape(view.shape)
            )
        if needs_weight or needs_bias:
            sums = (v.reshape(view.over(view.others)) for v in (grad_bias, grad_weight))
            one = _row(None, 1, view)
            by_name["products"](
                g, x, one, mean, variance, eps, *sums, axis=view.others, keepdims=True
            )
    return grad_x, grad_weight if needs_weight else None, grad_bias if needs_bias else None


def _row(x: Array | None, missing: float, view: _View) -> Any:
    if x is None:
        return _constant(missing, cp.cuda.device.get_device_id())
    return x.reshape(view.over(view.others))


@cache
def _constant(value: float, device: int) -> Array:
    # a kernel's type parameter is taken from arrays only
    return cp.full(1, value, np.float32)
