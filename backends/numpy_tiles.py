"""How a fused program goes through large arrays: as matrices, tile by tile.

All arrays are seen as matrices of the same rows and columns, in which an argument that broadcasts
has one row or one column.  A sum over the first or last axes is one over rows or columns: that of
each tile is taken while it is in the cache, and then the sum of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile
from math import prod
from typing import Any

import numpy as np

from autograd_gpu.program import Ref
from autograd_gpu.summing import Sums

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]

NARROW = 64
"""Columns below which arguments that broadcast are copied to the full shape: NumPy's loops over one
row each would take longer."""

TALLEST = 8
"""Rows that a tile has at least if rows are added up, so that the sums of all tiles are small."""


class Grid:
    """The tiles for arrays that broadcast to one shape.

    `along` is the axis of the matrices that is summed over, if it is one; `sizes` are the axes left
    then, and `rest` those among them to sum over after that.
    """

    def __init__(self, shape: Shape, shapes: Sequence[Shape], axes: Sequence[int], block: int):
        self.shape = shape
        places = [i for i, n in enumerate(shape) if n != 1]
        sizes = [shape[i] for i in places]
        summed = [i in axes for i in places]
        spread = [_spread(given, shape, places) for given in shapes]
        self.along: int | None = None
        if summed and summed[-1]:
            self.along, split = 1, len(summed) - _run(reversed(summed))
            left = slice(0, split)
        elif summed and summed[0]:
            self.along, split = 0, _run(summed)
            left = slice(split, None)
        else:
            left, split = slice(None), _split(sizes, spread)
        self.sizes = tuple(sizes[left])
        self.rest = tuple([i for i, flag in enumerate(summed[left]) if flag])
        self.rows, self.columns = prod(sizes[:split]), prod(sizes[split:])
        self.forms = [
            _form(flags, split, self.rows, self.columns)
            if prod(given) > 1 or not prod(shape)
            else ()
            for given, flags in zip(shapes, spread, strict=True)
        ]
        if self.along == 0:
            self.height = min(self.rows, max(TALLEST, block // max(1, self.columns)))
            self.width = min(self.columns, block // max(1, self.height))
        else:
            self.width = min(self.columns, block)
            self.height = min(self.rows, block // max(1, self.width))
        self.across, self.down = _parts(self.columns, self.width), _parts(self.rows, self.height)
        self.count = self.across * self.down

    def matrix(self, x: Array, number: int) -> Array:
        """The argument of that number as a matrix, or without axes if it is one element."""
        form = self.forms[number]
        if form is None:
            return np.broadcast_to(x, self.shape).reshape(self.rows, self.columns)
        return x.reshape(form)

    def tile(self, i: int) -> tuple[slice, slice]:
        """The rows and columns of a tile."""
        row, column = divmod(i, self.across)
        top, left = row * self.height, column * self.width
        return (
            slice(top, min(top + self.height, self.rows)),
            slice(left, min(left + self.width, self.columns)),
        )


@lru_cache(512)
def grid(shape: Shape, shapes: tuple[Shape, ...], axes: Shape, block: int) -> Grid:
    """The Grid of arguments of these shapes, which broadcast to `shape`."""
    return Grid(shape, shapes, axes, block)


class Adding:
    """The sums of one call: first those of its tiles, each of which is written once."""

    def __init__(self, tiles: Grid, sums: Sums, xp: Any) -> None:
        self.tiles, self.sums, self.xp = tiles, sums, xp
        m, n = tiles.rows, tiles.columns
        shape = {None: (m, n), 0: (tiles.down, n), 1: (m, tiles.across)}[tiles.along]
        self.parts = [np.empty(shape, dtype) for dtype in sums.totals]

    def put(self, i: int, values: Sequence[Array]) -> None:
        """Add up the values of tile `i`."""
        tiles = self.tiles
        rows, columns = tiles.tile(i)
        for part, x in zip(self.parts, values, strict=True):
            if tiles.along is None:
                part[rows, columns] = x
                continue
            if not x.ndim:
                x = x.reshape(1, 1)
            dtype = None if x.dtype == part.dtype else part.dtype
            total = self.xp.sum(x, axis=tiles.along, dtype=dtype)
            if tiles.along:
                part[rows, i % tiles.across] = total
            else:
                part[i // tiles.across, columns] = total

    def results(self) -> list[Array]:
        """What is made of the sums."""
        xp, of = self.xp, self.sums.of
        values: list[Any] = []
        for x in self.parts:
            if self.tiles.along is not None:
                x = np.add.reduce(x, self.tiles.along)
            if self.tiles.rest:
                x = np.add.reduce(x.reshape(self.tiles.sizes), self.tiles.rest)
            values.append(x.reshape(of.result))
        after = self.sums.after
        for step in after.steps:
            args = [values[x.index] if isinstance(x, Ref) else x for x in step.args]
            values.append(np.asarray(getattr(xp, step.name)(*args, **step.kwargs)))
        return [values[y.index] for y in after.outputs]


def _spread(given: Shape, shape: Shape, places: Sequence[int]) -> list[bool]:
    """For each of the axes whether an argument broadcasts along it."""
    lead = len(shape) - len(given)
    return [i < lead or given[i - lead] != shape[i] for i in places]


def _run(flags: Any) -> int:
    return len(list(takewhile(bool, flags)))


def _fits(flags: Sequence[bool], split: int) -> bool:
    """Whether an argument is a row, a column or a whole matrix, without a copy."""
    return len({*flags[:split]}) < 2 and len({*flags[split:]}) < 2


def _split(sizes: Sequence[int], spread: Sequence[Sequence[bool]]) -> int:
    """The axis with which columns begin: the first one for which nothing has to be copied."""
    for split in range(len(sizes)):
        if all(_fits(flags, split) for flags in spread):
            return split if prod(sizes[split:]) >= NARROW else 0
    return 0


def _form(flags: Sequence[bool], split: int, rows: int, columns: int) -> Shape | None:
    """The shape of an argument as a matrix, or None if it has to be copied to the full shape."""
    if not _fits(flags, split):
        return None
    by_row, by_column = any(flags[:split]), any(flags[split:])
    if (by_row or by_column) and columns < NARROW:
        return None
    return (1 if by_row else rows, 1 if by_column else columns)


def _parts(n: int, size: int) -> int:
    return -(-n // size) if size else 0
