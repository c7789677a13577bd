"""Adam with the largest moment, its relatives, Adadelta and Rprop: steps in place, in blocks as in
numpy_steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd_gpu.backends import step_numbers
from autograd_gpu.backends.numpy_steps import in_blocks

Array = np.ndarray[Any, Any]


def _decayed(p: Array, g: Array, n: dict[str, float]) -> Array:
    """The gradient with the weight decay, or, decoupled, `p` shrunk in place."""
    if n["shrink"] != 1:
        np.multiply(p, n["shrink"], p)
    return g + n["decay"] * p if n["decay"] else g


def _move(m: Array, v: Array, g: Array, n: dict[str, float]) -> None:
    """Move the means `m` of gradients and `v` of their squares, in place."""
    m *= n["beta1"]
    m += n["keep1"] * g
    v *= n["beta2"]
    v += n["keep2"] * g * g


def amsgrad_step(
    param: Array, grad: Array, m: Array, v: Array, largest: Array, **options: float
) -> None:
    """One step of Adam, with its options, that counts the `largest` second moment so far."""
    n = step_numbers.ADAM.named(**options)

    def update(s: Array, t: Array, p: Array, g: Array, m: Array, v: Array, most: Array) -> None:
        _move(m, v, _decayed(p, g, n), n)
        np.maximum(most, v, out=most)
        np.sqrt(most, s)
        s += n["small"]
        np.divide(m, s, s)
        s *= n["size"]
        p -= s

    in_blocks(update, (param, grad, m, v, largest))


def adamax_step(param: Array, grad: Array, m: Array, v: Array, **options: float) -> None:
    """One Adamax step in place on `param`, `m` and `v` [same shape]; options: lr, beta1, beta2,
    eps, weight_decay, step."""
    n = step_numbers.ADAMAX.named(**options)

    def update(s: Array, t: Array, p: Array, g: Array, m: Array, v: Array) -> None:
        if n["weight_decay"]:
            g = g + n["weight_decay"] * p
        m *= n["beta1"]
        m += n["keep1"] * g
        v *= n["beta2"]
        np.maximum(v, np.abs(g) + n["eps"], out=v)
        p -= n["size"] * m / v

    in_blocks(update, (param, grad, m, v))


def nadam_step(param: Array, grad: Array, m: Array, v: Array, **options: float) -> None:
    """One NAdam step in place on `param`, `m` and `v` [same shape]; options: those of Adam, and
    momentum_decay."""
    n = step_numbers.NADAM.named(**options)

    def update(s: Array, t: Array, p: Array, g: Array, m: Array, v: Array) -> None:
        g = _decayed(p, g, n)
        _move(m, v, g, n)
        p -= (n["of_grad"] * g + n["of_mean"] * m) / (np.sqrt(v) / n["root"] + n["eps"])

    in_blocks(update, (param, grad, m, v))


def radam_step(param: Array, grad: Array, m: Array, v: Array, **options: float) -> None:
    """One RAdam step in place on `param`, `m` and `v` [same shape]; options: those of Adam."""
    n = step_numbers.RADAM.named(**options)

    def update(s: Array, t: Array, p: Array, g: Array, m: Array, v: Array) -> None:
        _move(m, v, _decayed(p, g, n), n)
        step = n["size"] * m
        p -= step / (np.sqrt(v) + n["eps"]) if n["sure"] else step

    in_blocks(update, (param, grad, m, v))


def lamb_step(param: Array, grad: Array, m: Array, v: Array, **options: float) -> None:
    """One LAMB step in place on `param`, `m` and `v` [same shape]; options: lr, beta1, beta2, eps,
    weight_decay, step."""
    n = step_numbers.LAMB.named(**options)
    direction = np.empty_like(param)

    def update(s: Array, t: Array, p: Array, g: Array, m: Array, v: Array, r: Array) -> None:
        _move(m, v, g, n)
        r[...] = m / n["left"] / (np.sqrt(v) / n["root"] + n["eps"]) + n["weight_decay"] * p

    in_blocks(update, (param, grad, m, v, direction))
    own, step = np.linalg.norm(param), np.linalg.norm(direction)
    direction *= n["lr"] * (float(own / step) if own > 0 and step > 0 else 1.0)
    param -= direction


def adadelta_step(
    param: Array,
    grad: Array,
    square: Array,
    moved: Array,
    *,
    lr: float,
    rho: float,
    eps: float,
    weight_decay: float,
) -> None:
    """One Adadelta step in place on `param`, and the means of squares of gradients, `square`, and
    of steps, `moved` [same shape]."""

    def update(s: Array, t: Array, p: Array, g: Array, square: Array, moved: Array) -> None:
        if weight_decay:
            g = g + weight_decay * p
        square *= rho
        square += (1 - rho) * g * g
        step = np.sqrt(moved + eps) / np.sqrt(square + eps) * g
        moved *= rho
        moved += (1 - rho) * step * step
        p -= lr * step

    in_blocks(update, (param, grad, square, moved))


def rprop_step(
    param: Array,
    grad: Array,
    before: Array,
    reach: Array,
    *,
    less: float,
    more: float,
    least: float,
    most: float,
) -> None:
    """One Rprop step in place on `param`, the last gradient `before` and the length `reach` of the
    steps of each element [same shape]."""

    def update(s: Array, t: Array, p: Array, g: Array, before: Array, reach: Array) -> None:
        turn = g * before
        reach *= np.where(turn > 0, more, np.where(turn < 0, less, 1.0)).astype(reach.dtype)
        np.clip(reach, least, most, out=reach)
        before[...] = np.where(turn < 0, 0, g)  # no step where the sign turned
        p -= np.sign(before) * reach

    in_blocks(update, (param, grad, before, reach))
