"""A tape becomes a Python function: calls by bound names, into memory that is laid out once."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from sys import getrefcount
from typing import Any
from weakref import ref

import numpy as np

from autograd_gpu.backends.numpy_analysis import Analysis, like, values_in
from autograd_gpu.backends.numpy_copies import Copies
from autograd_gpu.backends.numpy_functions import number_arrays
from autograd_gpu.backends.numpy_guards import Guards, Leaf
from autograd_gpu.backends.numpy_memory import (
    POOLED,
    Kept,
    array_at,
    is_in_c_order,
    lay_out,
    size_of,
)
from autograd_gpu.backends.numpy_pruning import pruned
from autograd_gpu.backends.numpy_tape import Tape
from autograd_gpu.backends.numpy_values import OUT, Argument, HostNumber, Into, Step, Value

Array = np.ndarray[Any, Any]

LARGE = 1 << 16
"""Bytes from which on a result's name is cleared when it is dead."""

# What getrefcount says of an array that only a Variable's slot holds.
_ALONE = 2

_IN_PLACE = {
    operator.iadd: np.add,
    operator.isub: np.subtract,
    operator.imul: np.multiply,
    operator.itruediv: np.true_divide,
}


class Program:
    """The function `run(given)` of a tape, which returns the step's outputs.

    A name in its code is either bound once, to an array of memory that stays where it is, or, for
    what depends on the arguments or is handed out, a local variable.
    """

    def __init__(
        self,
        tape: Tape,
        outputs: Sequence[Value],
        guards: Sequence[tuple[Callable[[], Any], Any]],
        empty: Sequence[tuple[Any, str]],
        leaves: Iterable[Leaf],
        is_variable: Sequence[bool],
        lasting: set[int],
    ) -> None:
        self.tape, self.outputs = tape, outputs
        self.steps = pruned(tape.steps, outputs)
        self.facts = Analysis(self.steps, tape.slots, outputs, lasting)
        copies = Copies(self.facts)
        self.dropped = copies.dropped | self.facts.folded
        self.memory, self.places = lay_out(self.facts, copies)
        self.scope: dict[str, Any] = {"getrefcount": getrefcount, "pooled": POOLED}
        self.kept = set(map(id, self._gradients()))
        self.names: dict[Any, str] = {}
        self.linked: list[Value] = []
        """Views of Variables' arrays, which are made anew where a Variable gets another array."""
        lines = [f"{self._name(guard)}() != {self._name(x)}" for guard, x in guards]
        lines += [f"{self._slot(variable, slot)} is not None" for variable, slot in empty]
        code = [f"if {line}:\n        return None" for line in lines]
        self.fixed = [root for root in tape.slots if self._is_static(root)]
        holders = [root.content[0] for root in self.fixed]
        self.guards = Guards(leaves, holders, self._link_slots, self._name)
        code += self.guards.lines()
        code += self._slots()
        for i, variable in enumerate(is_variable):
            code.append(f"i{i} = given[{i}]{'.value' if variable else ''}")
        harmless, rest = self._body()
        if harmless:  # an error is left to an eager run, which raises it by its own name
            code += ["try:", *[f"    {line}".replace("\n", "\n    ") for line in harmless]]
            code.append("except Exception:\n        return None")
        code += rest
        code.append(f"return [{', '.join(self._expression(y) for y in outputs)}]")
        self.source = "\n    ".join(["def run(given):", *code])
        exec(compile(self.source, "<compiled step>", "exec"), self.scope)
        self.run: Callable[[Sequence[Any]], list[Any] | None] = self.scope["run"]

    def _gradients(self) -> Iterator[Value]:
        """Large results that become gradients: mostly they are forgotten before the next ones."""
        for step in self.steps:
            if step.how == "set" and step.args[1] == "grad" and isinstance(step.args[2], Value):
                value = step.args[2]
                if value.root is value and size_of(value) >= LARGE and is_in_c_order(value):
                    yield value

    # Names -------------------------------------------------------------------------------------

    def _name(self, x: Any, prefix: str = "c") -> str:
        """A name for an object."""
        key = id(x)
        name = self.names.get(key)
        if name is None:
            name = self.names[key] = f"{prefix}{len(self.names)}"
            self.scope[name] = x
        return name

    def _variable(self, variable: Any) -> str:
        if isinstance(variable, Argument):
            return f"given[{variable.place}]"
        return self._name(variable, "v")

    def _slot(self, variable: Any, slot: str) -> str:
        return f"{self._variable(variable)}.{slot}"

    def _value(self, value: Value) -> str:
        """The name of an array."""
        name = self.names.get(id(value))
        if name is None:
            if value.kind == "given":
                return f"i{value.content}"
            name = self.names[id(value)] = f"t{len(self.names)}"
            if self._is_static(value) and value.root.kind == "slot":
                self.linked.append(value)
            elif self._is_static(value):
                self.scope[name] = self._array(value)
        return name

    def _is_static(self, value: Value) -> bool:
        return id(value.root) not in self.facts.local

    def _expression(self, x: Any) -> str:
        """Source for an argument."""
        if isinstance(x, Value):
            return self._value(x)
        if isinstance(x, HostNumber):
            return f"n{x.reader}_{x.place}"
        if x is None or type(x) in (bool, int):
            return repr(x)
        if type(x) is tuple:
            return f"({''.join(self._expression(item) + ', ' for item in x)})"
        if type(x) is list:
            return f"[{', '.join(self._expression(item) for item in x)}]"
        if type(x) is slice:
            parts = [self._expression(part) for part in (x.start, x.stop, x.step)]
            return f"slice({', '.join(parts)})"
        if type(x) in (float, str):
            return repr(x) if _is_literal(x) else self._name(x)
        return self._name(x)

    # Code --------------------------------------------------------------------------------------

    def _slots(self) -> Iterator[str]:
        """What Variables have to hold besides for this program to be the right one."""
        for root in self.tape.slots:
            place = self._slot(*root.content)
            if not self._is_static(root):
                name = self._value(root)
                yield f"{name} = {place}"
                kind, layout = self._name(np.ndarray), self._name(root.layout)
                same = f"({name}.shape, {name}.strides, {name}.dtype) == {layout}"
                yield f"if {name}.__class__ is not {kind} or not {same}:\n        return None"
            if id(root) in self.facts.written:  # an eager step would write into a copy
                alone = _ALONE if self._is_static(root) else _ALONE + 1
                yield (
                    f"if getrefcount({place}) - (id({place}) in pooled) != {alone} "
                    f"or {place}.base is not None:\n"
                    f"        return None"
                )

    def _body(self) -> tuple[list[str], list[str]]:
        """The lines up to the first that anybody else could see the effect of, and the others."""
        lines: list[str] = []
        seen_from: int | None = None
        read = {(id(root.content[0]), root.content[1]) for root in self.tape.slots}
        for step, line in self._lines():
            if seen_from is None and step is not None and _is_seen(step, read):
                seen_from = len(lines)
            lines.append(line)
        return lines[:seen_from], lines[len(lines) if seen_from is None else seen_from :]

    def _lines(self) -> Iterator[tuple[Step | None, str]]:
        """Each line with the step that it is of."""
        facts = self.facts
        for key in facts.local:
            root = facts.roots[key]
            if root.kind == "array":
                lasting = key in facts.lasting
                content = root.content if lasting else self.tape.before[id(root.content)]
                copied = "" if lasting else ".copy('K')"
                yield None, f"{self._value(root)} = {self._name(content)}{copied}"
        wanted: dict[int, list[Value]] = {}
        for key in facts.local & facts.life.keys():
            if facts.roots[key].kind == "empty":
                wanted.setdefault(facts.life[key][0], []).append(facts.roots[key])
        handed = {id(y.root) for y in self.outputs}
        dying: dict[int, list[str]] = {}
        for number, step in enumerate(self.steps):
            if number in self.dropped:
                continue
            for root in wanted.get(number, ()):
                yield None, f"{self._value(root)} = {self._name(partial(like, root))}()"
            line = self._line(step)
            if line is not None:
                yield step, line
            for value in values_in(step.result):
                key = id(value.root)
                if key in facts.local and key not in handed and size_of(value) >= LARGE:
                    dying.setdefault(facts.life[key][1], []).append(self._value(value))
            if number in dying:
                yield None, f"{' = '.join(dying.pop(number))} = None"

    def _line(self, step: Step) -> str | None:
        how = step.how
        if how == "view" and self._is_static(step.result):
            return None
        if how == "into":
            if self._is_static(step.result):
                return self._into(step)
            if id(step.result) in self.kept:
                take = self._name(Kept(step.result).take)
                return f"{self._value(step.result)} = {take}()\n    {self._into(step)}"
            how = "made"
        if how in ("view", "made"):
            return self._bound(step)
        if how == "effect":
            ufunc = _IN_PLACE.get(step.function)
            if ufunc is not None:
                x, other = self._operands(ufunc, step.args)
                return f"{self._name(ufunc)}({x}, {other}, {x})"
            return self._call(step.function, step.args, step.kwargs)
        if how == "set":
            variable, slot, value = step.args
            return f"{self._slot(variable, slot)} = {self._expression(value)}"
        if how == "late":
            return f"{self._value(step.result)} = {self._slot(*step.args)}"
        if how == "numbers":
            reader, count = step.args
            names = ", ".join(f"n{reader}_{i}" for i in range(count))
            return f"{names}, = {self._name(step.function)}()"
        change, variable, args = step.args
        passed = ", ".join([self._variable(variable), *map(self._name, args)])
        return f"{self._name(change)}({passed})"

    def _into(self, step: Step) -> str:
        assert isinstance(step.into, Into)
        function, args, kwargs = step.into
        if function is np.matmul and not kwargs and is_plain_product(*args[:2]):
            function = np.dot
        if isinstance(function, np.ufunc):
            count = function.nin
            parts = self._operands(function, args[:count])
            parts += [self._value(step.result) for x in args[count:]]
            keywords = self._keywords(kwargs, step.result)
            return f"{self._name(function)}({', '.join([*parts, *keywords])})"
        return self._call(function, args, kwargs, step.result)

    def _operands(self, ufunc: np.ufunc, args: tuple[Any, ...]) -> list[str]:
        """Arguments of a ufunc, with arrays for Python's numbers, which take it longer."""
        kinds = [x.dtype if isinstance(x, Value) else type(x) for x in args]
        parts = [self._expression(x) for x in args]
        for i, array in number_arrays(ufunc, kinds, args).items():
            parts[i] = self._constant(array)
        return parts

    def _constant(self, array: Array) -> str:
        key = (array.dtype, array.tobytes())
        name = self.names.get(key)
        if name is None:
            name = self.names[key] = f"c{len(self.names)}"
            self.scope[name] = array
        return name

    def _keywords(self, kwargs: dict[str, Any], out: Value | None = None) -> list[str]:
        return [
            f"{k}={self._value(out) if x is OUT and out is not None else self._expression(x)}"
            for k, x in kwargs.items()
        ]

    def _call(
        self,
        function: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        out: Value | None = None,
    ) -> str:
        parts = [
            self._value(out) if x is OUT and out is not None else self._expression(x) for x in args
        ]
        parts += self._keywords(kwargs, out)
        return f"{self._name(function)}({', '.join(parts)})"

    def _bound(self, step: Step) -> str:
        """A call, and names for what it returns."""
        function = step.function
        if function in (np.matmul, operator.matmul) and is_plain_product(*step.args):
            function = np.dot
        call = self._call(function, step.args, step.kwargs)
        result = step.result
        if isinstance(result, Value):
            return f"{self._value(result)} = {call}"
        if result is None:
            return call
        return f"{self._targets(result)} = {call}"

    def _targets(self, result: Any) -> str:
        if isinstance(result, Value):
            return self._value(result)
        if result is None:
            return "_"
        return f"({''.join(self._targets(item) + ', ' for item in result)})"

    # Memory ------------------------------------------------------------------------------------

    def _array(self, value: Value) -> Array:
        """A static array."""
        root = value.root
        constant = self.facts.constants.get(id(value))
        if constant is not None:
            return constant
        if value.kind == "array":
            return value.content  # type: ignore[no-any-return]
        if root.kind == "array":
            return array_at(root.pointer + value.offset, value, root.content)
        return array_at(self.places[id(root)] + value.offset, value, self.memory)

    def _link_slots(self) -> bool:
        """Use what Variables hold now in place of what they held; False where it has another
        layout."""
        for i, root in enumerate(self.fixed):
            variable, slot = root.content
            array = getattr(variable, slot)
            if (
                type(array) is not np.ndarray
                or (array.shape, array.strides, array.dtype) != root.layout
            ):
                return False
            self.guards.references[i] = ref(array)
            self.places[id(root)] = array.ctypes.data
        for value in self.linked:
            if value.root.kind == "slot":
                place = self.places[id(value.root)] + value.offset
                self.scope[self.names[id(value)]] = array_at(place, value, None)
        return True


