"""Sums of scaled rows for NumPy in one pass: what normalisation does to the rows of a block."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from autograd_gpu.backends.scratch import scratch

Array = np.ndarray[Any, Any]

NARROWEST, WIDEST = 384, 3000
"""Widths between which it pays.  To call BLAS costs 0.1 us for each row; and OpenBLAS would begin
to spread the product of a vector and a matrix over threads at 9216 elements, three rows of 3072."""


class Combination:
    """Of blocks of up to `height` rows [n, width] and columns [n]: the sum of

    - columns[k, :, None] * blocks[k] * weights[k] for each of `weights`, [width], or None for 1
    - columns[len(weights) + k, :, None] * rows[k] for each of `rows`, [width]

    NumPy itself takes a pass for each product and each sum, and two for those with a column.  BLAS
    takes one for all of it, as the product of a vector and a matrix for each row, once the summands
    are in one array.
    """

    def __init__(
        self,
        weights: Sequence[Array | None],
        rows: Sequence[Array],
        height: int,
        width: int,
        dtype: np.dtype[Any],
    ) -> None:
        # a product of two arrays is faster than one of an array and a row
        self.weights = [w if w is None else np.repeat(w[None], height, axis=0) for w in weights]
        self.rows, self.dtype = rows, dtype
        self.terms = len(weights) + len(rows)
        self.shape = (self.terms, height, width)
        self.local = threading.local()

    def __call__(self, columns: Array, blocks: Sequence[Array], out: Array) -> None:
        """Write the sum of `blocks` and rows to `out` [n, width], which is contiguous."""
        n = len(out)
        summands = self._summands()[:, :n]
        for k, block in enumerate(blocks):
            weight = self.weights[k]
            if weight is None:
                summands[k] = block
            else:
                np.multiply(block, weight[:n], summands[k])
        np.matmul(columns.T[:, None], summands.transpose(1, 0, 2), out[:, None])

    def _summands(self) -> Array:
        """This thread's memory for them, in which the rows have been filled in."""
        try:
            return self.local.summands  # type: ignore[no-any-return]
        except AttributeError:
            summands = self.local.summands = scratch("summands", self.shape, self.dtype)
            for summand, row in zip(summands[len(self.weights) :], self.rows, strict=True):
                summand[...] = row
            return summands
