"""Batch norm in training, group norm and RMS norm, each as one op."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.kernels import kernel
from autograd_gpu.ops.nested import wide
from autograd_gpu.primitive import primitive


@kernel
def channel_statistics(xp: Namespace, x: Any) -> tuple[Any, Any]:
    """Mean and variance [C] of the channels of `x` [N, C, ...], over all other axes."""
    mean, variance = _moments(xp, x, (0, *range(2, x.ndim)))
    return xp.reshape(mean, (-1,)), xp.reshape(variance, (-1,))


def _moments(xp: Namespace, x: Any, axes: tuple[int, ...]) -> tuple[Any, Any]:
    """Mean and variance over `axes`, which remain with size 1.

    What rounding left out of the mean is the mean of what it left of `x`: without it a large
    constant would have a variance.
    """
    mean = xp.mean(x, axis=axes, keepdims=True)
    centred = x - mean
    rest = xp.mean(centred, axis=axes, keepdims=True)
    centred = centred - rest
    return mean + rest, xp.mean(centred * centred, axis=axes, keepdims=True)


@kernel
def channels_normalised(
    xp: Namespace, x: Array, mean: Array, inverse: Array, weight: Array | None, bias: Array | None
) -> Array:
    """(x - mean) · inverse · weight + bias, all but `x` [C]."""
    columns = (-1, *[1] * (x.ndim - 2))
    scale = inverse if weight is None else inverse * weight
    y = x - mean.reshape(columns)
    y *= scale.reshape(columns)
    if bias is not None:
        y += bias.reshape(columns)
    return y


@kernel
def batch_norm_gradients(
    xp: Namespace,
    g: Any,
    x: Any,
    mean: Any,
    inverse: Any,
    weight: Any,
    needs: Sequence[bool],
) -> tuple[Any, Any, Any]:
    """The gradients of `batch_norm` for its operands, where they are needed."""
    columns = (-1, *[1] * (x.ndim - 2))
    axes = (0, *range(2, x.ndim))
    normal = (x - xp.reshape(mean, columns)) * xp.reshape(inverse, columns)
    total = xp.sum(g, axis=axes)
    along = xp.sum(g * normal, axis=axes)
    grad_x = None
    if needs[0]:
        n = prod(x.shape) / x.shape[1]
        scale = inverse if weight is None else inverse * weight
        rest = normal * xp.reshape(along / n, columns) + xp.reshape(total / n, columns)
        grad_x = (g - rest) * xp.reshape(scale, columns)
    return grad_x, along, total


def _batch_norm(
    xp: Namespace,
    g: Any,
    operands: Sequence[Any],
    needs: Sequence[bool],
    aux: Any,
    eps: float,
) -> tuple[Any, ...]:
    x = operands[0]
    if aux is None:
        mean, variance = channel_statistics(xp, x)
        inverse = 1 / xp.sqrt(variance + eps)
    else:
        mean, inverse = aux
    weight = operands[1] if len(operands) > 1 else None
    every = (*needs, False, False)[:3]
    return batch_norm_gradients(xp, g, x, mean, inverse, weight, every)[: len(needs)]


@primitive(aux=True, cast="widened", operands=_batch_norm)
def batch_norm(
    xp: Namespace, *operands: Array, mean: Array, variance: Array, eps: float
) -> tuple[Array, Any]:
    """The first operand [N, C, ...] normalised by its own `mean` and `variance` [C], times the
    second, plus the third, both [C]; the last two need not be given."""
    x, weight, bias = (*operands, None, None)[:3]
    inverse = 1 / xp.sqrt(variance + eps)
    y = channels_normalised(xp, x, mean, inverse, weight, bias)
    return y, (mean, inverse)


# Group norm --------------------------------------------------------------------------------------


@kernel
def groups_normalised(
    xp: Namespace, x: Array, weight: Array | None, bias: Array | None, *, groups: int, eps: float
) -> tuple[Array, Any]:
    """The value of `group_norm`, and what its gradients get as `kept`: the groups' means and
    variances, [N, groups, 1, 1]."""
    blocks = _blocks(xp, x, groups)
    mean, variance = _moments(xp, blocks, (2, 3))
    y = (blocks - mean) * (1 / xp.sqrt(variance + eps))
    if weight is not None:
        y = y * xp.reshape(weight, (groups, -1, 1))
    if bias is not None:
        y = y + xp.reshape(bias, (groups, -1, 1))
    return xp.reshape(y, x.shape), (mean, variance)


@kernel
def group_norm_gradients(
    xp: Namespace,
    g: Any,
    x: Any,
    weight: Any,
    kept: Any,
    needs: Sequence[bool],
    *,
    groups: int,
    eps: float,
) -> tuple[Any, Any, Any]:
    """The gradients of `group_norm` for its operands, where they are needed."""
    shape = x.shape
    x, g = _blocks(xp, x, groups), _blocks(xp, g, groups)
    mean, variance = _moments(xp, x, (2, 3)) if kept is None else kept
    inverse = 1 / xp.sqrt(variance + eps)
    normal = (x - mean) * inverse
    grad_x = grad_weight = grad_bias = None
    if needs[0]:
        h = g if weight is None else g * xp.reshape(weight, (groups, -1, 1))
        along = xp.mean(h * normal, axis=(2, 3), keepdims=True)
        grad_x = (h - xp.mean(h, axis=(2, 3), keepdims=True) - normal * along) * inverse
        grad_x = xp.reshape(grad_x, shape)
    if needs[1]:
        grad_weight = xp.reshape(xp.sum(g * normal, axis=(0, 3)), (-1,))
    if needs[2]:
        grad_bias = xp.reshape(xp.sum(g, axis=(0, 3)), (-1,))
    return grad_x, grad_weight, grad_bias


def _blocks(xp: Namespace, x: Any, groups: int) -> Any:
    """`x` [N, C, ...] as [N, groups, C / groups, ...]."""
    n, channels, *rest = x.shape
    return xp.reshape(x, (n, groups, channels // groups, prod(rest)))


def _group_norm(
    xp: Namespace,
    g: Any,
    operands: Sequence[Any],
    needs: Sequence[bool],
    aux: Any,
    groups: int,
    eps: float,
) -> tuple[Any, ...]:
    x, weight = (*operands, None)[:2]
    every = (*needs, False, False)[:3]
    return group_norm_gradients(xp, g, x, weight, aux, every, groups=groups, eps=eps)[: len(needs)]


@primitive(aux=True, cast="widened", operands=_group_norm)
def group_norm(xp: Namespace, *operands: Array, groups: int, eps: float) -> tuple[Array, Any]:
    """The first operand [N, C, ...] normalised over each of so many groups of its channels, times
    the second, plus the third, both [C]; the last two need not be given."""
    x, weight, bias = (*operands, None, None)[:3]
    return groups_normalised(xp, x, weight, bias, groups=groups, eps=eps)


# RMS norm ----------------------------------------------------------------------------------------


@kernel
def rms_normalised(
    xp: Namespace, x: Array, weight: Array | None, *, count: int, eps: float
) -> tuple[Array, Array]:
    """`x` over the root of the mean of its squares over its last `count` axes, times `weight`, and
    one over the roots, with 1 for each of these axes."""
    inverse = _inverse_root(xp, x, count, eps)
    y = x * inverse
    if weight is not None:
        y = y * weight
    return (xp.astype(y, x.dtype) if x.dtype.itemsize == 2 else y), inverse


def _inverse_root(xp: Namespace, x: Any, count: int, eps: float) -> Any:
    x = wide(xp, x)
    return 1 / xp.sqrt(xp.mean(x * x, axis=tuple(range(-count, 0)), keepdims=True) + eps)


@kernel
def rms_norm_gradients(
    xp: Namespace, g: Any, x: Any, weight: Any, inverse: Any, needs: Sequence[bool], *, count: int
) -> tuple[Any, Any]:
    """The gradients of `rms_norm` for `x` and `weight`, where they are needed."""
    axes = tuple(range(-count, 0))
    normal = x * inverse
    grad_x = grad_weight = None
    if needs[0]:
        h = g if weight is None else g * weight
        along = xp.mean(h * normal, axis=axes, keepdims=True)
        grad_x = (h - normal * along) * inverse
    if needs[1]:
        grad_weight = xp.sum(g * normal, axis=tuple(range(g.ndim - count)))
    return grad_x, grad_weight


def _rms_norm(
    xp: Namespace,
    g: Any,
    operands: Sequence[Any],
    needs: Sequence[bool],
    aux: Any,
    count: int,
    eps: float,
) -> tuple[Any, ...]:
    x, weight = (*operands, None)[:2]
    if aux is None:
        aux = _inverse_root(xp, x, count, eps)
    every = (*needs, False)[:2]
    return rms_norm_gradients(xp, g, x, weight, aux, every, count=count)[: len(needs)]


@primitive(aux=True, cast="widened", operands=_rms_norm)
def rms_norm(xp: Namespace, *operands: Array, count: int, eps: float) -> tuple[Array, Array]:
    """The first operand over the root of the mean of its squares over its last `count` axes, times
    the second, which has their shape and need not be given."""
    x, weight = (*operands, None)[:2]
    return rms_normalised(xp, x, weight, count=count, eps=eps)
