"""Writing down what is computed with Symbols: the steps of a program.

Sums may come last: what is computed with a sum is computed with sums alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from math import prod
from operator import index as integer
from typing import Any

from autograd_gpu.backend import BACKENDS, Array, load_backend
from autograd_gpu.program import NotFusable, Program, Ref, Step, constant_key, joint
from autograd_gpu.summing import SUM, Summed
from autograd_gpu.symbols import Symbol

_CONSTANT = ("full_like", "ones_like", "zeros_like")

# Functions that are no ufuncs of NumPy's, but forms of such with an `out`.
_COMPILED = ("add", "divide", "maximum", "minimum", "multiply", "subtract")


tracing: ContextVar[Trace | None] = ContextVar("autograd_gpu.tracing", default=None)
"""What is written down in this thread."""


class Trace:
    """The steps of one program, each written once however often it is computed.

    With `spread` a derivative is written down: sums have the shape of what they sum, as their
    gradients then have.
    """

    def __init__(
        self,
        kind: type[Symbol],
        shapes: Sequence[tuple[int, ...]],
        dtypes: Sequence[Any],
        spread: bool = False,
    ) -> None:
        self.kind, self.shapes, self.dtypes = kind, list(shapes), tuple(dtypes)
        self.spread = spread
        self.xp = load_backend("numpy").xp
        self.steps: list[Step] = []
        # one element of each value, from which the dtypes of results follow
        self.examples: list[Array] = [self.xp.ones((1,), dtype=dtype) for dtype in dtypes]
        # what a value is the sum of, or is computed of sums of
        self.summed: list[Summed | None] = [None] * len(dtypes)
        # the numbers among the values, which steps have as constants
        self.numbers: dict[int, Array] = {}
        self.known: dict[Any, int] = {}

    def inputs(self) -> list[Symbol]:
        """A new Symbol for each input."""
        return [self.kind(self, i) for i in range(len(self.dtypes))]

    def number(self, value: Any, dtype: Any = None) -> Symbol:
        """A number as an array without axes."""
        index = len(self.examples)
        self.numbers[index] = number = self.xp.asarray(value, dtype=dtype)
        self._append(Step("number", (), {}, number.dtype), number, (), None)
        return self.kind(self, index)

    def _append(
        self, step: Step, example: Array, shape: tuple[int, ...], summed: Summed | None
    ) -> None:
        self.examples.append(example.reshape(1))
        self.shapes.append(shape)
        self.summed.append(summed)
        self.steps.append(step)

    def record(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Symbol:
        """The Symbol of a function's result."""
        out = kwargs.pop("out", None)
        kwargs.pop("device", None)
        if name == "conj" and args[0].dtype.kind != "c":
            return args[0]  # type: ignore[no-any-return]
        if name == "astype":
            args, kwargs = self._astype(*args, **kwargs)
            if args[0].dtype == args[1]:
                return self.kind(self, args[0].index)
        else:
            function: Any = getattr(self.xp, name)
            inputs = 2 if name in _COMPILED else getattr(function, "nin", None) or len(args)
            if len(args) > inputs:  # the array into which the result is written
                (out,) = args[inputs:]
                args = args[:inputs]
        index = self._index(name, args, kwargs)
        if out is not None:
            out.index = index
            return out  # type: ignore[no-any-return]
        return self.kind(self, index)

    def _astype(self, x: Any, dtype: Any, copy: bool = True) -> tuple[tuple[Any, Any], Any]:
        return (x, self.xp.empty(0, dtype=dtype).dtype), {}

    def sum(self, x: Symbol, axis: Any, dtype: Any, keepdims: bool, mean: bool = False) -> Symbol:
        """The Symbol of a sum or mean over some axes, or all."""
        if self.summed[x.index] is not None:
            raise NotFusable("it sums what is a sum")
        shape, n = x.shape, x.ndim
        given = range(n) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        axes = tuple(sorted([range(n)[integer(i)] for i in given]))
        if len({*axes}) < len(axes) or any(isinstance(i, bool) for i in given):
            raise NotFusable("it sums over axes that there are not")
        count = prod([shape[i] for i in axes])
        if (n and not axes) or (mean and not count):
            raise NotFusable(f"it takes the {'mean' if mean else 'sum'} of nothing")
        example = self.examples[x.index]
        found = (self.xp.mean if mean else self.xp.sum)(example, dtype=dtype).dtype
        if mean and found.kind not in "fcV":
            raise NotFusable("it takes a mean in integers, which backends round in their own ways")
        # 16-bit types are added up in float32
        total = self.xp.empty(0, "float32").dtype if _is_half(found) else found
        y = self.kind(self, self._sum_index(Ref(x.index), Summed(shape, axes, keepdims), total))
        if mean:
            y = self.record("divide", (y, count), {})
        return y if found == y.dtype else self.record("astype", (y, found), {})

    def _sum_index(self, x: Ref, summed: Summed, total: Any) -> int:
        key = (SUM, x.index, summed, str(total))
        index = self.known.get(key)
        if index is None:
            index = self.known[key] = len(self.examples)
            example = self.xp.ones((1,), dtype=total)
            shape = summed.shape if self.spread else summed.result
            self._append(Step(SUM, (x,), {"of": summed}, total), example, shape, summed)
        return index

    def _index(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> int:
        made = tuple([self._argument(x) for x in args])
        key = (name, *map(_key, made), *[(k, _key(v)) for k, v in sorted(kwargs.items())])
        index = self.known.get(key)
        if index is None:
            values = [self.examples[x.index] if isinstance(x, Ref) else x for x in made]
            with self.xp.errstate(all="ignore"):
                example = self.xp.asarray(getattr(self.xp, name)(*values, **kwargs))
            if example.shape not in ((1,), ()):
                raise NotFusable(f"{name} changes the shape")
            read = [x.index for x in made if isinstance(x, Ref)]
            if not read:
                return self.number(example.reshape(())).index
            summed = self._summed(name, read)
            index = self.known[key] = len(self.examples)
            shape = joint([self.shapes[i] for i in read])
            self._append(Step(name, made, kwargs, example.dtype), example, shape, summed)
        return index

    def _summed(self, name: str, read: Sequence[int]) -> Summed | None:
        if self.spread and name in _CONSTANT:
            return None
        kinds = {self.summed[i] for i in read}
        if len(kinds) > 1:
            if None in kinds:
                raise NotFusable("it goes on to compute elements with a sum")
            raise NotFusable("its sums are over different axes, or not of one shape")
        return kinds.pop()

    def _argument(self, x: Any) -> Any:
        if isinstance(x, Symbol):
            if x.trace is not self:
                raise NotFusable("an array of another trace")
            number = self.numbers.get(x.index)
            return Ref(x.index) if number is None else number
        # without axes too: it may change, or have a gradient
        if type(x) in BACKENDS or getattr(x, "ndim", False):
            raise NotFusable("it uses an array that is no argument of the function")
        return x

    def program(self, outputs: Sequence[Symbol]) -> Program:
        """The steps that the outputs need."""
        n = len(self.dtypes)
        if any(y.index in self.numbers for y in outputs):
            raise NotFusable("it returns a number")
        needed: set[int] = set()
        stack = [self._argument(y).index for y in outputs]
        while stack:
            index = stack.pop()
            if index not in needed:
                needed.add(index)
                if index >= n:
                    args = self.steps[index - n].args
                    stack += [x.index for x in args if isinstance(x, Ref)]
        place = {i: i for i in range(n)}
        steps: list[Step] = []
        for i in sorted(needed - place.keys()):
            step = self.steps[i - n].moved(place)
            place[i] = n + len(steps)
            steps.append(step)
        return Program(self.dtypes, tuple(steps), tuple([Ref(place[y.index]) for y in outputs]))


def _is_half(dtype: Any) -> bool:
    return dtype.itemsize == 2 and dtype.kind in "fV"


def _key(x: Any) -> Any:
    return x.index if isinstance(x, Ref) else constant_key(x)
