"""A straight-line program of elementwise array functions: what `fuse` hands to a backend."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


class NotFusable(Exception):
    """A function cannot be made one program, or a backend has no form of it; the message says
    why."""


@dataclass(frozen=True)
class Ref:
    """A value of a program: the inputs are numbered first, then the steps."""

    index: int


@dataclass(frozen=True)
class Step:
    """`name(*args, **kwargs)`, a function of the array API or of NumPy, with a result of `dtype`.

    An argument is a Ref or a constant (a number, or an array without axes).
    """

    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    dtype: Any


@dataclass(frozen=True)
class Program:
    """Steps on inputs that broadcast to one shape, which every value then has."""

    inputs: tuple[Any, ...]
    steps: tuple[Step, ...]
    outputs: tuple[Ref, ...]
    dtypes: tuple[Any, ...] = field(init=False)
    """The dtype of every value."""

    def __post_init__(self) -> None:
        dtypes = (*self.inputs, *(step.dtype for step in self.steps))
        object.__setattr__(self, "dtypes", dtypes)

    def last_uses(self) -> dict[int, int]:
        """For each value that a step reads the number of the last step that does."""
        last: dict[int, int] = {}
        for number, step in enumerate(self.steps):
            for arg in step.args:
                if isinstance(arg, Ref):
                    last[arg.index] = number
        return last


def sharing(
    forward: Program, backward: Program, gradients: int, costly: Collection[str]
) -> tuple[Program, Program]:
    """The two with what the first one keeps for the second as further outputs and inputs.

    The inputs of `backward` are as many `gradients` and then those of `forward`.  Kept are the
    results of `costly` functions, and outputs, as far as `backward` would compute them anew.
    """
    ids: dict[Any, int] = {}
    n = len(forward.inputs)
    known = _numbered(forward, [("input", i) for i in range(n)], ids)
    place = {number: i for i, number in reversed(list(enumerate(known)))}
    found = _numbered(
        backward,
        [("gradient", i) for i in range(gradients)] + [("input", i) for i in range(n)],
        ids,
    )
    outputs = {y.index for y in forward.outputs}
    start = gradients + n
    cut: dict[int, int] = {}  # values of backward: those of forward
    for i, step in enumerate(backward.steps, start):
        at = place.get(found[i])
        if at is not None and at >= n and (step.name in costly or at in outputs):
            cut[i] = at
    needed: set[int] = set()
    stack = [y.index for y in backward.outputs]
    while stack:
        i = stack.pop()
        if i not in needed:
            needed.add(i)
            if i >= start and i not in cut:
                args = backward.steps[i - start].args
                stack += [x.index for x in args if isinstance(x, Ref)]
    kept = sorted(needed & cut.keys())
    if not kept:
        return forward, backward
    moved = {i: i for i in range(start)}
    moved |= {i: start + k for k, i in enumerate(kept)}
    steps: list[Step] = []
    for i, step in enumerate(backward.steps, start):
        if i in needed and i not in cut:
            moved[i] = start + len(kept) + len(steps)
            args = tuple([Ref(moved[x.index]) if isinstance(x, Ref) else x for x in step.args])
            steps.append(Step(step.name, args, step.kwargs, step.dtype))
    return (
        Program(
            forward.inputs,
            forward.steps,
            (*forward.outputs, *(Ref(cut[i]) for i in kept)),
        ),
        Program(
            (*backward.inputs, *(backward.dtypes[i] for i in kept)),
            tuple(steps),
            tuple([Ref(moved[y.index]) for y in backward.outputs]),
        ),
    )


def _numbered(program: Program, inputs: Sequence[Any], ids: dict[Any, int]) -> list[int]:
    """A number for every value, the same for what is computed in the same way."""
    numbers = [ids.setdefault(key, len(ids)) for key in inputs]
    for step in program.steps:
        args = [numbers[x.index] if isinstance(x, Ref) else constant_key(x) for x in step.args]
        kwargs = [(k, constant_key(v)) for k, v in sorted(step.kwargs.items())]
        key = (step.name, *args, *kwargs, str(step.dtype))
        numbers.append(ids.setdefault(key, len(ids)))
    return numbers


def constant_key(x: Any) -> Any:
    """Equal for equal constants only: 1, 1.0 and -0.0 differ."""
    return (type(x), str(getattr(x, "dtype", "")), repr(x))
