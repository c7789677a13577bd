"""Bounds on gradients."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from autograd_gpu.backend import SEVERAL_DEVICES, Array, backend_of
from autograd_gpu.placement import backend_beside, near
from autograd_gpu.variable import Variable


def get_total_norm(arrays: Iterable[Array], norm_type: float = 2.0) -> Any:
    """The norm of all elements of all arrays, a 0-d array; 0.0 for none.  Nothing waits.

    `norm_type` is p for the p-norm, or infinity.
    """
    if not norm_type > 0:
        raise ValueError(f"get_total_norm: norm_type={norm_type} must be positive")
    values = [x.value if isinstance(x, Variable) else x for x in arrays]
    values = [x for x in values if x.size]
    if not values:
        return 0.0
    backend = backend_of(values[0])
    xp = backend.xp
    parts = []
    for x in values:
        with near(x):
            parts.append(_power_sum(xp, x, norm_type))
    with near(values[0]):
        parts = [_beside(part, values[0]) for part in parts]
        if norm_type == math.inf:
            return backend.asarray(xp.max(xp.stack(parts)))
        return backend.asarray(sum(parts) ** (1 / norm_type))


def clip_grad_norm_(
    params: Iterable[Variable] | Variable,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
) -> Any:
    """Scale all gradients such that their norm, taken together, is at most `max_norm`.

    `norm_type` is p for the p-norm, or infinity.  Returns the norm before, a 0-d array; nothing
    waits for the device, unless `error_if_nonfinite`, which raises ValueError if the norm is NaN or
    infinite, and changes nothing then.

    >>> x = Variable([3.0, 4.0], requires_grad=True)
    >>> x.backward(Variable([3.0, 4.0]))
    >>> clip_grad_norm_([x], 1.0)
    array(5., dtype=float32)
    """
    if not norm_type > 0:
        raise ValueError(f"clip_grad_norm_: norm_type={norm_type} must be positive")
    variables = [params] if isinstance(params, Variable) else list(params)
    norm = get_total_norm([x.grad for x in variables if x.grad is not None], norm_type)
    if isinstance(norm, float):
        return norm
    if error_if_nonfinite and not math.isfinite(norm.item()):
        raise ValueError(f"clip_grad_norm_: the norm of the gradients is {norm.item()}")
    backend = backend_of(norm)
    with near(norm):
        scale = backend.xp.minimum(max_norm / (norm + 1e-6), 1.0)
    for x in variables:
        if x.grad is not None:
            with near(x.grad):
                factor = _beside(scale, x.grad).astype(x.grad.dtype)
                if backend.is_shared(x.grad):
                    x.grad = x.grad * factor
                else:
                    x.grad *= factor
    return norm


def _beside(x: Array, other: Array) -> Array:
    """A number on a device, on that of `other`: gradients may live on SEVERAL_DEVICES."""
    if SEVERAL_DEVICES:
        backend = backend_of(other)
        if backend.device_number(x) != backend.device_number(other):
            return backend.to_device(x, backend.device(other))
    return x


def _power_sum(xp: Any, g: Array, p: float) -> Array:
    if g.dtype.itemsize == 2:  # squares of half types overflow soon
        g = g.astype("float32")
    if p == 2:
        flat = g.reshape(-1)
        return xp.real(xp.matmul(xp.conj(flat), flat))
    sizes = xp.abs(g)
    return xp.max(sizes) if p == math.inf else xp.sum(sizes**p)


def clip_grad_value_(params: Iterable[Variable] | Variable, clip_value: float) -> None:
    """Bring every element of every gradient into [-clip_value, clip_value]."""
    variables = [params] if isinstance(params, Variable) else list(params)
    for x in variables:
        if x.grad is not None:
            x.grad = backend_beside(x.grad).xp.clip(x.grad, -clip_value, clip_value)
