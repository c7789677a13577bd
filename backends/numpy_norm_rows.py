"""Layer norm and RMS norm for NumPy: by the compiled core, which reads every row once from memory,
or else in the passes of NumPy over blocks of rows."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from autograd_gpu.backends import numpy_layer_norm, numpy_rms_norm
from autograd_gpu.backends.numpy_functions import dense
from autograd_gpu.backends.numpy_layer_norm import total
from autograd_gpu.backends.numpy_rows import block_rows, for_rows
from autograd_gpu.extension import extension

Array = np.ndarray[Any, Any]


def layer_norm(
    x: Array, weight: Array | None, bias: Array | None, *, count: int, eps: float
) -> tuple[Array, Any]:
    """`x` normalised over its last `count` axes, times `weight`, plus `bias`; and what
    `layer_norm_gradients` gets as `kept`: the rows' means and inverse deviations."""
    if not is_compiled(x):
        return numpy_layer_norm.layer_norm(x, weight, bias, count=count, eps=eps)
    kept = np.empty((2, prod(x.shape[: x.ndim - count])), x.dtype)
    if weight is None and bias is not None:
        weight = np.ones_like(bias)
    return _value(x, weight, bias, kept[0], kept[1], count, eps), kept


def layer_norm_gradients(
    g: Array,
    x: Array,
    weight: Array | None,
    kept: Array,
    needs: Sequence[bool],
    *,
    count: int,
    eps: float,
) -> tuple[Array | None, Array | None, Array | None]:
    """The gradients for `x`, `weight` and the bias of `layer_norm`, where they are needed.

    `kept` is what `layer_norm` returned beside its value; `eps` is in it.
    """
    if not is_compiled(x, g):
        return numpy_layer_norm.layer_norm_gradients(
            g, x, weight, kept, needs, count=count, eps=eps
        )
    return _gradients(g, x, weight, kept[0], kept[1], needs, count)


def rms_normalised(x: Array, weight: Array | None, *, count: int, eps: float) -> Any:
    """`x` over the root of the mean of its squares over its last `count` axes, times `weight`, and
    one over the roots, with 1 for each of these axes; NotImplemented for a few numbers."""
    if not is_compiled(x):
        return numpy_rms_norm.rms_normalised(x, weight, count=count, eps=eps)
    inverses = np.empty((*x.shape[: x.ndim - count], *[1] * count), x.dtype)
    return _value(x, weight, None, None, inverses, count, eps), inverses


def rms_norm_gradients(
    g: Array, x: Array, weight: Array | None, inverse: Array, needs: Sequence[bool], *, count: int
) -> Any:
    """The gradients of `rms_normalised` for `x` and `weight`, where they are needed."""
    if not is_compiled(x, g):
        return numpy_rms_norm.rms_norm_gradients(g, x, weight, inverse, needs, count=count)
    inverse = dense(inverse)
    return _gradients(g, x, weight, None, inverse, (*needs, False), count)[:2]


def is_compiled(x: Array, g: Array | None = None) -> bool:
    """Whether the compiled core does it: there is one, and these are arrays of one type that it
    knows, with elements."""
    return (
        extension is not None
        and x.dtype.char in "fd"
        and x.dtype.isnative
        and x.size > 0
        and x.__class__ is np.ndarray
        and (g is None or (g.dtype == x.dtype and g.__class__ is np.ndarray))
    )


def _value(
    x: Array,
    weight: Array | None,
    bias: Array | None,
    means: Array | None,
    inverses: Array,
    count: int,
    eps: float,
) -> Array:
    x = dense(x)
    width = prod(x.shape[x.ndim - count :])
    weight, bias = _like(x, weight), _like(x, bias)
    y = np.empty_like(x)

    def block(i: int, s: slice) -> None:
        extension.norm_rows(x, weight, bias, y, means, inverses, s.start, s.stop, width, eps)

    for_rows(inverses.size, block_rows(inverses.size, width), block)
    return y


def _gradients(
    g: Array,
    x: Array,
    weight: Array | None,
    means: Array | None,
    inverses: Array,
    needs: Sequence[bool],
    count: int,
) -> tuple[Array | None, Array | None, Array | None]:
    x, g = dense(x), dense(g)
    normal = x.shape[x.ndim - count :]
    n, width = inverses.size, prod(normal)
    rows = block_rows(n, width)
    weight = _like(x, weight)
    grad_x = np.empty_like(x) if needs[0] else None
    # every block's sums, which are added up in their order
    sums = [np.zeros((-(-n // rows), width), x.dtype) if needed else None for needed in needs[1:]]

    def block(i: int, s: slice) -> None:
        of_block = [None if part is None else part[i] for part in sums]
        extension.norm_rows_back(
            g, x, weight, means, inverses, grad_x, *of_block, s.start, s.stop, width
        )

    for_rows(n, rows, block)
    grad_weight, grad_bias = [total(part, normal) for part in sums]
    return grad_x, grad_weight, grad_bias


def _like(x: Array, row: Array | None) -> Array | None:
    """A row in the dtype of `x`, as C reads it."""
    return None if row is None else dense(row, x.dtype)
