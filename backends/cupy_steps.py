"""Optimiser steps for CuPy: one launch for many parameters.

The kernel gets the arrays' addresses and sizes by value, so no table has to be kept in step with
arrays that come and go.  Each block finds its array, and CHUNK elements of it, by bisection.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import cupy as cp
import numpy as np
from cupy._core._scalar import get_typename
from cupy.cuda import device

from autograd_gpu.backends.cupy_step_numbers import StepNumbers
from autograd_gpu.backends.cupy_step_rules import RULES, Rule
from autograd_gpu.backends.step_numbers import LAMB

Array = Any

CHUNK = 4096
_THREADS = 256
NAMES = sorted({name for name, *_ in RULES} - {"unscale"})
"""The steps of optimisers."""
# All arguments of a launch have to fit into 4 KiB (from CUDA 12.1 on into 32 KiB, on newer GPUs).
_ARGUMENT_BYTES = 3840

_SOURCE = """
{includes}
typedef {compute} C;
{types}
struct Arrays {{
    {pointers}
    long long size[{many}];
    unsigned int end[{many}];  // one beyond the array's last block
}};
struct Numbers {{ double value[{count}]; }};

extern "C" __global__ void autograd_gpu_{name}_step(
    const Arrays arrays, const int many, const Numbers given, const double* live,
    unsigned char* flag
) {{
    {guard}
    int at = 0, last = many - 1;
    while (at < last) {{
        const int middle = (at + last) / 2;
        if (blockIdx.x < arrays.end[middle]) last = middle; else at = middle + 1;
    }}
    const long long from = (long long)(blockIdx.x - (at ? arrays.end[at - 1] : 0)) * {chunk};
    const long long to = min(from + {chunk}, arrays.size[at]);
    {numbers}
    {bases}
    for (long long i = from + threadIdx.x; i < to; i += {threads}) {{
        {elements}
        {code}
    }}
}}
"""


def steps(
    name: str,
    arrays: Sequence[Sequence[Array | None]],
    options: Callable[[], Mapping[str, Any]],
    copies: Sequence[Array | None] | None = None,
    skip: tuple[Array | None, Array] | None = None,
) -> None:
    """One step for each of `arrays`, in place: what `{name}_step` does with `options()`.

    `copies`, where given, take the new values of the parameters in their own dtype.  Half types
    are computed in float32; the parts of complex numbers are parameters of their own, as in
    PyTorch.  In a recorded step `options` is called again for each repetition, and nothing is
    changed where `skip` says so; see `autograd_gpu.backend.Backend.steps`.
    """
    if name == "lamb":
        numbers = StepNumbers.of_step(LAMB, options, skip)
        arrays = _lamb_moves(arrays, numbers)
    else:
        numbers = StepNumbers.of_step(_rule(name, arrays[0]).numbers, options, skip)
    _run(_rule(name, arrays[0]), arrays, numbers, copies)


def unscale(grads: Sequence[Array], inverse: Any) -> Array:
    """Multiply `grads` by `inverse`, a number or a double on the device, in place.

    A 0-d bool: whether any element of them is not finite.
    """
    flag = cp.zeros((), np.bool_)
    rule = RULES[("unscale",)]
    numbers = StepNumbers.of_one(rule.numbers, inverse, flag)
    _run(rule, [[g] for g in grads], numbers)
    return flag


def single(name: str) -> Callable[..., None]:
    """`{name}_step`, which takes the arrays of one parameter and the options as keywords."""

    def step(*arrays: Array | None, **options: Any) -> None:
        steps(name, [arrays], lambda: options)

    step.__name__ = step.__qualname__ = f"{name}_step"
    return step


def _rule(name: str, row: Sequence[Array | None]) -> Rule:
    return RULES[name, *[x is not None for x in row[2:]]]


def _lamb_moves(
    arrays: Sequence[Sequence[Array | None]], numbers: StepNumbers
) -> list[list[Array]]:
    """Parameters, directions to move them in, and by how much of these, all on the device."""
    directions = [cp.empty_like(row[0]) for row in arrays]
    rows = [[*row, r] for row, r in zip(arrays, directions, strict=True)]
    _run(_rule("lamb", rows[0]), rows, numbers)
    moves = []
    for row, direction in zip(arrays, directions, strict=True):
        own, step = cp.linalg.norm(row[0]), cp.linalg.norm(direction)
        known = (own > 0) & (step > 0)
        moves.append([row[0], direction, cp.where(known, own / cp.where(known, step, 1), 1)])
    return moves


def _run(
    rule: Rule,
    arrays: Sequence[Sequence[Array | None]],
    numbers: StepNumbers,
    copies: Sequence[Array | None] | None = None,
) -> None:
    """`rule` for all of `arrays`: those of the same dtypes in one launch."""
    rows: dict[tuple[Any, ...], list[list[Array]]] = {}
    back: list[tuple[Array, Array]] = []
    here = device.get_device_id()
    for i, given in enumerate(arrays):
        row = [x for x in given if x is not None]
        if copies is not None and copies[i] is not None:
            row.append(copies[i])
        if row[0].data.device_id != here:
            raise ValueError(
                f"{rule.name}: a parameter lives on {row[0].device}, not the current device"
            )
        if row[0].size:
            dense = _dense(row, back)
            rows.setdefault(tuple([x.dtype for x in dense]), []).append(dense)
    for dtypes, same in rows.items():
        _launch(rule, dtypes, same, numbers)
    for x, dense in back:
        x[...] = dense


def _dense(row: list[Array], back: list[tuple[Array, Array]]) -> list[Array]:
    """Arrays as their real numbers in C order; `back` gets the copies to be written back."""
    out = []
    for k, x in enumerate(row):
        dense = cp.ascontiguousarray(x)
        if dense is not x and k != 1:  # the gradient is only read
            back.append((x, dense))
        out.append(dense.reshape(-1).view(dense.real.dtype) if x.dtype.kind == "c" else dense)
    return out


def _launch(
    rule: Rule, dtypes: tuple[Any, ...], rows: list[list[Array]], numbers: StepNumbers
) -> None:
    compute = "double" if dtypes[0] == np.float64 else "float"
    kernel, layout, many = _kernel(rule, dtypes, compute)
    for start in range(0, len(rows), many):
        some = rows[start : start + many]
        table = np.zeros((), layout)
        for k, name in enumerate(layout.names[: len(dtypes)]):
            table[name][: len(some)] = [row[k].data.ptr for row in some]
        sizes = np.array([row[0].size for row in some])
        ends = np.cumsum(-(-sizes // CHUNK))
        table["size"][: len(some)] = sizes
        table["end"][: len(some)] = ends
        arguments = (table[()], np.int32(len(some)), numbers.given, numbers.live, numbers.flag)
        kernel((int(ends[-1]),), (_THREADS,), arguments)


@cache
def _kernel(rule: Rule, dtypes: tuple[Any, ...], compute: str) -> tuple[Any, Any, int]:
    """The kernel for arrays of these dtypes, the layout of `Arrays`, and how many it takes."""
    pairs, code = list(rule.arrays), rule.code
    if len(dtypes) > len(pairs):
        pairs.append(("copy", "Copy"))
        code += "copy = Copy(param);"
    many = _ARGUMENT_BYTES // (8 * len(pairs) + 12)
    types = [
        f"typedef {get_typename(dtype)} {letter};"
        for (_, letter), dtype in zip(pairs, dtypes, strict=True)
    ]
    halves = [kind for kind in ("float16", "bfloat16") if kind in map(get_typename, dtypes)]
    source = _SOURCE.format(
        includes="\n".join(f"#include <cupy/{kind}.cuh>" for kind in halves),
        name=rule.name,
        compute=compute,
        types="\n".join(types),
        pointers="\n    ".join(f"{letter}* {name}[{many}];" for name, letter in pairs),
        many=many,
        count=len(rule.numbers.names),
        chunk=CHUNK,
        threads=_THREADS,
        guard=rule.guard,
        numbers="\n    ".join(
            f"const double {name} = live ? live[{k}] : given.value[{k}];"
            for k, name in enumerate(rule.numbers.names)
        ),
        bases="\n    ".join(
            f"{letter}* const {name}_base = arrays.{name}[at];" for name, letter in pairs
        ),
        elements="\n        ".join(
            f"{letter}& {name} = {name}_base[{'0' if name in rule.scalars else 'i'}];"
            for name, letter in pairs
        ),
        code=code,
    )
    layout = np.dtype(
        [(name, np.uint64, many) for name, _ in pairs]
        + [("size", np.int64, many), ("end", np.uint32, many)],
        align=True,
    )
    return cp.RawKernel(source, f"autograd_gpu_{rule.name}_step"), layout, many
