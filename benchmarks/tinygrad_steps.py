"""How a row becomes a step in tinygrad, captured whole by its TinyJit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from programs import Program, Step, tinygrad

if TYPE_CHECKING:
    from rows import Row

Outcome = tuple[list[Any], list[Any]]
"""What a step is measured for, and what else it computes."""

CAPTURED = 3
"""From which call on TinyJit replays: the first runs op by op, the second is captured."""


def build_tinygrad(row: Row, data: SimpleNamespace) -> Program:
    """Realised tensors in, realised tensors out; the data are captured with the step."""
    d = SimpleNamespace(
        **{
            name: tinygrad.Tensor(value).realize() if isinstance(value, np.ndarray) else value
            for name, value in vars(data).items()
        }
    )
    leaves = [getattr(d, name) for name in row.leaves]
    forward = partial(row.tinygrad, d, *leaves)
    if row.mode != "step":
        return Program(_captured(lambda: ([forward()], [])))

    def gradients() -> Outcome:
        y = forward()
        upstream = d.g if hasattr(d, "g") else None
        # y too: what no gradient needs would not be computed
        return list(y.gradient(*leaves, gradient=upstream)), [y]

    if row.optimiser is None:
        return Program(_captured(gradients))
    step, state = _training(row, leaves, gradients)
    before = [v.numpy() for v in state]
    replay = _captured(step)
    for v, value in zip(state, before, strict=True):  # capturing it has taken steps
        v.assign(tinygrad.Tensor(value)).realize()
    return Program(replay)


def _captured(step: Callable[[], Outcome]) -> Step:
    """The step as a replay of what TinyJit has captured, and waited for."""
    from tinygrad.engine.jit import JitError

    device = tinygrad.Device[tinygrad.Device.DEFAULT]

    @tinygrad.TinyJit
    def realised() -> list[Any]:
        results, others = step()
        tinygrad.Tensor.realize(*results, *others)
        return results

    def run() -> Sequence[Any]:
        results: Sequence[Any] = realised()
        device.synchronize()
        return results

    try:
        for _ in range(CAPTURED):
            run()
    except JitError:  # its results are views of its arrays: there is nothing to compute
        return lambda: step()[0]
    return run


def _training(
    row: Row, leaves: list[Any], gradients: Callable[[], Outcome]
) -> tuple[Callable[[], Outcome], list[Any]]:
    """A training step with SGD or Adam, and the tensors that it changes.

    As tinygrad's own optimisers have it, but for their state, which is in float32 in every dtype.
    """
    name, lr = row.optimiser
    beta1, beta2, eps = 0.9, 0.999, 1e-8

    def sgd() -> Outcome:
        found, others = gradients()
        for p, g in zip(leaves, found, strict=True):
            p.assign(p.detach() - lr * g)
        return [*found, *leaves], others

    if name == "sgd":
        return sgd, leaves
    m, v = ([p.zeros_like().contiguous().realize() for p in leaves] for _ in range(2))
    powers = [tinygrad.Tensor.ones(1, dtype=leaves[0].dtype).contiguous().realize() for _ in "mv"]
    state = [*m, *v, *powers]

    def adam() -> Outcome:
        found, others = gradients()
        for power, beta in zip(powers, (beta1, beta2), strict=True):
            power.assign(power * beta)
        for i, (p, g) in enumerate(zip(leaves, found, strict=True)):
            m[i].assign(beta1 * m[i] + (1 - beta1) * g)
            v[i].assign(beta2 * v[i] + (1 - beta2) * g * g)
            scale = (v[i] / (1 - powers[1])).sqrt() + eps
            p.assign(p.detach() - lr * (m[i] / (1 - powers[0])) / scale)
        return [*found, *leaves], [*others, *state]

    return adam, [*leaves, *state]
