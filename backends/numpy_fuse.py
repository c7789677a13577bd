"""Fused programs for NumPy: tile by tile, every step into a buffer in the cache."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np

from autograd_gpu.backends.numpy_fuse_loops import loops
from autograd_gpu.backends.numpy_fuse_source import compiled
from autograd_gpu.backends.numpy_tiles import Grid, Shape, Total, Varies
from autograd_gpu.backends.scratch import scratch
from autograd_gpu.extension import extension
from autograd_gpu.program import Program, Ref, Step, equal
from autograd_gpu.summing import Sums
from autograd_gpu.threads import share

Array: TypeAlias = np.ndarray[Any, Any]

CACHE = 4 << 20
"""Bytes that the tiles of a program may take.  They are written in long runs, for which a core's
share of the third-level cache is fast enough."""

SMALLEST, LARGEST = 1 << 13, 1 << 17
"""Elements of a tile.  GELU on a million floats took 2.5 ms with 2^15, 2.3 with 2^16, 2.1 with
2^17 and hardly less with 2^18."""

COSTLY = frozenset(
    (
        "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh",
        "erf", "exp", "exp2", "expm1", "hypot", "log", "log10", "log1p", "log2", "logaddexp",
        "power", "sin", "sinc", "sinh", "tan", "tanh",
    )
)  # fmt: skip
"""Functions that take longer than writing their result to memory and reading it again."""


class FusedKernel:
    """The function `kernel(arrays, shape)` that runs a program on arrays of its inputs' dtypes that
    broadcast to `shape`; it returns new arrays: what `sums` makes of the first outputs, and the
    other outputs, of that shape or, as far as that is no more work, summed to their `targets`."""

    def __init__(
        self, program: Program, sums: Sums | None, targets: Sequence[Shape], xp: Any
    ) -> None:
        self.program, self.sums, self.targets, self.xp = program, sums, tuple(targets), xp
        self._known: dict[Any, _Kernel] = {}
        # once on one element: what fails, fails here, where the plain ops can still be taken
        run, buffers = compiled(program, [False] * len(program.outputs), xp)
        dtypes = [program.dtypes[y.index] for y in program.outputs]
        kinds = (program.inputs, dtypes, buffers)
        with np.errstate(all="ignore"):
            run(*[[np.ones((1, 1), dtype) for dtype in kind] for kind in kinds])

    def __call__(self, arrays: Sequence[Array], shape: Shape) -> tuple[Array, ...]:
        arrays = [_narrowed(x) if 0 in x.strides else x for x in arrays]
        key = (shape, *[x.shape for x in arrays])
        found = self._known.get(key)
        if found is None:
            found = _Kernel(self.program, self.sums, self.targets, shape, key[1:], self.xp)
            self._known[key] = found
        return found(arrays)

    def __eq__(self, other: object) -> bool:
        """Whether it computes the same, for a recording that meets a function fused anew."""
        if not isinstance(other, FusedKernel) or self.targets != other.targets:
            return False
        a, b = self.sums, other.sums
        if a is None or b is None:
            same = a is b
        else:
            same = (a.of, a.totals) == (b.of, b.totals) and equal(a.after, b.after)
        return same and equal(self.program, other.program)

    def __hash__(self) -> int:
        return hash(self.targets)


class _Kernel:
    """A program for arrays of given shapes."""

    def __init__(
        self,
        program: Program,
        sums: Sums | None,
        targets: Sequence[Shape],
        shape: Shape,
        shapes: Sequence[Shape],
        xp: Any,
    ) -> None:
        self.sums, self.shape, self.xp = sums, shape, xp
        self.grid = Grid(shape, shapes, sums.of.axes if sums is not None else ())
        self.dtypes = [program.dtypes[y.index] for y in program.outputs]
        self.targets = [*targets] or [shape] * len(self.dtypes)
        self.added = len(sums.totals) if sums is not None else 0
        self.ways = [self._way(k) for k in range(len(self.dtypes))]
        self.early, late = _early(program, self.grid.varies)
        added = [way is not None for way in self.ways]
        self.run, self.buffers = compiled(late, added, xp)
        self.loops = loops(late, self.ways, self.dtypes, xp)
        written = [x for x, flag in zip(self.dtypes, added, strict=True) if not flag]
        live = sum(x.itemsize for x in (*self.buffers, *program.inputs, *written))
        block = SMALLEST
        while block < LARGEST and 2 * block * live <= CACHE:
            block *= 2
        self.grid.cut(block, any(way is not None and way[0] == 0 for way in self.ways))

    def _way(self, k: int) -> tuple[int | None, Any] | None:
        """The axis of matrices over which an output is added up, and the dtype; None if it is
        written as it is."""
        dtype, grid = self.dtypes[k], self.grid
        if k < self.added:
            assert self.sums is not None
            return None if grid.along is None else (grid.along, self.sums.totals[k])
        target = self.targets[k - self.added]
        varies = grid.of(target)[0]
        if varies == (True, True) or prod(target) == prod(self.shape):
            return None
        axis = {(False, False): None, (True, False): 1, (False, True): 0}[varies]
        return axis, np.dtype(np.float32) if dtype.itemsize == 2 else dtype

    def __call__(self, arrays: Sequence[Array]) -> tuple[Array, ...]:
        grid, xp = self.grid, self.xp
        inputs = [grid.matrix(x, form) for x, form in zip(arrays, grid.forms, strict=True)]
        for step in self.early:
            inputs.append(_applied(step, inputs, xp))
        outputs: list[Any] = []
        written, totals = [], []
        for dtype, way in zip(self.dtypes, self.ways, strict=True):
            if way is None:
                y = np.empty(self.shape, dtype)
                written.append(y.reshape(grid.size))
                outputs.append(y)
            else:
                totals.append(Total(grid, *way, xp))
                outputs.append(totals[-1])
        if len(grid.tiles) == 1:
            if self.loops is None or not extension.loops_run(
                self.loops, inputs, written, [total.place(0) for total in totals], *grid.size
            ):
                values = self.run(inputs, written, self._scratch(grid.size))
                for total, x in zip(totals, values, strict=True):
                    total.only(x)
        else:
            self._tiles(inputs, written, totals)
        if not totals and not self.added:
            return tuple(outputs)
        return self._results([y.result() if type(y) is Total else y for y in outputs])

    def _tiles(
        self, inputs: list[Array], written: Sequence[Array], totals: Sequence[Total]
    ) -> None:
        tiles = self.grid.tiles

        def part(i: int) -> None:
            rows, columns = tile = tiles[i]
            size = (rows.stop - rows.start, columns.stop - columns.start)
            given, results = [_cut(x, rows, columns) for x in inputs], [y[tile] for y in written]
            if self.loops is not None:
                parts = [total.place(i) for total in totals]
                if extension.loops_run(self.loops, given, results, parts, *size):
                    return
            values = self.run(given, results, self._scratch(size))
            for total, x in zip(totals, values, strict=True):
                total.put(i, x)

        share(part, len(tiles))

    def _scratch(self, size: tuple[int, int]) -> list[Array]:
        return [scratch(f"fused{k}", size, dtype) for k, dtype in enumerate(self.buffers)]

    def _results(self, values: list[Any]) -> tuple[Array, ...]:
        """What is returned, of values that are summed or as they are."""
        for k in range(self.added, len(values)):
            if self.ways[k] is not None:
                y = np.asarray(values[k]).astype(self.dtypes[k], copy=False)
                values[k] = y.reshape(self.targets[k - self.added])
        return (*self._made_of(values[: self.added]), *values[self.added :])

    def _made_of(self, totals: list[Any]) -> list[Array]:
        """The results that are made of sums."""
        if self.sums is None:
            return []
        of, after, rest = self.sums.of, self.sums.after, self.grid.rest
        for k, dtype in enumerate(self.sums.totals):
            x = np.asarray(totals[k])
            if rest:
                x = np.add.reduce(x.reshape(self.grid.left), rest, dtype)
            # NumPy adds up small integers as large ones
            totals[k] = np.asarray(x).astype(dtype, copy=False).reshape(of.result)
        for step in after.steps:
            totals.append(_applied(step, totals, self.xp))
        results: list[Array] = []
        for y in after.outputs:
            x = totals[y.index]
            results.append(x.copy() if any(np.may_share_memory(x, z) for z in results) else x)
        return results


def _early(program: Program, given: Sequence[Varies]) -> tuple[list[Step], Program]:
    """The steps that compute but a row, a column or a number, and the program after these, with
    their results as further inputs."""
    n, varies = len(program.inputs), [*given]
    for step in program.steps:
        read = [varies[x.index] for x in step.args if isinstance(x, Ref)]
        varies.append((any(a for a, _ in read), any(b for _, b in read)))
    first = [i for i in range(n, len(varies)) if varies[i] != (True, True)]
    order = [*range(n), *first, *[i for i in range(n, len(varies)) if varies[i] == (True, True)]]
    places = {i: k for k, i in enumerate(order)}
    moved = [program.steps[i - n].moved(places) for i in order[n:]]
    early, late = moved[: len(first)], moved[len(first) :]
    outputs = tuple([Ref(places[y.index]) for y in program.outputs])
    return early, Program((*program.inputs, *[x.dtype for x in early]), tuple(late), outputs)


def _applied(step: Step, values: Sequence[Any], xp: Any) -> Array:
    args = [values[x.index] if isinstance(x, Ref) else x for x in step.args]
    return np.asarray(getattr(xp, step.name)(*args, **step.kwargs))


def _narrowed(x: Array) -> Array:
    """One element of each axis along which an array repeats itself, as the gradient of a sum."""
    sizes = zip(x.shape, x.strides, strict=True)
    return x[tuple([slice(0, 1) if not stride and n > 1 else slice(None) for n, stride in sizes])]


def _cut(x: Array, rows: slice, columns: slice) -> Array:
    if not x.ndim:
        return x
    m, n = x.shape
    return x[rows if m > 1 else slice(None), columns if n > 1 else slice(None)]
