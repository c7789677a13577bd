"""Fused programs for NumPy: the Python source that runs one on a tile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from types import CodeType
from typing import Any

import numpy as np

from autograd_gpu.backends.numpy_functions import number_arrays
from autograd_gpu.program import Program, Ref

UFUNCS = {
    name: getattr(np, name)
    for name in ("add", "divide", "maximum", "minimum", "multiply", "subtract")
}
"""What the namespace has forms of that are for small arrays, or for those without an `out`."""

_FILLED = ("zeros_like", "ones_like", "full_like")


def compiled(
    program: Program, added: Sequence[bool], xp: Any
) -> tuple[Callable[..., tuple[Any, ...]], list[np.dtype[Any]]]:
    """The function `run(inputs, outputs, buffers)`, and the dtypes of its buffers.

    It returns the values of the outputs that are `added` up, and writes the others.
    """
    source, constants, buffers = _source(program, added, xp)
    scope = dict(constants, copyto=np.copyto)
    exec(_code(source), scope)
    return scope["run"], buffers


@cache
def _code(source: str) -> CodeType:
    return compile(source, "<fused>", "exec")


def _source(
    program: Program, added: Sequence[bool], xp: Any
) -> tuple[str, dict[str, Any], list[np.dtype[Any]]]:
    """The source, the names in it, and the buffers' dtypes."""
    constants: dict[str, Any] = {}
    buffers: list[np.dtype[Any]] = []
    free: dict[Any, list[str]] = {}
    last = program.last_uses()
    n = len(program.inputs)
    names = {i: f"i{i}" for i in range(n)}
    target = {}
    outputs = list(zip(program.outputs, added, strict=True))
    returned, written = ([y for y, flag in outputs if flag is kind] for kind in (True, False))
    for y in returned:
        last[y.index] = len(program.steps)
    for k, y in enumerate(written):
        if y.index >= n and y.index not in target:
            target[y.index] = f"o{k}"
    lines = []
    for number, step in enumerate(program.steps):
        index = n + number
        function = UFUNCS.get(step.name) or getattr(xp, step.name)
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
