"""Sums at the end of a program: the elementwise part before them, and what is done with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from autograd_gpu.program import NotFusable, Program, Ref, Step

SUM = "sum"
"""The name of a step that sums its argument, a value with a Summed as its keyword `of`."""


@dataclass(frozen=True)
class Summed:
    """What a sum is of: a value of that shape, over these axes (ascending, from 0 on)."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    keepdims: bool

    @property
    def kept(self) -> tuple[int, ...]:
        """The shape with 1 for the axes that are summed over."""
        return tuple([1 if i in self.axes else n for i, n in enumerate(self.shape)])

    @property
    def result(self) -> tuple[int, ...]:
        """The shape of the sum."""
        if self.keepdims:
            return self.kept
        return tuple([n for i, n in enumerate(self.shape) if i not in self.axes])


@dataclass(frozen=True)
class Sums:
    """How the first outputs of a program are summed, and what the results are made of."""

    of: Summed
    totals: tuple[Any, ...]
    """The dtype in which each of them is added up."""
    after: Program
    """From the sums, as inputs, to the results; the values all have the shape `of.result`."""


def split(program: Program) -> tuple[Program, Sums | None]:
    """A program without sums, whose outputs they are of, and the sums; (program, None) where it has
    none.  Raises NotFusable where they are not what comes last."""
    n = len(program.inputs)
    of = {step.kwargs["of"] for step in program.steps if step.name == SUM}
    if not of:
        return program, None
    before = {i: i for i in range(n)}
    after: dict[int, int] = {}
    steps: list[Step] = []
    ends: list[Step] = []
    summed: list[Ref] = []
    totals: list[Any] = []
    for i, step in enumerate(program.steps, n):
        read = [x.index for x in step.args if isinstance(x, Ref)]
        if step.name == SUM:
            after[i] = len(totals)
            totals.append(step.dtype)
            summed.append(Ref(before[read[0]]))
        elif not after.keys().isdisjoint(read):
            ends.append(step)
            after[i] = -len(ends)
        else:
            before[i] = n + len(steps)
            steps.append(step.moved(before))
    if len(of) > 1:
        raise NotFusable("its sums are over different axes, or not of one shape")
    if any(y.index not in after for y in program.outputs):
        raise NotFusable("it returns a sum together with what is none")
    places = {i: k if k >= 0 else len(totals) - 1 - k for i, k in after.items()}
    end = Program(
        tuple(totals),
        tuple([step.moved(places) for step in ends]),
        _refs(program.outputs, places),
    )
    inside = Program(program.inputs, tuple(steps), tuple(summed))
    if not inside.steps:
        raise NotFusable("there is nothing but sums to compute")
    return inside, Sums(of.pop(), tuple(totals), end)


def _refs(values: tuple[Ref, ...], places: Mapping[int, int]) -> tuple[Ref, ...]:
    return tuple([Ref(places[y.index]) for y in values])
