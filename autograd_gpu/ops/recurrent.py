"""One step of an LSTM and of a GRU, each as one op, with PyTorch's order of gates."""

from __future__ import annotations

from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.exponentials import sigmoid
from autograd_gpu.ops.nested import call
from autograd_gpu.primitive import primitive


def _lstm_parts(xp: Namespace, gates: Any) -> tuple[Any, Any, Any, Any]:
    n = gates.shape[-1] // 4
    s = call(xp, sigmoid, gates)
    return s[..., :n], s[..., n : 2 * n], xp.tanh(gates[..., 2 * n : 3 * n]), s[..., 3 * n :]


def _lstm_memory(xp: Namespace, g: Any, o: Any, t: Any) -> Any:
    """The gradient for the new memory, t = tanh of which leads to the output too."""
    return g[1] + g[0] * o * (1 - t * t)


def _lstm_gates(xp: Namespace, g: Any, gates: Any, memory: Any, y: Any, aux: Any) -> Any:
    if aux is None:
        i, f, m, o = _lstm_parts(xp, gates)
        t = xp.tanh(y[1])
    else:
        i, f, m, o, t = aux
    d = _lstm_memory(xp, g, o, t)
    parts = [
        d * m * i * (1 - i), d * memory * f * (1 - f), d * i * (1 - m * m), g[0] * t * o * (1 - o)
    ]  # fmt: skip
    return xp.concat(parts, axis=-1)


def _lstm_old(xp: Namespace, g: Any, gates: Any, y: Any, aux: Any) -> Any:
    if aux is None:
        _, f, _, o = _lstm_parts(xp, gates)
        t = xp.tanh(y[1])
    else:
        _, f, _, o, t = aux
    return _lstm_memory(xp, g, o, t) * f


@primitive(outputs=True, aux=True, gates=_lstm_gates, memory=_lstm_old)
def lstm_step(xp: Namespace, gates: Array, memory: Array) -> tuple[tuple[Array, Array], Any]:
    """Output and new memory [..., H] from the four gates before their sigmoid and tanh, [..., 4 H]
    in the order input, forget, candidate, output, and from the memory [..., H]."""
    i, f, m, o = _lstm_parts(xp, gates)
    new = f * memory + i * m
    t = xp.tanh(new)
    return (o * t, new), (i, f, m, o, t)


def _gru_parts(xp: Namespace, inner: Any, outer: Any) -> tuple[Any, Any, Any]:
    n = inner.shape[-1] // 3
    s = call(xp, sigmoid, inner[..., : 2 * n] + outer[..., : 2 * n])
    r, z = s[..., :n], s[..., n:]
    return r, z, xp.tanh(inner[..., 2 * n :] + r * outer[..., 2 * n :])


def _gru_gradients(
    xp: Namespace, g: Any, inner: Any, outer: Any, state: Any, aux: Any
) -> tuple[Any, Any, Any, Any]:
    r, z, m = _gru_parts(xp, inner, outer) if aux is None else aux
    n = inner.shape[-1] // 3
    dm = g * (1 - z) * (1 - m * m)
    dz = g * (state - m) * z * (1 - z)
    return dm * outer[..., 2 * n :] * r * (1 - r), dz, dm, r


def _gru_inner(xp: Namespace, g: Any, inner: Any, outer: Any, state: Any, aux: Any) -> Any:
    dr, dz, dm, _ = _gru_gradients(xp, g, inner, outer, state, aux)
    return xp.concat([dr, dz, dm], axis=-1)


def _gru_outer(xp: Namespace, g: Any, inner: Any, outer: Any, state: Any, aux: Any) -> Any:
    dr, dz, dm, r = _gru_gradients(xp, g, inner, outer, state, aux)
    return xp.concat([dr, dz, dm * r], axis=-1)


def _gru_state(xp: Namespace, g: Any, inner: Any, outer: Any, aux: Any) -> Any:
    z = _gru_parts(xp, inner, outer)[1] if aux is None else aux[1]
    return g * z


@primitive(aux=True, inner=_gru_inner, outer=_gru_outer, state=_gru_state)
def gru_step(xp: Namespace, inner: Array, outer: Array, state: Array) -> tuple[Array, Any]:
    """The new state [..., H] from what input and state give the gates, [..., 3 H] in the order
    reset, update, candidate, and from the state [..., H]."""
    r, z, m = _gru_parts(xp, inner, outer)
    return m + z * (state - m), (r, z, m)
