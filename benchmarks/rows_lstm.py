"""An LSTM layer over a batch of sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from programs import Step, ag, torch
from rows import Data, Row, normal


class LSTM(Row):
    name, family = "LSTM, T 64, N 32, 128 to 128", "networks, forward and backward"
    leaves = ("x", "w_in", "w", "b_in", "b")

    def data(self, rng: np.random.Generator, dtype: type, small: bool) -> Data:
        steps, n, inputs, width = (3, 2, 3, 4) if small else (64, 32, 128, 128)
        scale = width**-0.5
        return Data(
            x=normal(rng, dtype, steps, n, inputs),
            w_in=normal(rng, dtype, 4 * width, inputs) * dtype(scale),
            w=normal(rng, dtype, 4 * width, width) * dtype(scale),
            b_in=normal(rng, dtype, 4 * width) * dtype(scale),
            b=normal(rng, dtype, 4 * width) * dtype(scale),
            zeros=np.zeros((n, width), dtype),
            g=normal(rng, dtype, steps, n, width),
        )

    def by_hand(self, d: Data) -> Step:
        steps, n, inputs = d.x.shape
        h = d.b.size // 4
        dtype = d.x.dtype
        gates, grads = (np.empty((steps, n, 4 * h), dtype) for _ in range(2))
        memory, outputs = (np.zeros((steps + 1, n, h), dtype) for _ in range(2))
        tanhs = np.empty((steps, n, h), dtype)
        half = np.full(4 * h, 0.5, dtype)  # sigmoid(x) = tanh(x / 2) / 2 + 1 / 2
        half[2 * h : 3 * h] = 1
        rest = 1 - half

        def step() -> list[np.ndarray]:
            np.matmul(d.x.reshape(-1, inputs), d.w_in.T, out=gates.reshape(-1, 4 * h))
            across = np.ascontiguousarray(d.w.T)
            bias = d.b_in + d.b
            for t in range(steps):
                a = gates[t]
                a += outputs[t] @ across
                a += bias
                a *= half
                np.tanh(a, out=a)
                a *= half
                a += rest
                i, f, m, o = (a[:, k * h : (k + 1) * h] for k in range(4))
                np.multiply(f, memory[t], out=memory[t + 1])
                memory[t + 1] += i * m
                np.tanh(memory[t + 1], out=tanhs[t])
                np.multiply(o, tanhs[t], out=outputs[t + 1])
            dh, dc = np.zeros((2, n, h), dtype)
            for t in range(steps - 1, -1, -1):
                a, d_a, tanh = gates[t], grads[t], tanhs[t]
                i, f, m, o = (a[:, k * h : (k + 1) * h] for k in range(4))
                d_i, d_f, d_m, d_o = (d_a[:, k * h : (k + 1) * h] for k in range(4))
                dh += d.g[t]
                dc += dh * o * (1 - tanh * tanh)
                np.subtract(1, a, out=d_a)
                d_a *= a
                d_i *= m
                d_i *= dc
                d_f *= memory[t]
                d_f *= dc
                np.multiply(1 - m * m, i, out=d_m)
                d_m *= dc
                d_o *= tanh
                d_o *= dh
                dc *= f
                np.matmul(d_a, d.w, out=dh)
            flat = grads.reshape(-1, 4 * h)
            total = np.ones(len(flat), dtype) @ flat
            return [
                (flat @ d.w_in).reshape(d.x.shape),
                flat.T @ d.x.reshape(-1, inputs),
                flat.T @ outputs[:-1].reshape(-1, h),
                total,
                total,
            ]

        return step

    def ours(self, d: Data, x: Any, w_in: Any, w: Any, b_in: Any, b: Any) -> Any:
        # what nn.LSTM does with its parameters
        inner = ag.nn.functional.linear(x, w_in, b_in + b)
        y, _, _ = ag.ops.recurrence([inner, w, d.zeros, d.zeros], "lstm")
        return y

    def torch(self, d: Data, x: Any, w_in: Any, w: Any, b_in: Any, b: Any) -> Any:
        states = (d.zeros[None], d.zeros[None])
        # what nn.LSTM calls: bias, one layer, no dropout, training, one direction, time first
        options = (True, 1, 0.0, True, False, False)
        return torch._VF.lstm(x, states, [w_in, w, b_in, b], *options)[0]

    def formula(self, xp: Any, d: Data, x: Any, w_in: Any, w: Any, b_in: Any, b: Any) -> Any:
        inner = xp.matmul(x, w_in.T) + (b_in + b)
        h = c = d.zeros
        outputs = []
        for t in range(d.x.shape[0]):
            h, c = _cell(xp, inner[t], h, c, w)
            outputs.append(h)
        return xp.stack(outputs)

    def jax(self, xp: Any, d: Data, x: Any, w_in: Any, w: Any, b_in: Any, b: Any) -> Any:
        from jax import lax

        def step(states: Any, inner: Any) -> tuple[Any, Any]:
            h, c = _cell(xp, inner, *states, w)
            return (h, c), h

        return lax.scan(step, (d.zeros, d.zeros), x @ w_in.T + (b_in + b))[1]


def _cell(xp: Any, inner: Any, h: Any, c: Any, w: Any) -> tuple[Any, Any]:
    """One step in NumPy's spelling."""
    a = inner + xp.matmul(h, w.T)
    n = c.shape[-1]
    i, f, o = (1 / (1 + xp.exp(-a[:, k * n : (k + 1) * n])) for k in (0, 1, 3))
    c = f * c + i * xp.tanh(a[:, 2 * n : 3 * n])
    return o * xp.tanh(c), c


ROWS: list[Row] = [LSTM()]
