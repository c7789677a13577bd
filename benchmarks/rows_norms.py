"""Layer norm and group norm on large arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from programs import Step, ag, torch
from rows import Data, Row, normal
from rows_kernels import aligned, blocks


def layer_norm(xp: Any, x: Any, w: Any, b: Any) -> Any:
    """Over the last axis, in NumPy's spelling."""
    x = x - xp.mean(x, axis=-1, keepdims=True)
    return x / xp.sqrt(xp.mean(x * x, axis=-1, keepdims=True) + 1e-5) * w + b


class RowSums:
    """Of blocks [size, k]: the sum of their rows and of `rows` [k], with a factor for each."""

    def __init__(self, parts: int, blocks: int, rows: list[np.ndarray], size: int) -> None:
        self.parts, last, (k,) = parts, parts * blocks, rows[0].shape
        count = last + len(rows)
        shape = (count, size // parts, k)
        self.summands = aligned(count * shape[1] * k, rows[0].dtype).reshape(shape)
        self.summands[last:] = np.stack(rows)[:, None]
        wide = np.zeros((shape[1], parts, count + 1), rows[0].dtype)
        self.factors = wide.reshape(len(wide), -1)[:, : parts * count].reshape(-1, parts, count)
        # the diagonals, as the rows of `wide` are longer by one
        self.of_blocks = wide[:, :, :last:parts].transpose(2, 1, 0)
        self.of_rows = self.factors[:, :, last:].transpose(2, 1, 0)

    def block(self, i: int) -> np.ndarray:
        """Where it is to be written."""
        return self.summands[i * self.parts : (i + 1) * self.parts].reshape(
            -1, self.summands.shape[2]
        )

    def write(self, of_blocks: list[Any], of_rows: list[Any], out: np.ndarray) -> None:
        for places, columns in ((self.of_blocks, of_blocks), (self.of_rows, of_rows)):
            for place, column in zip(places, columns, strict=True):
                place[...] = column if isinstance(column, int) else column.reshape(self.parts, -1)
        parts = out.reshape(self.parts, -1, out.shape[1]).transpose(1, 0, 2)
        np.matmul(self.factors, self.summands.transpose(1, 0, 2), parts)


class LayerNorm(Row):
    name, family = "layer norm, 8192x512", "large arrays"
    leaves = ("x", "w", "b")

    def data(self, rng: np.random.Generator, dtype: type, small: bool) -> Data:
        n, k = (8, 5) if small else (8192, 512)
        return Data(
            x=normal(rng, dtype, n, k),
            w=normal(rng, dtype, k),
            b=normal(rng, dtype, k),
            g=normal(rng, dtype, n, k),
        )

    def by_hand(self, d: Data) -> Step:
        n, k = d.x.shape
        size, dtype = min(512, n), d.x.dtype
        y, grad = np.empty_like(d.x), np.empty_like(d.x)
        mean, inverse = np.empty((2, n), dtype)
        wide = aligned(size * k, dtype).reshape(size, k)
        wide[...] = d.w  # a product of two arrays beats one with a row
        product, scratch = aligned(size * k, dtype).reshape(size, k), np.empty((2, size), dtype)
        average, averaged = np.full_like(d.w, 1 / k), d.w / k
        upper = np.ones((2, size), dtype)
        share, eps, one = (np.array(v, dtype) for v in (1 / k, 1e-5, 1))
        # What scales and shifts whole rows is a product of matrices: BLAS takes one pass for it
        # where NumPy takes five. Each gives as many rows as there are parts of a block, one of each
        # part, and has zeros for the summands of the others. Rows of some summands never change.
        forth, back = RowSums(4, 1, [d.w, d.b], size), RowSums(2, 2, [np.ones_like(d.w)], size)

        def step() -> list[np.ndarray]:
            for s in blocks(n, size):
                x, m, r, t = d.x[s], mean[s], inverse[s], scratch[0]
                np.vecdot(x, x, r)  # the best at fetching x from memory
                np.matmul(x, average, m)  # sums as products: BLAS adds four times as fast
                np.multiply(r, share, r)
                np.multiply(m, m, t)
                np.subtract(r, t, r)
                np.add(r, eps, r)
                np.sqrt(r, r)
                np.divide(one, r, r)
                np.multiply(m, r, t)
                np.multiply(x, wide, forth.block(0))
                forth.write([r], [-t, 1], y[s])
            grad_w, grad_b = np.zeros_like(d.w), np.zeros_like(d.w)
            for s in blocks(n, size):
                x, g, m, r, (along, shift) = d.x[s], d.g[s], mean[s], inverse[s], scratch
                np.multiply(m, r, upper[1])
                np.multiply(g, x, product)
                sums = upper @ g
                grad_b += sums[0]
                grad_w += r @ product - sums[1]
                h = g @ averaged
                np.matmul(product, averaged, along)
                np.multiply(m, h, shift)
                np.subtract(shift, along, along)
                for _ in range(3):
                    np.multiply(along, r, along)
                np.multiply(g, wide, back.block(0))
                back.block(1)[...] = x
                np.multiply(m, along, shift)
                h *= r
                np.add(shift, h, shift)
                back.write([r, along], [-shift], grad[s])
            return [grad, grad_w, grad_b]

        return step

    def ours(self, d: Data, x: Any, w: Any, b: Any) -> Any:
        return ag.nn.functional.layer_norm(x, (x.shape[-1],), w, b)

    def torch(self, d: Data, x: Any, w: Any, b: Any) -> Any:
        return torch.nn.functional.layer_norm(x, (x.shape[-1],), w, b)

    def formula(self, xp: Any, d: Data, x: Any, w: Any, b: Any) -> Any:
        return layer_norm(xp, x, w, b)

    def tinygrad(self, d: Data, x: Any, w: Any, b: Any) -> Any:
        return x.layernorm() * w + b


class GroupNorm(Row):
    name, family = "group norm, 32x64x32x32, 8 groups", "large arrays"
    leaves = ("x", "w", "b")

    def data(self, rng: np.random.Generator, dtype: type, small: bool) -> Data:
        shape, groups = ((3, 4, 2, 3), 2) if small else ((32, 64, 32, 32), 8)
        return Data(
            x=normal(rng, dtype, *shape),
            w=normal(rng, dtype, shape[1]),
            b=normal(rng, dtype, shape[1]),
            g=normal(rng, dtype, *shape),
            groups=groups,
        )

    def by_hand(self, d: Data) -> Step:
        n, c = d.x.shape[:2]
        k, height = c // d.groups, min(n, 2)
        xs, gs = (v.reshape(n, c, -1) for v in (d.x, d.g))
        y, grad = np.empty_like(xs), np.empty_like(xs)
        w, b = (v.reshape(d.groups, k) for v in (d.w, d.b))
        mean, inverse = np.empty((2, n, d.groups, 1), d.x.dtype)
        ones = np.ones_like(xs[0, 0])
        count = k * ones.size
        terms = np.ones((3, height, *xs.shape[1:]), d.x.dtype)  # as in layer norm

        def grouped(rows: np.ndarray) -> np.ndarray:
            return rows.reshape(-1, d.groups, k)

        def combine(columns: list[np.ndarray], parts: list[np.ndarray], out: np.ndarray) -> None:
            used = terms[2 - len(parts) :, : len(out)]
            used[: len(parts)] = parts
            stacked = np.stack([np.broadcast_to(v, columns[0].shape) for v in columns], axis=-1)
            stacked = stacked.reshape(-1, c, 1, len(columns))
            np.matmul(stacked, used.transpose(1, 2, 0, 3), out[:, :, None])

        def step() -> list[np.ndarray]:
            for s in blocks(n, height):
                x, m, r = xs[s], mean[s], inverse[s]
                m[...] = grouped(np.vecdot(x, ones)).sum(2, keepdims=True) / count
                r[...] = grouped(np.vecdot(x, x)).sum(2, keepdims=True) / count
                r[...] = 1 / np.sqrt(r - m * m + 1e-5)
                combine([r * w, b - m * r * w], [x], y[s])
            grad_w, grad_b = np.zeros_like(w), np.zeros_like(b)
            for s in blocks(n, height):
                x, g, m, r = xs[s], gs[s], mean[s], inverse[s]
                total = grouped(np.vecdot(g, ones))
                along = (grouped(np.vecdot(g, x)) - m * total) * r
                grad_b += total.sum(0)
                grad_w += along.sum(0)
                slope = (along * w).sum(2, keepdims=True) * r * r / count
                shift = m * slope - (total * w).sum(2, keepdims=True) * r / count
                combine([r * w, -slope, shift], [g, x], grad[s])
            return [grad.reshape(d.x.shape), grad_w.reshape(c), grad_b.reshape(c)]

        return step

    def ours(self, d: Data, x: Any, w: Any, b: Any) -> Any:
        return ag.nn.functional.group_norm(x, d.groups, w, b)

    def torch(self, d: Data, x: Any, w: Any, b: Any) -> Any:
        return torch.nn.functional.group_norm(x, d.groups, w, b)

    def formula(self, xp: Any, d: Data, x: Any, w: Any, b: Any) -> Any:
        rows = xp.reshape(x, (len(d.x), d.groups, -1))
        y = xp.reshape(layer_norm(xp, rows, 1, 0), d.x.shape)
        return y * xp.reshape(w, (-1, 1, 1)) + xp.reshape(b, (-1, 1, 1))

    def tinygrad(self, d: Data, x: Any, w: Any, b: Any) -> Any:
        y = x.reshape(x.shape[0], d.groups, -1).layernorm().reshape(x.shape)
        return y * w.reshape(-1, 1, 1) + b.reshape(-1, 1, 1)


ROWS: list[Row] = [LayerNorm(), GroupNorm()]