def is_plain_product(a: Any, b: Any) -> bool:
    """Whether `np.dot` and `np.matmul` hand two matrices to the same function of BLAS, which the
    first does in half the time."""
    if not isinstance(a, Value) or not isinstance(b, Value) or a.root is b.root:
        return False
    return a.dtype == b.dtype and a.dtype.char in "fd" and all(_is_matrix(x) for x in (a, b))


def _is_matrix(x: Value) -> bool:
    if len(x.shape) != 2 or min(x.shape) < 2:  # products with vectors take other ways
        return False
    (m, n), width = x.shape, x.dtype.itemsize
    return x.strides in ((n * width, width), (width, m * width))


def _is_seen(step: Step, read: set[tuple[int, str]]) -> bool:
    """Whether a step does what an eager run that begins anew would not find undone.

    `read` are the slots that the tape begins with.  To forget a gradient that it does not read is
    no such thing.
    """
    if step.how == "set":
        variable, slot, value = step.args
        return slot != "grad" or value is not None or (id(variable), slot) in read
    if step.how == "effect":
        return any(root.kind in ("array", "given", "late", "slot") for root in step.writes)
    return step.how in ("numbers", "update")


def _is_literal(x: Any) -> bool:
    """Whether `repr` of a float or string is its source."""
    return isinstance(x, str) or x - x == 0
