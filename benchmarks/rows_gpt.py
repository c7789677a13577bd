"""A block of a GPT: layer norm, causal attention, layer norm, MLP with GELU, two residuals."""

from __future__ import annotations

from typing import Any

import numpy as np

from programs import Step, ag, torch
from rows import Data, Row, normal
from rows_kernels import GELU_CUBE, GELU_SLOPE, gelu
from rows_mlp import uniform
from rows_norms import layer_norm


def norm_forward(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, ...]:
    """Layer norm by hand; also the normalised input and the inverse deviation."""
    k = x.shape[-1]
    z = x - (x @ np.ones(k, x.dtype))[:, None] / k  # BLAS sums faster than np.mean
    r = 1 / np.sqrt(np.vecdot(z, z)[:, None] / k + 1e-5)
    z *= r
    y = z * w
    y += b
    return y, z, r


def norm_backward(
    g: np.ndarray, w: np.ndarray, z: np.ndarray, r: np.ndarray
) -> tuple[np.ndarray, ...]:
    """The gradients of input, weight and bias."""
    n, k = g.shape
    t = g * z
    grad_w, grad_b = np.ones(n, g.dtype) @ t, np.ones(n, g.dtype) @ g
    along, mean = (t @ w)[:, None] / k, (g @ w)[:, None] / k
    gx = g * w
    gx -= mean
    gx -= z * along
    gx *= r
    return gx, grad_w, grad_b


