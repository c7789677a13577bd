"""Sums of scaled rows for NumPy in one pass: what normalisation does to the rows of a block."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np

from autograd_gpu.backends.scratch import scratch

Array = np.ndarray[Any, Any]

NARROWEST, WIDEST = 192, 10_900
"""Widths between which it pays.  To call BLAS costs 0.06 us for some rows; and OpenBLAS would begin
to spread a product over threads at 2^18 multiplications, at most 24 for each column."""

VECTOR = 9215
"""Elements of a matrix up to which OpenBLAS does not spread its product with a vector."""


class Combination:
    """Of blocks of up to `height` rows [n, width] and columns [n]: the sum of

    - columns[k, :, None] * blocks[k] * weights[k] for each of `weights`, [width], or None for 1
    - columns[len(weights) + k, :, None] * rows[k] for each of `rows`, [width]

    NumPy itself takes a pass for each product and each sum, and two for those with a column.  BLAS
    takes one for all of it, once the summands are in one array.  Of one block it gets four rows at
    a time, which are far from each other: the first of each part of the block, and so on.  They are
    the product of a matrix and of their summands, in which each row has zeros for those of the
    others.  With more summands single rows, a vector times a matrix, take no longer.
    """

    def __init__(
        self,
        weights: Sequence[Array | None],
        rows: Sequence[Array],
        height: int,
        width: int,
        dtype: np.dtype[Any],
    ) -> None:
        self.rows, self.dtype = rows, dtype
        self.terms = len(weights) + len(rows)
        self.parts = 4 if len(weights) == 1 else 1 if self.terms * width <= VECTOR else 2
        most = height // self.parts  # rows of a part
        # a product of two arrays is faster than one of an array and a row
        self.weights = [w if w is None else np.repeat(w[None], most, axis=0) for w in weights]
        self.shape = (self.parts * len(weights) + len(rows), most, width)
        self.local = threading.local()

    def __call__(self, columns: Array, blocks: Sequence[Array], out: Array) -> None:
        """Write the sum of `blocks` and rows to `out` [n, width], which is contiguous."""
        n, parts, count = len(out), self.parts, len(blocks)
        if parts > 1:
            flat = columns.reshape(-1)
            if not isfinite(flat.dot(flat)):
                n = 0  # zero times what is infinite or NaN in one row would be NaN in another
        most = n // parts
        n = most * parts
        if n < len(out):
            rest = slice(n, None)
            self._by_numpy(columns[:, rest], [x[rest] for x in blocks], out[rest])
        if not n:
            return
        summands, factors, of_blocks, of_rows = self._memory()
        if most < len(factors):
            summands, factors = summands[:, :most], factors[:most]
            of_blocks, of_rows = of_blocks[:, :, :most], of_rows[:, :, :most]
        if n < len(out):
            columns, blocks, out = columns[:, :n], [x[:n] for x in blocks], out[:n]
        shape = (parts, most, self.shape[2])
        for k, block in enumerate(blocks):
            weight, place = self.weights[k], summands[parts * k : parts * (k + 1)]
            if weight is None:
                place[...] = block.reshape(shape)
            else:
                np.multiply(block.reshape(shape), weight[:most], place)
        columns = columns.reshape(self.terms, parts, most)
        of_blocks[...] = columns[:count]
        of_rows[...] = columns[count:]
        summands, places = summands.transpose(1, 0, 2), out.reshape(shape).transpose(1, 0, 2)
        np.matmul(factors, summands, places)

    def _by_numpy(self, columns: Array, blocks: Sequence[Array], out: Array) -> None:
        count = len(blocks)
        out[...] = 0
        for column, block, weight in zip(columns[:count], blocks, self.weights, strict=True):
            term = block if weight is None else block * weight[0]
            out += term * column[:, None]
        for column, row in zip(columns[count:], self.rows, strict=True):
            out += column[:, None] * row

    def _memory(self) -> tuple[Array, Array, Array, Array]:
        """This thread's memory for the summands, in which the rows have been filled in, for the
        factors, which have zeros where they stay, and the latter's places for columns."""
        try:
            return self.local.memory  # type: ignore[no-any-return]
        except AttributeError:
            count, most, _ = self.shape
            parts, last = self.parts, self.parts * len(self.weights)
            summands = scratch("summands", self.shape, self.dtype)
            for summand, row in zip(summands[last:], self.rows, strict=True):
                summand[...] = row
            # an element more, by which each row of factors is moved against the last one
            wide = np.zeros((most, parts, count + 1), self.dtype)
            factors = wide.reshape(most, -1)[:, : parts * count].reshape(most, parts, count)
            of_blocks = wide[:, :, :last:parts].transpose(2, 1, 0)
            of_rows = factors[:, :, last:].transpose(2, 1, 0)
            self.local.memory = memory = (summands, factors, of_blocks, of_rows)
            return memory
