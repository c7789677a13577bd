"""Fused programs for NumPy: tile by tile, every step into a buffer in the cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from types import CodeType
from typing import Any

import numpy as np

from autograd_gpu.backends.numpy_functions import number_arrays
from autograd_gpu.backends.numpy_tiles import Adding, grid
from autograd_gpu.backends.scratch import scratch
from autograd_gpu.program import Program, Ref
from autograd_gpu.summing import Sums
from autograd_gpu.threads import share

Array = np.ndarray[Any, Any]

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

_FILLED = ("zeros_like", "ones_like", "full_like")


def fused_kernel(
    program: Program, sums: Sums | None, xp: Any
) -> Callable[..., tuple[Array, ...]]:
    """The function `kernel(arrays, shape)` that runs a program on arrays of its inputs' dtypes that
    broadcast to `shape`; it returns new arrays: what `sums` makes of the first outputs, and the
    other outputs, of that shape."""
    totals = sums.totals if sums is not None else ()
    source, constants, buffers = _source(program, len(totals), xp)
    scope = dict(constants, copyto=np.copyto)
    exec(_compiled(source), scope)
    run: Callable[..., tuple[Array, ...]] = scope["run"]
    dtypes = [program.dtypes[y.index] for y in program.outputs[len(totals) :]]
    live = sum(d.itemsize for d in (*buffers, *program.inputs, *dtypes))
    block = SMALLEST
    while block < LARGEST and 2 * block * live <= CACHE:
        block *= 2
    axes = sums.of.axes if sums is not None else ()

    def kernel(arrays: Sequence[Array], shape: tuple[int, ...]) -> tuple[Array, ...]:
        tiles = grid(shape, tuple([x.shape for x in arrays]), axes, block)
        inputs = [tiles.matrix(x, k) for k, x in enumerate(arrays)]
        outputs = tuple([np.empty(shape, dtype) for dtype in dtypes])
        flat = [y.reshape(tiles.rows, tiles.columns) for y in outputs]
        adding = Adding(tiles, sums, xp) if sums is not None else None

        def part(i: int) -> None:
            rows, columns = tiles.tile(i)
            size = (rows.stop - rows.start, columns.stop - columns.start)
            values = run(
                [_cut(x, rows, columns) for x in inputs],
                [y[rows, columns] for y in flat],
                [scratch(f"fused{k}", size, dtype) for k, dtype in enumerate(buffers)],
            )
            if adding is not None:
                adding.put(i, values)

        share(part, tiles.count)
        return outputs if adding is None else (*adding.results(), *outputs)

    # once on one element: what fails, fails here, where the plain ops can still be taken
    with np.errstate(all="ignore"):
        one = (1, 1)
        run(*[[np.ones(one, dtype) for dtype in kinds] for kinds in (program.inputs, dtypes, buffers)])
    return kernel


def _cut(x: Array, rows: slice, columns: slice) -> Array:
    if not x.ndim:
        return x
    m, n = x.shape
    return x[rows if m > 1 else slice(None), columns if n > 1 else slice(None)]


@cache
def _compiled(source: str) -> CodeType:
    return compile(source, "<fused>", "exec")


def _source(
    program: Program, summed: int, xp: Any
) -> tuple[str, dict[str, Any], list[np.dtype[Any]]]:
    """The source of `run(inputs, outputs, buffers)`, the names in it, and the buffers' dtypes.  It
    returns the values of the first outputs, which are `summed`, and writes the others."""
    constants: dict[str, Any] = {}
    buffers: list[np.dtype[Any]] = []
    free: dict[Any, list[str]] = {}
    last = program.last_uses()
    n = len(program.inputs)
    names = {i: f"i{i}" for i in range(n)}
    target = {}
    returned, written = program.outputs[:summed], program.outputs[summed:]
    for y in returned:
        last[y.index] = len(program.steps)
    for k, y in enumerate(written):
        if y.index >= n and y.index not in target:
            target[y.index] = f"o{k}"
    lines = []
    for number, step in enumerate(program.steps):
        index = n + number
        function = getattr(xp, step.name)
        is_ufunc = isinstance(function, np.ufunc)
        kinds = [program.dtypes[x.index] if isinstance(x, Ref) else type(x) for x in step.args]
        arrays = number_arrays(function, kinds, step.args) if is_ufunc else {}
        args = []
        for i, arg in enumerate(step.args):
            if isinstance(arg, Ref):
                args.append(names[arg.index])
            else:
                args.append(f"c{len(constants)}")
                constants[args[-1]] = arrays.get(i, arg)
        dying = [
            names[arg.index]
            for arg in {a.index: a for a in step.args if isinstance(a, Ref)}.values()
            if last[arg.index] == number and names[arg.index][0] == "b"
        ]
        in_place = is_ufunc or step.name == "clip"  # may write into what it reads
        if in_place:
            _give_back(dying, buffers, free)
        out = target.get(index) or _take(step.dtype, buffers, free)
        names[index] = out
        if not in_place:
            _give_back(dying, buffers, free)
        if step.name in _FILLED:
            fill = {"zeros_like": "0", "ones_like": "1"}.get(step.name) or args[1]
            lines.append(f"{out}[...] = {fill}")
        elif is_ufunc and not step.kwargs:
            constants[step.name] = function
            # of these two NumPy deprecates the positional form
            out = f"out={out}" if step.name in ("maximum", "minimum") else out
            lines.append(f"{step.name}({', '.join(args)}, {out})")
        elif step.name == "clip" and not step.kwargs:
            lines.append(f"{args[0]}.clip({', '.join(args[1:])}, out={out})")
        elif step.name == "astype":
            lines.append(f"copyto({out}, {args[0]}, 'unsafe')")
        elif step.name == "where":
            lines.append(f"copyto({out}, {args[2]}, 'unsafe')")
            lines.append(f"copyto({out}, {args[1]}, 'unsafe', {args[0]})")
        else:
            constants[step.name] = function
            keywords = []
            for k, v in step.kwargs.items():
                keywords.append(f", {k}=k{len(constants)}")
                constants[f"k{len(constants)}"] = v
            lines.append(f"{out}[...] = {step.name}({', '.join(args)}{''.join(keywords)})")
    for k, y in enumerate(written):
        if names[y.index] != f"o{k}":
            lines.append(f"copyto(o{k}, {names[y.index]})")
    lines.append(f"return {''.join([names[y.index] + ', ' for y in returned]) or '()'}")
    head = ["def run(inputs, outputs, buffers):"]
    for letter, count, group in (
        ("i", n, "inputs"),
        ("o", len(written), "outputs"),
        ("b", len(buffers), "buffers"),
    ):
        if count:
            head.append(f"    {''.join(f'{letter}{k}, ' for k in range(count))} = {group}")
    return "\n".join([*head, *[f"    {line}" for line in lines]]), constants, buffers


def _take(dtype: Any, buffers: list[Any], free: dict[Any, list[str]]) -> str:
    if free.get(dtype):
        return free[dtype].pop()
    buffers.append(dtype)
    return f"b{len(buffers) - 1}"


def _give_back(names: list[str], buffers: list[Any], free: dict[Any, list[str]]) -> None:
    for name in names:
        free.setdefault(buffers[int(name[1:])], []).append(name)