def gelu_forward(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """GELU by hand, and the tanh in it."""
    t = x * x
    t *= GELU_SLOPE * GELU_CUBE
    t += GELU_SLOPE
    t *= x
    np.tanh(t, out=t)
    y = t + 1
    y *= x
    y *= 0.5
    return y, t


def gelu_backward(g: np.ndarray, x: np.ndarray, t: np.ndarray) -> np.ndarray:
    a = x * x
    a *= 3 * GELU_SLOPE * GELU_CUBE
    a += GELU_SLOPE
    a *= x
    b = t * t
    np.subtract(1, b, out=b)
    a *= b
    a += t
    a += 1
    a *= 0.5
    a *= g
    return a


class GPTBlock(Row):
    name, family = "GPT block, d 128, 4 heads, T 64, B 8", "networks, forward and backward"
    leaves = (
        *("x", "ln1_w", "ln1_b", "qkv_w", "qkv_b", "proj_w", "proj_b"),
        *("ln2_w", "ln2_b", "fc_w", "fc_b", "out_w", "out_b"),
    )
    seconds = 0.25

    def data(self, rng: np.random.Generator, dtype: type, small: bool) -> Data:
        b, t, dim, heads = (2, 3, 8, 2) if small else (8, 64, 128, 4)
        d = Data(heads=heads, x=normal(rng, dtype, b, t, dim), g=normal(rng, dtype, b, t, dim))
        for name in ("ln1", "ln2"):
            setattr(d, f"{name}_w", 1 + normal(rng, dtype, dim) / 10)
            setattr(d, f"{name}_b", normal(rng, dtype, dim) / 10)
        widths = {"qkv": (dim, 3), "proj": (dim, 1), "fc": (dim, 4), "out": (4 * dim, 1)}
        for name, (fan_in, factor) in widths.items():
            setattr(d, f"{name}_w", uniform(rng, dtype, fan_in, factor * dim, fan_in))
            setattr(d, f"{name}_b", uniform(rng, dtype, fan_in, factor * dim))
        d.mask = np.triu(np.full((t, t), -1e9, dtype), 1)
        return d

    def by_hand(self, d: Data) -> Step:
        b, t, dim = d.x.shape
        heads, size = d.heads, dim // d.heads
        scale = size**-0.5
        x0, g0 = d.x.reshape(-1, dim), d.g.reshape(-1, dim)  # one row per token throughout

        def step() -> list[np.ndarray]:
            h1, z1, r1 = norm_forward(x0, d.ln1_w, d.ln1_b)
            qkv = h1 @ d.qkv_w.T
            qkv += d.qkv_b
            q, k, v = qkv.reshape(b, t, 3, heads, size).transpose(2, 0, 3, 1, 4)
            p = q @ k.mT
            p *= scale
            p += d.mask
            p -= p.max(-1, keepdims=True)
            np.exp(p, out=p)
            p /= p.sum(-1, keepdims=True)
            a = (p @ v).swapaxes(1, 2).reshape(-1, dim)
            x1 = a @ d.proj_w.T
            x1 += d.proj_b
            x1 += x0
            h2, z2, r2 = norm_forward(x1, d.ln2_w, d.ln2_b)
            f = h2 @ d.fc_w.T
            f += d.fc_b
            e, tanh = gelu_forward(f)
            y = e @ d.out_w.T
            y += d.out_b
            y += x1

            gf = gelu_backward(g0 @ d.out_w, f, tanh)
            gx1, g_ln2_w, g_ln2_b = norm_backward(gf @ d.fc_w, d.ln2_w, z2, r2)
            gx1 += g0
            ga = (gx1 @ d.proj_w).reshape(b, t, heads, size).swapaxes(1, 2)
            gqkv = np.empty((b, t, 3, heads, size), qkv.dtype)
            gq, gk, gv = gqkv.transpose(2, 0, 3, 1, 4)
            np.matmul(p.mT, ga, out=gv)
            gs = ga @ v.mT
            gs -= np.vecdot(gs, p)[..., None]
            gs *= p
            gs *= scale
            np.matmul(gs, k, out=gq)
            np.matmul(gs.mT, q, out=gk)
            gqkv = gqkv.reshape(-1, 3 * dim)
            gx, g_ln1_w, g_ln1_b = norm_backward(gqkv @ d.qkv_w, d.ln1_w, z1, r1)
            gx += gx1
            return [
                gx.reshape(d.x.shape),
                *(g_ln1_w, g_ln1_b),
                *(gqkv.T @ h1, np.add.reduce(gqkv, 0)),
                *(gx1.T @ a, np.add.reduce(gx1, 0)),
                *(g_ln2_w, g_ln2_b),
                *(gf.T @ h2, np.add.reduce(gf, 0)),
                *(g0.T @ e, np.add.reduce(g0, 0)),
            ]

        return step

    def ours(self, d: Data, x: Any, *leaves: Any) -> Any:
        F = ag.nn.functional
        ln1_w, ln1_b, qkv_w, qkv_b, proj_w, proj_b, ln2_w, ln2_b, fc_w, fc_b, out_w, out_b = leaves
        b, t, dim = x.shape
        qkv = F.linear(F.layer_norm(x, (dim,), ln1_w, ln1_b), qkv_w, qkv_b)
        qkv = qkv.reshape(b, t, 3, d.heads, dim // d.heads)
        q, k, v = ag.unstack(ag.permute_dims(qkv, (2, 0, 3, 1, 4)))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        a = ag.permute_dims(a, (0, 2, 1, 3)).reshape(b, t, dim)
        x = x + F.linear(a, proj_w, proj_b)
        h = F.linear(F.layer_norm(x, (dim,), ln2_w, ln2_b), fc_w, fc_b)
        return x + F.linear(F.gelu(h, approximate="tanh"), out_w, out_b)

    def torch(self, d: Data, x: Any, *leaves: Any) -> Any:
        F = torch.nn.functional
        ln1_w, ln1_b, qkv_w, qkv_b, proj_w, proj_b, ln2_w, ln2_b, fc_w, fc_b, out_w, out_b = leaves
        b, t, dim = x.shape
        qkv = F.linear(F.layer_norm(x, (dim,), ln1_w, ln1_b), qkv_w, qkv_b)
        qkv = qkv.reshape(b, t, 3, d.heads, dim // d.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind()
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        a = a.transpose(1, 2).reshape(b, t, dim)
        x = x + F.linear(a, proj_w, proj_b)
        h = F.linear(F.layer_norm(x, (dim,), ln2_w, ln2_b), fc_w, fc_b)
        return x + F.linear(F.gelu(h, approximate="tanh"), out_w, out_b)

    def formula(self, xp: Any, d: Data, x: Any, *leaves: Any) -> Any:
        ln1_w, ln1_b, qkv_w, qkv_b, proj_w, proj_b, ln2_w, ln2_b, fc_w, fc_b, out_w, out_b = leaves
        b, t, dim = x.shape
        size = dim // d.heads
        qkv = xp.matmul(layer_norm(xp, x, ln1_w, ln1_b), qkv_w.T) + qkv_b
        qkv = xp.transpose(xp.reshape(qkv, (b, t, 3, d.heads, size)), (2, 0, 3, 1, 4))
        q, k, v = qkv[0], qkv[1], qkv[2]
        s = xp.matmul(q, xp.swapaxes(k, 2, 3)) * size**-0.5 + d.mask
        s = xp.exp(s - xp.max(s, axis=-1, keepdims=True))
        a = xp.matmul(s / xp.sum(s, axis=-1, keepdims=True), v)
        a = xp.reshape(xp.swapaxes(a, 1, 2), (b, t, dim))
        x = x + xp.matmul(a, proj_w.T) + proj_b
        h = gelu(xp, xp.matmul(layer_norm(xp, x, ln2_w, ln2_b), fc_w.T) + fc_b)
        return x + xp.matmul(h, out_w.T) + out_b


ROWS: list[Row] = [GPTBlock()]
