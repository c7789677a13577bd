"""Recurrent layers: the run over a whole sequence as one op, with PyTorch's order of gates.

A kind of cell is a pair of functions.  `step(xp, inner, outer, states)` returns the new states and
what `back` gets as `kept`; `inner` and `outer` are what input and state give the gates.
`back(xp, grads, outer, states, kept)` returns the gradients of inner, outer and the old states, or
None for those that get one by way of `outer` only.  All run on raw arrays and on Variables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.exponentials import sigmoid
from autograd_gpu.ops.kernels import kernel
from autograd_gpu.ops.nested import call
from autograd_gpu.primitive import primitive


def _lstm_step(xp: Namespace, inner: Any, outer: Any, states: Sequence[Any]) -> tuple[Any, Any]:
    n = inner.shape[-1] // 4
    gates = inner + outer
    s = call(xp, sigmoid, gates)
    i, f, o = s[..., :n], s[..., n : 2 * n], s[..., 3 * n :]
    m = xp.tanh(gates[..., 2 * n : 3 * n])
    memory = f * states[1] + i * m
    t = xp.tanh(memory)
    return (o * t, memory), (i, f, m, o, t)


def _lstm_back(
    xp: Namespace, grads: Sequence[Any], outer: Any, states: Sequence[Any], kept: Any
) -> tuple[Any, Any, tuple[Any, ...]]:
    i, f, m, o, t = kept
    dh, dc = grads
    d = dc + dh * o * (1 - t * t)
    parts = [d * m * i * (1 - i), d * states[1] * f * (1 - f), d * i * (1 - m * m),
             dh * t * o * (1 - o)]  # fmt: skip
    gates = xp.concat(parts, axis=-1)
    return gates, gates, (None, d * f)


def _gru_step(xp: Namespace, inner: Any, outer: Any, states: Sequence[Any]) -> tuple[Any, Any]:
    n = inner.shape[-1] // 3
    s = call(xp, sigmoid, inner[..., : 2 * n] + outer[..., : 2 * n])
    r, z = s[..., :n], s[..., n:]
    m = xp.tanh(inner[..., 2 * n :] + r * outer[..., 2 * n :])
    return (m + z * (states[0] - m),), (r, z, m)


def _gru_back(
    xp: Namespace, grads: Sequence[Any], outer: Any, states: Sequence[Any], kept: Any
) -> tuple[Any, Any, tuple[Any, ...]]:
    r, z, m = kept
    (dh,) = grads
    dm = dh * (1 - z) * (1 - m * m)
    dz = dh * (states[0] - m) * z * (1 - z)
    dr = dm * outer[..., 2 * m.shape[-1] :] * r * (1 - r)
    return (
        xp.concat([dr, dz, dm], axis=-1),
        xp.concat([dr, dz, dm * r], axis=-1),
        (dh * z,),
    )


def _tanh_step(xp: Namespace, inner: Any, outer: Any, states: Sequence[Any]) -> tuple[Any, Any]:
    h = xp.tanh(inner + outer)
    return (h,), h


def _tanh_back(
    xp: Namespace, grads: Sequence[Any], outer: Any, states: Sequence[Any], kept: Any
) -> tuple[Any, Any, tuple[Any, ...]]:
    d = grads[0] * (1 - kept * kept)
    return d, d, (None,)


def _relu_step(xp: Namespace, inner: Any, outer: Any, states: Sequence[Any]) -> tuple[Any, Any]:
    h = xp.maximum(inner + outer, 0)
    return (h,), h > 0


def _relu_back(
    xp: Namespace, grads: Sequence[Any], outer: Any, states: Sequence[Any], kept: Any
) -> tuple[Any, Any, tuple[Any, ...]]:
    d = grads[0] * kept
    return d, d, (None,)


_CELLS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "lstm": (_lstm_step, _lstm_back),
    "gru": (_gru_step, _gru_back),
    "tanh": (_tanh_step, _tanh_back),
    "relu": (_relu_step, _relu_back),
}


def _run(
    xp: Namespace, operands: Sequence[Any], cell: str, reverse: bool, has_bias: bool
) -> tuple[list[Any], Sequence[Any], list[Any]]:
    """The outputs by step, the last states, and for each step, in the order of the run, the old
    states, outer, and what the cell kept."""
    inner, weight, *states = operands
    bias = states.pop(0) if has_bias else None
    transposed = weight.T
    step = _CELLS[cell][0]
    steps = inner.shape[0]
    outputs: list[Any] = [None] * steps
    trail = []
    for t in range(steps - 1, -1, -1) if reverse else range(steps):
        outer = xp.matmul(states[0], transposed)
        if bias is not None:
            outer = outer + bias
        new, kept = step(xp, inner[t], outer, states)
        trail.append((states, outer, kept))
        states = new
        outputs[t] = new[0]
    return outputs, states, trail


@kernel
def sequence(
    xp: Namespace, operands: Sequence[Any], cell: str, reverse: bool, has_bias: bool
) -> tuple[tuple[Any, ...], Any]:
    """The value of `recurrence`, and what `sequence_gradients` gets as `aux`."""
    outputs, states, trail = _run(xp, operands, cell, reverse, has_bias)
    return (xp.stack(outputs), *states), trail


@kernel
def sequence_gradients(
    xp: Namespace,
    g: Sequence[Any],
    operands: Sequence[Any],
    needs: Sequence[bool],
    aux: Any,
    cell: str,
    reverse: bool,
    has_bias: bool,
) -> list[Any]:
    """The gradients of `recurrence` for its operands, where they are needed."""
    trail = _run(xp, operands, cell, reverse, has_bias)[2] if aux is None else aux
    weight = operands[1]
    back = _CELLS[cell][1]
    steps = len(trail)
    d_inner: list[Any] = [None] * steps
    d_outer: list[Any] = []
    ys, *grads = g
    for k in range(steps - 1, -1, -1):
        states, outer, kept = trail[k]
        t = steps - 1 - k if reverse else k
        grads[0] = grads[0] + ys[t]
        d_inner[t], d, direct = back(xp, grads, outer, states, kept)
        d_outer.append(d)
        through = xp.matmul(d, weight)
        grads = [through if direct[0] is None else through + direct[0], *direct[1:]]
    results: list[Any] = [xp.stack(d_inner) if needs[0] else None, None]
    if needs[1] or (has_bias and needs[2]):
        every = xp.concat(d_outer[::-1], axis=0)
        if needs[1]:
            # one product over all steps
            before = xp.concat([states[0] for states, _, _ in trail], axis=0)
            results[1] = xp.matmul(every.T, before)
        if has_bias:
            results.append(xp.sum(every, axis=0) if needs[2] else None)
    elif has_bias:
        results.append(None)
    return [*results, *grads]


@primitive(outputs=True, aux=True, cast="narrowed", operands=sequence_gradients)
def recurrence(
    xp: Namespace, *operands: Array, cell: str, reverse: bool = False, has_bias: bool = False
) -> tuple[tuple[Array, ...], Any]:
    """The outputs [T, N, H] of a recurrent layer and its last states [N, H].

    The operands are what the input gives the gates [T, N, gates · H], the weight [gates · H, H] of
    the state, with `has_bias` its bias [gates · H], and the first states [N, H].  `cell` is 'lstm'
    (with a second state, the memory), 'gru', 'tanh' or 'relu'.
    """
    return sequence(xp, operands, cell, reverse, has_bias)
