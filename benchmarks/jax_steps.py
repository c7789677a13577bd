"""How a row becomes a step in JAX, whole or op by op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from programs import Program, Step, jax, jax_numpy

if TYPE_CHECKING:
    from rows import Row

if jax is not None:
    jax.config.update("jax_enable_x64", True)  # else it turns float64 into float32


def build_jax(row: Row, data: SimpleNamespace, *, jit: bool) -> Program:
    """Values in, values out: a training step gives its new parameters to the next one."""
    d = _with_arrays(data, jax_numpy.asarray)
    leaves = [getattr(d, name) for name in row.leaves]
    argnums = tuple(range(len(leaves)))
    forward = partial(row.jax, jax_numpy, d)
    compiled: Callable[..., Any] = jax.jit if jit else lambda function: function
    if row.mode != "step":
        # In JAX a recorded forward is the same forward: nothing is recorded until grad asks.
        run = compiled(forward)
        return Program(lambda: [run(*leaves).block_until_ready()])
    if row.optimiser is not None:
        return Program(_training(row, leaves, jax.grad(forward, argnums), compiled))

    def gradients(*leaves: Any) -> Sequence[Any]:
        if not hasattr(d, "g"):
            return jax.grad(forward, argnums)(*leaves)
        return jax.vjp(forward, *leaves)[1](d.g)

    pull = compiled(gradients)
    return Program(lambda: jax.block_until_ready(pull(*leaves)))


def _training(
    row: Row, leaves: list[Any], grad: Callable[..., Any], compiled: Callable[..., Any]
) -> Step:
    """A training step with SGD or Adam, which JAX itself does not bring."""
    name, lr = row.optimiser
    beta1, beta2, eps = 0.9, 0.999, 1e-8

    def sgd(parameters: Any, state: Any) -> tuple[Any, Any, Any]:
        gradients = grad(*parameters)
        new = [p - lr * g for p, g in zip(parameters, gradients, strict=True)]
        return new, state, gradients

    def adam(parameters: Any, state: Any) -> tuple[Any, Any, Any]:
        moments, t = state
        t = t + 1
        gradients = grad(*parameters)
        new, kept = [], []
        for p, g, (m, v) in zip(parameters, gradients, moments, strict=True):
            m = beta1 * m + (1 - beta1) * g
            v = beta2 * v + (1 - beta2) * g * g
            scale = jax_numpy.asarray(lr / (1 - beta1**t), p.dtype)
            correct = jax_numpy.asarray(1 - beta2**t, p.dtype)
            new.append(p - scale * m / (jax_numpy.sqrt(v / correct) + eps))
            kept.append((m, v))
        return new, (kept, t), gradients

    update = compiled(sgd if name == "sgd" else adam)
    zeros = [(jax_numpy.zeros_like(p), jax_numpy.zeros_like(p)) for p in leaves]
    now = [leaves, (zeros, jax_numpy.zeros((), np.float64))]

    def step() -> Sequence[Any]:
        parameters, state, gradients = jax.block_until_ready(update(*now))
        now[:] = parameters, state
        return [*gradients, *parameters]

    return step


def _with_arrays(data: SimpleNamespace, convert: Callable[[np.ndarray], Any]) -> SimpleNamespace:
    return SimpleNamespace(
        **{
            name: convert(value) if isinstance(value, np.ndarray) else value
            for name, value in vars(data).items()
        }
    )
