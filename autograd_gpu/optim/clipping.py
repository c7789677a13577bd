"""Bounds on gradients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from autograd_gpu.backend import backend_of
from autograd_gpu.variable import Variable


def clip_grad_norm_(params: Iterable[Variable] | Variable, max_norm: float) -> Any:
    """Scale all gradients such that their norm, taken together, is at most `max_norm`.

    Returns the norm before, a 0-d array; nothing waits for the device.

    >>> x = Variable([3.0, 4.0], requires_grad=True)
    >>> x.backward(Variable([3.0, 4.0]))
    >>> clip_grad_norm_([x], 1.0)
    array(5., dtype=float32)
    """
    variables = [params] if isinstance(params, Variable) else list(params)
    grads = [x.grad for x in variables if x.grad is not None]
    if not grads:
        return 0.0
    backend = backend_of(grads[0])
    xp = backend.xp
    squares = [xp.sum(xp.real(g * xp.conj(g))) for g in grads]
    norm = backend.asarray(xp.sqrt(sum(squares)))
    scale = xp.minimum(max_norm / (norm + 1e-6), 1.0)
    for x in variables:
        if x.grad is not None:
            x.grad = x.grad * scale.astype(x.grad.dtype)
    return norm


def clip_grad_value_(params: Iterable[Variable] | Variable, clip_value: float) -> None:
    """Bring every element of every gradient into [-clip_value, clip_value]."""
    variables = [params] if isinstance(params, Variable) else list(params)
    for x in variables:
        if x.grad is not None:
            x.grad = backend_of(x.grad).xp.clip(x.grad, -clip_value, clip_value)
