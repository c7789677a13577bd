"""RMSprop, Adagrad and Lion steps and moving averages in place, in blocks as in numpy_steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd_gpu.backends.numpy_steps import in_blocks

Array = np.ndarray[Any, Any]


def _decayed(s: Array, p: Array, g: Array, weight_decay: float) -> Array:
    """The gradient plus `weight_decay` times the parameter, in `s` where that is needed."""
    if not weight_decay:
        return g
    np.multiply(p, weight_decay, s)
    np.add(s, g, s)
    return s


def rmsprop_step(
    param: Array,
    grad: Array,
    square: Array,
    buffer: Array | None,
    average: Array | None,
    *,
    lr: float,
    alpha: float,
    eps: float,
    weight_decay: float,
    momentum: float,
) -> None:
    """One RMSprop step in place on `param` and the states [same shape], as PyTorch does it.

    `buffer` is None where there is no momentum, `average` where the moments are not centred.
    """

    def update(s: Array, t: Array, p: Array, g: Array, v: Array, *more: Array) -> None:
        g = _decayed(s, p, g, weight_decay)
        np.multiply(v, alpha, v)
        np.multiply(g, g, t)
        np.multiply(t, 1 - alpha, t)
        np.add(v, t, v)
        if average is None:
            np.sqrt(v, t)
        else:
            m = more[-1]
            np.subtract(g, m, t)
            np.multiply(t, 1 - alpha, t)
            np.add(m, t, m)
            np.multiply(m, m, t)
            np.subtract(v, t, t)
            np.sqrt(t, t)
        np.add(t, eps, t)
        np.divide(g, t, t)
        if buffer is not None:
            b = more[0]
            np.multiply(b, momentum, b)
            np.add(b, t, b)
            np.multiply(b, lr, t)
        else:
            np.multiply(t, lr, t)
        np.subtract(p, t, p)

    states = [x for x in (square, buffer, average) if x is not None]
    in_blocks(update, (param, grad, *states))


def adagrad_step(
    param: Array,
    grad: Array,
    total: Array,
    *,
    lr: float,
    lr_decay: float,
    eps: float,
    weight_decay: float,
    step: int,
) -> None:
    """One Adagrad step in place on `param` and the sum of squares `total` [same shape].

    `step` counts from 1.
    """
    size = lr / (1 + (step - 1) * lr_decay)

    def update(s: Array, t: Array, p: Array, g: Array, v: Array) -> None:
        g = _decayed(s, p, g, weight_decay)
        np.multiply(g, g, t)
        np.add(v, t, v)
        np.sqrt(v, t)
        np.add(t, eps, t)
        np.divide(g, t, t)
        np.multiply(t, size, t)
        np.subtract(p, t, p)

    in_blocks(update, (param, grad, total))


def lion_step(
    param: Array,
    grad: Array,
    m: Array,
    *,
    lr: float,
    beta1: float,
    beta2: float,
    weight_decay: float,
) -> None:
    """One Lion step in place on `param` and the moment `m` [same shape]."""

    def update(s: Array, t: Array, p: Array, g: Array, m: Array) -> None:
        np.multiply(m, beta1, s)
        np.multiply(g, 1 - beta1, t)
        np.add(s, t, s)
        np.sign(s, s)
        np.multiply(s, lr, s)
        if weight_decay:
            np.multiply(p, 1 - lr * weight_decay, p)
        np.subtract(p, s, p)
        np.multiply(m, beta2, m)
        np.multiply(g, 1 - beta2, t)
        np.add(m, t, m)

    in_blocks(update, (param, grad, m))


def average_step(average: Array, x: Array, *, decay: float) -> None:
    """`average` moved by 1 - `decay` of its distance to `x` [same shape], in place."""

    def update(s: Array, t: Array, a: Array, x: Array) -> None:
        np.subtract(x, a, t)
        np.multiply(t, 1 - decay, t)
        np.add(a, t, a)

    in_blocks(update, (average, x))
