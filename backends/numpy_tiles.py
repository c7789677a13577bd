"""How a fused program goes through large arrays: as matrices, tile by tile.

All arrays are seen as matrices of the same rows and columns, in which an argument that broadcasts
has one row or one column.  A sum over the first or last axes is one over rows or columns: that of
each tile is taken while it is in the cache, and then the sum of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile
from math import prod
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]
Shape = tuple[int, ...]

Varies = tuple[bool, bool]
"""Whether values differ from row to row, and from column to column."""

NARROW = 16
"""Columns below which arguments that broadcast are copied to the full shape: NumPy's loops over one
row each would take longer."""

SHORT = (511, 64)
"""Columns up to which products add up rows, or columns.  They are faster for more columns too, but
several calls: threads that come back from short calls wait for each other to let go of the
interpreter."""

TALLEST = 8
"""Rows that a tile has at least if rows are added up, so that the sums of all tiles are small."""


class Grid:
    """The tiles for arrays of `shapes`, which broadcast to `shape`, and are summed over `axes`.

    `along` is the axis of the matrices to sum over, or None where `axes` are not the first or last
    ones; `left` are the axes of the sums then, and `rest` those among them to sum over after that.
    """

    def __init__(self, shape: Shape, shapes: Sequence[Shape], axes: Sequence[int]) -> None:
        self.shape = shape
        self._places = [i for i, n in enumerate(shape) if n != 1]
        sizes = [shape[i] for i in self._places]
        summed = [i in axes for i in self._places]
        spread = [self._spread(given) for given in shapes]
        self.along: int | None = None
        self._split = 0
        if summed and summed[-1]:
            self.along, self._split = 1, len(summed) - _run(reversed(summed))
            left = slice(0, self._split)
        elif summed and summed[0]:
            self.along, self._split = 0, _run(summed)
            left = slice(self._split, None)
        else:
            left = slice(None)
            if not any(summed):
                self._split = _split(sizes, spread)
        self.left = tuple(sizes[left])
        self.rest = tuple([i for i, flag in enumerate(summed[left]) if flag])
        self.rows, self.columns = prod(sizes[: self._split]), prod(sizes[self._split :])
        self.size = (self.rows, self.columns)
        found = [self.of(given) for given in shapes]
        self.varies, self.forms = [x for x, _ in found], [form for _, form in found]

    def _spread(self, given: Shape) -> list[bool]:
        """For each axis whether an array of that shape broadcasts along it."""
        lead = len(self.shape) - len(given)
        return [i < lead or given[i - lead] != self.shape[i] for i in self._places]

    def of(self, given: Shape) -> tuple[Varies, Shape | None]:
        """How the elements of an array of that shape vary, and its shape as a matrix; None if that
        takes a copy."""
        if prod(given) == 1 and prod(self.shape):
            return (False, False), ()
        flags = self._spread(given)
        by_row, by_column = any(flags[: self._split]), any(flags[self._split :])
        is_narrow = (by_row or by_column) and self.columns < NARROW
        if is_narrow or not _fits(flags, self._split):
            return (True, True), None
        form = (1 if by_row else self.rows, 1 if by_column else self.columns)
        return (not by_row, not by_column), form

    def matrix(self, x: Array, form: Shape | None) -> Array:
        """An argument as a matrix, or without axes if it is one element."""
        if form is None:
            return np.broadcast_to(x, self.shape).reshape(self.size)
        return x if x.shape == form else x.reshape(form)

    def cut(self, block: int, is_tall: bool) -> None:
        """Make tiles of that many elements, of several rows if they are to be `tall`."""
        m, n = self.rows, self.columns
        if is_tall:
            height = min(m, max(TALLEST, block // max(1, n)))
            width = min(n, block // max(1, height))
        else:
            width = min(n, block)
            height = min(m, block // max(1, width))
        tops, lefts = _cuts(m, height), _cuts(n, width)
        self.tiles = [(rows, columns) for rows in tops for columns in lefts]
        self.down, self.across = len(tops), len(lefts)


class Total:
    """The sum of a value over rows (axis 0), columns (1) or both (None): first of each tile."""

    def __init__(self, grid: Grid, axis: int | None, dtype: np.dtype[Any], xp: Any) -> None:
        self.grid, self.axis, self.dtype, self.xp = grid, axis, dtype, xp
        self.sum: Any = None
        rows, columns = grid.size
        shape = (rows if axis == 1 else grid.down, columns if axis == 0 else grid.across)
        self.parts = np.empty(shape, dtype)

    def only(self, x: Array) -> None:
        """Add up the value of the only tile."""
        self.sum = self._added(x, self.grid.size)

    def place(self, i: int) -> Array:
        """The part for tile `i`, of no sum yet, as a vector."""
        rows, columns = self.grid.tiles[i]
        row, column = divmod(i, self.grid.across)
        if self.axis is None:
            part = self.parts[row, column : column + 1]
        else:
            part = self.parts[row, columns] if self.axis == 0 else self.parts[rows, column]
        part.fill(-0.0)
        return part

    def put(self, i: int, x: Array) -> None:
        """Add up the value of tile `i`, whose place nobody else writes to."""
        rows, columns = self.grid.tiles[i]
        row, column = divmod(i, self.grid.across)
        place = {None: (row, column), 0: (row, columns), 1: (rows, column)}[self.axis]
        size = (rows.stop - rows.start, columns.stop - columns.start)
        self.parts[place] = self._added(x, size)

    def _added(self, x: Array, size: tuple[int, int]) -> Any:
        if x.shape != size:
            x = np.broadcast_to(x, size)
        if self.axis is not None and size[1] <= SHORT[self.axis]:
            dtype = None if x.dtype == self.dtype else self.dtype
            return self.xp.sum(x, axis=self.axis, dtype=dtype)
        return np.add.reduce(x, self.axis, self.dtype)

    def result(self) -> Any:
        """The sum, of one axis or none."""
        return np.add.reduce(self.parts, self.axis) if self.sum is None else self.sum


def _run(flags: Iterable[bool]) -> int:
    return len(list(takewhile(bool, flags)))


def _fits(flags: Sequence[bool], split: int) -> bool:
    """Whether an argument is a row, a column or a whole matrix, without a copy."""
    return len({*flags[:split]}) < 2 and len({*flags[split:]}) < 2


def _split(sizes: Sequence[int], spread: Sequence[Sequence[bool]]) -> int:
    """The axis with which columns begin: the first one for which nothing has to be copied."""
    for split in range(len(sizes)):
        if all(_fits(flags, split) or all(flags) for flags in spread):
            return split if prod(sizes[split:]) >= NARROW else 0
    return 0


def _cuts(n: int, size: int) -> list[slice]:
    return [slice(i, min(i + size, n)) for i in range(0, n, max(1, size))]
