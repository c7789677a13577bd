"""LSTM over a whole sequence for NumPy: some ten calls a step, all into memory that is there.

What a step's gradient takes of the forward is independent of the gradients that arrive, so it is
computed for some steps at once.  The gates lie one after the other, [4, T, N, H], since NumPy is
twice as fast on whole arrays as on parts of their rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autograd_gpu.backends.scratch import scratch

Array = np.ndarray[Any, Any]

BLOCK = 1 << 16
"""Elements of the gates of those steps."""


def sequence(
    operands: Sequence[Array], cell: str, reverse: bool, has_bias: bool
) -> tuple[tuple[Array, ...], Any]:
    """Outputs [T, N, H] and last states [N, H] of an LSTM, and what `sequence_gradients` gets as
    `kept`, in the order of the run: the gates, the memory before and after, and its tanh.

    The operands are what the input gives the gates [T, N, 4 · H], the weight [4 · H, H], and the
    states [N, H].  For other cells and for half types NotImplemented.
    """
    if not _knows(operands, cell, has_bias):
        return NotImplemented
    inner, weight, h, c = operands
    steps, n, _ = inner.shape
    width = h.shape[1]
    dtype = inner.dtype
    # BLAS takes a quarter less for it where there are few rows
    transposed = np.ascontiguousarray(weight.T) if steps > 4 else weight.T
    y = np.empty((steps, n, width), dtype)
    gates = np.empty((4, steps, n, width), dtype)
    memory = np.empty((steps + 1, n, width), dtype)
    tanhs = np.empty((steps, n, width), dtype)
    memory[0] = c
    order = _order(reverse)
    # sigmoid(x) = tanh(x / 2) / 2 + 1 / 2: one tanh for all four
    half = np.full((n, 4, width), 0.5, dtype)
    half[:, 2] = 1
    rest = 1 - half
    rows = scratch("rows", (n, 4 * width), dtype)
    a, product = rows.reshape(half.shape), scratch("product", (n, width), dtype)
    beside = gates.transpose(1, 2, 0, 3)  # [T, N, 4, H]
    for given, out, i, f, m, o, before, after, tanh, result in zip(
        inner[order], beside, *gates, memory[:-1], memory[1:], tanhs, y[order], strict=True
    ):
        np.matmul(h, transposed, rows)
        np.add(rows, given, rows)
        np.multiply(a, half, a)
        np.tanh(a, a)
        np.multiply(a, half, a)
        np.add(a, rest, out)
        np.multiply(f, before, after)
        np.multiply(i, m, product)
        np.add(after, product, after)
        np.tanh(after, tanh)
        np.multiply(o, tanh, result)
        h = result
    return (y, h.copy(), memory[-1].copy()), (y, gates, memory, tanhs)


def sequence_gradients(
    g: Sequence[Array],
    operands: Sequence[Array],
    needs: Sequence[bool],
    kept: tuple[Array, Array, Array, Array],
    cell: str,
    reverse: bool,
    has_bias: bool,
) -> Any:
    """The gradients of `sequence` for its operands, from those of outputs and last states."""
    if not _knows(operands, cell, has_bias):
        return NotImplemented
    weight, first = operands[1], operands[2]
    y, gates, memory, tanhs = kept
    steps, n, width = y.shape
    d_inner = np.empty((steps, n, 4 * width), y.dtype)
    order = _order(reverse)
    d_y, rows = g[0][order], d_inner[order]
    beside = rows.reshape(steps, n, 4, width).swapaxes(1, 2)  # [T, 4, N, H]
    dh, dc = g[1].copy(), g[2].copy()
    product = scratch("product", dh.shape, y.dtype)
    size = max(1, BLOCK // max(1, 4 * n * width))
    for end in range(steps, 0, -size):
        start = max(0, end - size)
        s = slice(start, end)
        to_gates, to_memory = _factors(gates[:, s], memory[s], tanhs[s])
        for t in range(end - 1, start - 1, -1):
            k = t - start
            d = beside[t]
            np.add(dh, d_y[t], dh)
            np.multiply(dh, to_memory[k], product)
            np.add(dc, product, dc)
            np.multiply(to_gates[:3, k], dc, d[:3])
            np.multiply(to_gates[3, k], dh, d[3])
            np.multiply(dc, gates[1, t], dc)
            np.matmul(rows[t], weight, dh)
    d_weight = None
    if needs[1]:
        # each step's gates with the output before it: one product over all but the first
        now, before, at = slice(1, None), slice(None, -1), 0
        if reverse:
            now, before, at = before, now, -1
        d_weight = d_inner[at].T @ first
        if steps > 1:
            d_weight += d_inner[now].reshape(-1, 4 * width).T @ y[before].reshape(-1, width)
    return [d_inner, d_weight, dh, dc]


def _factors(gates: Array, memory: Array, tanhs: Array) -> tuple[Array, Array]:
    """What gradients are multiplied by for some steps: that of the memory for the first three gates
    and that of the output for the last [4, steps, N, H], and that of the output for the memory."""
    i, _, m, o = gates
    to_gates = scratch("gates", gates.shape, gates.dtype)
    to_memory = scratch("memory", tanhs.shape, gates.dtype)
    np.subtract(1, gates, to_gates)
    np.multiply(to_gates, gates, to_gates)
    for factor, out in ((m, to_gates[0]), (memory, to_gates[1]), (tanhs, to_gates[3])):
        np.multiply(out, factor, out)
    for x, factor, out in ((m, i, to_gates[2]), (tanhs, o, to_memory)):
        np.multiply(x, x, out)
        np.subtract(1, out, out)  # the derivative of tanh
        np.multiply(out, factor, out)
    return to_gates, to_memory


def _order(reverse: bool) -> slice:
    """The steps in the order of the run."""
    return slice(None, None, -1 if reverse else 1)


def _knows(operands: Sequence[Array], cell: str, has_bias: bool) -> bool:
    dtype = operands[0].dtype
    return (
        cell == "lstm"
        and not has_bias
        and dtype.kind == "f"
        and dtype.itemsize > 2
        and all(x.dtype == dtype for x in operands)
    )
