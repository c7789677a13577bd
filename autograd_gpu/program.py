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

    def moved(self, places: Mapping[int, int]) -> Step:
        """The step where values have other numbers."""
        args = tuple([Ref(places[x.index]) if isinstance(x, Ref) else x for x in self.args])
        return Step(self.name, args, self.kwargs, self.dtype)


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
    forward: Program,
    backward: Program,
    gradients: int,
    costly: Collection[str],
    are_stored: bool = True,
) -> tuple[Program, Program]:
    """The two with what the first one keeps for the second as further outputs and inputs.

    The inputs of `backward` are as many `gradients` and then those of `forward`.  Kept are the
    results of `costly` functions, and outputs if they `are_stored` anyway, as far as `backward`
    would compute them anew, or what alone is made of them; or, if it is not more memory, all that
    the gradients meet: of a function of one array that is its slope, by which the backward has but
    to multiply.
    """
    ids: dict[Any, int] = {}
    n = len(forward.inputs)
    start = gradients + n
    known = _numbered(forward, [("input", i) for i in range(n)], ids)
    place = {number: i for i, number in reversed(list(enumerate(known)))}
    found = _numbered(
        backward,
        [("gradient", i) for i in range(gradients)] + [("input", i) for i in range(n)],
        ids,
    )
    outputs = {y.index for y in forward.outputs} if are_stored else set()
    cut: set[int] = set()
    for i, step in enumerate(backward.steps, start):
        at = place.get(found[i], 0)
        if at >= n and (step.name in costly or at in outputs):
            cut.add(i)

    def size(kept: Collection[int]) -> int:
        """Of the arrays that are no outputs anyway."""
        new = [i for i in kept if place.get(found[i]) not in outputs]
        return sum(backward.dtypes[i].itemsize for i in new)

    depends = _depends(gradients, backward)
    kept = _back_to(cut, backward, [y.index for y in backward.outputs]) & cut
    kept = _latest(kept, backward, depends)
    met = _met_by(backward, depends)
    if size(met) <= size(kept) > 0:
        kept = met
    if not kept:
        return forward, backward
    return _keeping(sorted(kept), forward, backward, gradients, [place.get(i) for i in found])


def _keeping(
    kept: Sequence[int],
    forward: Program,
    backward: Program,
    gradients: int,
    known: Sequence[int | None],
) -> tuple[Program, Program]:
    """The two where the first computes the `kept` values of `backward` and hands them over; for
    each value of `backward` the number in `forward` is `known`, if it is there too."""
    start = len(backward.inputs)
    moved = {i: i - gradients for i in range(gradients, start)}
    steps = list(forward.steps)
    for i in sorted(_back_to((), backward, kept) - moved.keys()):
        at = known[i]
        if at is None:
            at = len(forward.inputs) + len(steps)
            steps.append(backward.steps[i - start].moved(moved))
        moved[i] = at
    first = Program(
        forward.inputs, tuple(steps), (*forward.outputs, *[Ref(moved[i]) for i in kept])
    )
    moved = {i: i for i in range(start)} | {i: start + k for k, i in enumerate(kept)}
    steps = []
    ends = [y.index for y in backward.outputs]
    for i in sorted(_back_to(kept, backward, ends) - moved.keys()):
        moved[i] = start + len(kept) + len(steps)
        steps.append(backward.steps[i - start].moved(moved))
    second = Program(
        (*backward.inputs, *[backward.dtypes[i] for i in kept]),
        tuple(steps),
        tuple([Ref(moved[i]) for i in ends]),
    )
    return first, second


def _back_to(given: Collection[int], program: Program, ends: Sequence[int]) -> set[int]:
    """The values that these are computed of, and these, up to the ones that are `given`."""
    n = len(program.inputs)
    found: set[int] = set()
    stack = list(ends)
    while stack:
        i = stack.pop()
        if i not in found:
            found.add(i)
            if i >= n and i not in given:
                stack += [x.index for x in program.steps[i - n].args if isinstance(x, Ref)]
    return found


def _depends(gradients: int, backward: Program) -> list[bool]:
    """For each value whether it depends on the gradients."""
    depends = [i < gradients for i in range(len(backward.inputs))]
    for step in backward.steps:
        depends.append(any(depends[x.index] for x in step.args if isinstance(x, Ref)))
    return depends


def _met_by(backward: Program, depends: Sequence[bool]) -> set[int]:
    """The results that do not depend on the gradients, and that steps read which do."""
    n = len(backward.inputs)
    met: set[int] = set()
    for i, step in enumerate(backward.steps, n):
        if depends[i]:
            read = [x.index for x in step.args if isinstance(x, Ref)]
            met.update(k for k in read if k >= n and not depends[k])
    return met


def _latest(kept: Collection[int], backward: Program, depends: Sequence[bool]) -> set[int]:
    """Instead of values that one step reads the result of that step, and so on, as far as it does
    not depend on the gradients and is no larger."""
    n = len(backward.inputs)
    ends = {y.index for y in backward.outputs}
    readers: dict[int, list[int]] = {}
    for i in sorted(_back_to((), backward, list(ends))):
        if i >= n:
            for k in {x.index for x in backward.steps[i - n].args if isinstance(x, Ref)}:
                readers.setdefault(k, []).append(i)
    found = set()
    for i in kept:
        while i not in ends and len(readers[i]) == 1:
            (after,) = readers[i]
            if depends[after] or backward.dtypes[after].itemsize > backward.dtypes[i].itemsize:
                break
            i = after
        found.add(i)
    return found


def _numbered(program: Program, inputs: Sequence[Any], ids: dict[Any, int]) -> list[int]:
    """A number for every value, the same for what is computed in the same way."""
    numbers = [ids.setdefault(key, len(ids)) for key in inputs]
    for step in program.steps:
        args = [numbers[x.index] if isinstance(x, Ref) else constant_key(x) for x in step.args]
        kwargs = [(k, constant_key(v)) for k, v in sorted(step.kwargs.items())]
        key = (step.name, *args, *kwargs, str(step.dtype))
        numbers.append(ids.setdefault(key, len(ids)))
    return numbers


def equal(a: Program, b: Program) -> bool:
    """Whether two programs of the same inputs compute the same results, and in the same way."""
    if a.inputs != b.inputs:
        return False
    ids: dict[Any, int] = {}
    known = [_numbered(p, range(len(p.inputs)), ids) for p in (a, b)]
    first, second = (
        [found[y.index] for y in p.outputs] for p, found in zip((a, b), known, strict=True)
    )
    return first == second


def constant_key(x: Any) -> Any:
    """Equal for equal constants only: 1, 1.0 and -0.0 differ."""
    if hasattr(x, "tobytes"):  # what an array's repr shows is rounded
        return (type(x), str(x.dtype), x.tobytes())
    return (type(x), repr(x))


def joint(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The one shape to which these broadcast; NotFusable if there is none."""
    out = [1] * max(map(len, shapes))
    for shape in shapes:
        for i, n in enumerate(shape, len(out) - len(shape)):
            if n != out[i] and n != 1:
                if out[i] != 1:
                    raise NotFusable("its arguments do not broadcast to one shape")
                out[i] = n
    return tuple(out)
