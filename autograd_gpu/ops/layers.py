"""Linear layers, embeddings and layer norm, each one fused op."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.debug import active
from autograd_gpu.ops.kernels import kernel
from autograd_gpu.primitive import primitive


def _linear_weight(xp: Namespace, g: Any, x: Any) -> Any:
    if g.ndim != 2:
        rows = prod(g.shape[:-1])
        g = xp.reshape(g, (rows, g.shape[-1]))
        x = xp.reshape(x, (rows, x.shape[-1]))
    return xp.matmul(g.T, xp.conj(x))


def _linear_bias(xp: Namespace, g: Any) -> Any:
    if g.ndim == 1:
        return g
    return xp.sum(g, axis=0 if g.ndim == 2 else tuple(range(g.ndim - 1)))


@primitive(
    cast="narrowed",
    x=lambda xp, g, weight: xp.matmul(g, xp.conj(weight)),
    weight=_linear_weight,
    bias=_linear_bias,
    tangent={"x": "linear", "weight": "linear", "bias": lambda t: t},
)
def linear(xp: Namespace, x: Array, weight: Array, bias: Array | None = None) -> Array:
    """`x` [..., inputs] times `weight` [outputs, inputs] transposed, plus `bias` [outputs]."""
    y = xp.matmul(x, weight.T)
    if bias is None:
        return y
    if y.dtype != bias.dtype or not y.ndim:
        return y + bias
    y += bias
    return y


@kernel
def check_indices(xp: Namespace, indices: Array, size: int) -> None:
    """Raise IndexError where an index is not in [0, size).

    Where that means to wait for the device it is left to `debug_indices`, as this form does.
    """
    for report in active:
        report.add("indices", indices, 0, size)


@kernel
def check_range(xp: Namespace, x: Array, low: float, high: float) -> None:
    """Raise ValueError where an element is not in [low, high]; not where that means to wait."""


def _embedding_weight(
    xp: Namespace, g: Any, indices: Any, weight_shape: tuple[int, ...], padding_idx: int | None
) -> Any:
    if padding_idx is not None:
        g = xp.where((indices == padding_idx)[..., None], 0, g)
    return xp.scatter_add(g, indices, weight_shape)


def _embedding_tangent(xp: Namespace, t: Any, indices: Any, padding_idx: int | None) -> Any:
    t = xp.take(t, indices, axis=0)
    if padding_idx is None:
        return t
    return xp.where(
        (indices == padding_idx).reshape((*indices.shape, *[1] * (t.ndim - indices.ndim))), 0, t
    )


@primitive(weight=_embedding_weight, tangent=_embedding_tangent)
def embedding(
    xp: Namespace, indices: Array, weight: Array, *, padding_idx: int | None = None
) -> Array:
    """The rows of `weight` [rows, ...] at `indices`; the row `padding_idx` gets no gradient."""
    check_indices(xp, indices, weight.shape[0])
    return xp.take(weight, indices, axis=0)


def _layer_norm(
    xp: Namespace,
    g: Any,
    operands: Sequence[Any],
    needs: Sequence[bool],
    aux: Any,
    count: int,
    eps: float,
) -> tuple[Any, ...]:
    x, weight = operands[0], operands[1] if len(operands) > 1 else None
    every = (*needs, False, False)[:3]
    return layer_norm_gradients(xp, g, x, weight, aux, every, count=count, eps=eps)[: len(needs)]


@primitive(aux=True, cast="widened", operands=_layer_norm)
def layer_norm(xp: Namespace, *operands: Array, count: int, eps: float) -> tuple[Array, Any]:
    """The first operand normalised over its last `count` axes, times the second, plus the third.

    The last two have the shape of these axes, and need not be given.
    """
    x, weight, bias = (*operands, None, None)[:3]
    return normalised(xp, x, weight, bias, count=count, eps=eps)


@kernel
def normalised(
    xp: Namespace, x: Array, weight: Array | None, bias: Array | None, *, count: int, eps: float
) -> tuple[Array, Any]:
    """The value of `layer_norm`, and what its gradients get as `kept`."""
    centred, inverse = _centred(xp, x, count, eps)
    y = centred * inverse
    if weight is not None:
        y = y * weight
    return (y if bias is None else y + bias), None


@kernel
def layer_norm_gradients(
    xp: Namespace,
    g: Any,
    x: Any,
    weight: Any,
    kept: Any,
    needs: Sequence[bool],
    *,
    count: int,
    eps: float,
) -> tuple[Any, Any, Any]:
    """The gradients of `layer_norm` for its operands, where they are needed."""
    axes = tuple(range(-count, 0))
    lead = tuple(range(g.ndim - count))
    centred, inverse = _centred(xp, x, count, eps)
    normal = centred * inverse
    grad_x = grad_weight = grad_bias = None
    if needs[0]:
        h = g if weight is None else g * weight
        along = xp.mean(h * normal, axis=axes, keepdims=True)
        grad_x = (h - xp.mean(h, axis=axes, keepdims=True) - normal * along) * inverse
    if needs[1]:
        grad_weight = xp.sum(g * normal, axis=lead)
    if needs[2]:
        grad_bias = xp.sum(g, axis=lead)
    return grad_x, grad_weight, grad_bias


def _centred(xp: Namespace, x: Any, count: int, eps: float) -> tuple[Any, Any]:
    """`x` less its mean, and one over its standard deviation."""
    axes = tuple(range(-count, 0))
    centred = x - xp.mean(x, axis=axes, keepdims=True)
    centred = centred - xp.mean(centred, axis=axes, keepdims=True)  # what rounding left
    variance = xp.mean(centred * centred, axis=axes, keepdims=True)
    return centred, 1 / xp.sqrt(variance + eps)
