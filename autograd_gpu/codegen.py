"""The source of an op and of its Node class, written once for each primitive.

What the source does is spelled out here and nowhere else: unwrap the operands and look up their
edges, compute, record, keep what the derivatives need; and for the Node, call the derivatives whose
inputs need a gradient.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

from autograd_gpu.tangents import Rule, tangent_source


@dataclass(frozen=True)
class Writer:
    """Writes the source of one op."""

    name: str
    forward: Callable[..., Any]
    statics: Mapping[str, inspect.Parameter]
    operands: tuple[str, ...]
    optional: frozenset[str]
    variadic: bool
    outputs: bool
    aux: bool
    wanted: Mapping[str, tuple[str, ...]]
    saved: tuple[str, ...]
    cast: str | None
    rules: Mapping[str, Rule]

    # The node ---------------------------------------------------------------------------------

    def method(self, name: str) -> list[str]:
        """The Node's `backward` or `tangent`, one of these `_recorded`, or `release`."""
        if name == "release":
            lines = ["def release(self):"]
            lines += [f"    self.s_{x} = None" for x in self.saved]
            return [*lines, "    self.shape = None"]
        recorded = name.endswith("_recorded")
        if name.startswith("tangent"):
            lines = tangent_source(self, recorded)
            return [f"def {name}(self, tangents):", *(f"    {line}" for line in lines)]
        lines = self.backward(recorded)
        return [f"def {name}(self, g, edges):", *(f"    {line}" for line in lines)]

    def backward(self, recorded: bool) -> list[str]:
        lines = []
        if self.outputs:
            if any("given" in names for names in self.wanted.values()):
                lines.append("given = [x is not None for x in g]")
            lines.append(f"xp, g = filled(g, self{', Variable' if recorded else ''})")
        elif recorded:
            lines.append("xp = NAMESPACES[Variable]")
        else:
            lines.append("xp = NAMESPACES[g.__class__]")
        if self.variadic:
            (operand,) = self.operands
            call = self.derivative(operand, recorded)
            return [*lines, "needs = [edge is not None for edge in edges]", f"return tuple({call})"]
        names = list(self.wanted)
        if len(names) == 1:
            return [*lines, f"return ({self.derivative(names[0], recorded)},)"]
        lines.append(f"{', '.join(f'e_{x}' for x in names)} = edges")
        if recorded:
            lines.append(f"{', '.join(f'n_{x}' for x in names)} = self.edges")
        lines.append("return (")
        for x in names:
            lines.append(f"    None if e_{x} is None else {self.derivative(x, recorded)},")
        return [*lines, ")"]

    def derivative(self, operand: str, recorded: bool) -> str:
        return self.call(f"d_{operand}", self.wanted[operand], recorded)

    def call(self, function: str, names: Sequence[str], recorded: bool) -> str:
        """A call of a derivative or a rule for tangents, with what it names."""
        arguments = []
        for x in names:
            if x in ("g", "given", "needs", "xp") or (
                x == "t" and function.startswith("tangent_rule")
            ):
                arguments.append(x)
            elif x == "y_shape":
                arguments.append("self.shape")
            elif recorded and x == "aux":
                arguments.append("None")
            elif recorded and x == "y":
                kind = "reconnected_outputs" if self.outputs else "reconnected"
                arguments.append(f"{kind}(self.s_y, self)")
            elif recorded and x in self.wanted and self.variadic:
                arguments.append(f"list(map(reconnected, self.s_{x}, self.edges))")
            elif recorded and x in self.wanted:
                node = "self.edges[0]" if len(self.wanted) == 1 else f"n_{x}"
                arguments.append(f"resumed(self.s_{x}, {node}, g)")
            elif recorded and x in self.operands and not self.variadic:
                arguments.append(f"resumed(self.s_{x}, None, g)")
            else:
                arguments.append(f"self.s_{x}")
        return f"{function}({', '.join(arguments)})"

    # The op -----------------------------------------------------------------------------------

    @functools.cached_property
    def direct(self) -> Direct | None:
        """The one call of the namespace that the forward is, or None."""
        return None if self.variadic else direct(self.forward, self.operands, [*self.statics])

    def op(self, function: str, foreign: str) -> list[str]:
        statics = "".join(
            f", {x}" if p.default is p.empty else f", {x}=default_{x}"
            for x, p in self.statics.items()
        )
        operands = ", ".join(f"{x}=None" if x in self.optional else x for x in self.operands)
        lines = [f"def {function}({operands}, /{statics}):"]
        lines += [f"    {line}" for line in self.casts()]
        lines += [f"    {line}" for line in self.unwrap(function, foreign)]
        raw = [f"r_{x}" for x in self.operands]
        passed = "".join(f", {x}={x}" for x in self.statics)
        star = "*" if self.variadic else ""
        call = f"forward(xp, {star}{', '.join(raw)}{passed})"
        plain = self.direct
        if plain is not None:
            call = plain.expression(raw)
        lines += [
            "    try:",
            f"        {'y, aux' if self.aux else 'y'} = {call}",
            "    except Exception as error:",
            f"        explain(error, {self.name!r}, {self.operands!r}, {self.values(raw)}, "
            f"{{{', '.join(f'{x!r}: {x}' for x in self.statics)}}})",
        ]
        lines += [f"    {line}" for line in self.record()]
        return lines

    def values(self, raw: list[str]) -> str:
        return raw[0] if self.variadic else f"({', '.join(raw)},)"

    def casts(self) -> list[str]:
        if self.cast is None:
            return []
        operands = f"{', '.join(self.operands)},"
        given = f"as_tuple({self.name!r}, {self.operands[0]})" if self.variadic else f"({operands})"
        into = self.operands[0] if self.variadic else operands
        return ["if casting.get() is not None:", f"    {into} = {self.cast}({given})"]

    def unwrap(self, function: str, foreign: str) -> list[str]:
        if self.variadic:
            (x,) = self.operands
            return [
                f"{x} = as_tuple({self.name!r}, {x})",
                f"r_{x} = [v.value if isinstance(v, Variable) else numeric({self.name!r}, v)"
                f" for v in {x}]",
                f"xp = ON_ONE_DEVICE.get(r_{x}[0].__class__)",
                f"if xp is None or len({{v.__class__ for v in r_{x}}}) > 1:",
                f"    xp, *r_{x} = unify({self.name!r}, *r_{x})",
                *self.go_there(function),
            ]
        # Edges are looked up in the same breath, since both need to know what is a Variable.
        lines = ["recorded = recording.get()"] if self.wanted else []
        for x in self.operands:
            # The first test alone would do, were it not for subclasses; it is the cheaper one.
            test = f"if {x}.__class__ is Variable or isinstance({x}, Variable):"
            lines += [test, f"    r_{x} = {x}.value"]
            if x in self.wanted:
                edge = f"({x}.grad_fn or gradient_edge({x})) if recorded else None"
                lines += [f"    e_{x} = {edge}"]
            raw = f"{x} if {x}.__class__ in NUMBERS else numeric({self.name!r}, {x})"
            lines += ["else:", f"    r_{x} = {raw}"]
            if x in self.wanted:
                lines += [f"    e_{x} = None"]
        first, *others = [x for x in self.operands if x not in self.optional]
        lines += [
            "try:",
            f"    xp = ON_ONE_DEVICE[r_{first}.__class__]",
            "except KeyError:",
            "    xp = None",
        ]
        tests = ["xp is None"]
        tests += [
            f"(r_{x}.__class__ is not r_{first}.__class__"
            f" and (r_{x}.__class__ not in NUMBERS or r_{first}.dtype.kind == 'V'))"
            for x in others
        ]
        tests += [
            f"(r_{x} is not None and r_{x}.__class__ is not r_{first}.__class__)"
            for x in self.operands
            if x in self.optional
        ]
        everything = ", ".join(f"r_{x}" for x in self.operands)
        lines += [
            f"if {' or '.join(tests)}:",
            "    try:",
            f"        xp, {everything} = unify({self.name!r}, {everything})",
            "    except ForeignOperand:",
            f"        {foreign}",
            *self.go_there(function),
        ]
        return lines

    def go_there(self, function: str) -> list[str]:
        """Where the operands live on another device than the current one: the call, made there."""
        given = ", ".join([*self.operands, *(f"{x}={x}" for x in self.statics)])
        return [
            "    if xp.__class__ is Elsewhere:",
            "        with xp:",
            f"            return {function}({given})",
        ]

    def record(self) -> list[str]:
        inputs = list(self.wanted)
        make = "make_results" if self.outputs else "make_result"
        if self.outputs:
            lines = ["y = as_outputs(xp, y)"]
        else:
            lines = ["if y.__class__ not in NAMESPACES:", "    y = xp.asarray(y)"]
        if not inputs:
            return [*lines, f"return {make}(y)"]
        if self.variadic:
            lines += [f"edges = edges_of({inputs[0]})", "if edges is None:"]
        else:
            lines.append(f"if {' and '.join(f'e_{x} is None' for x in inputs)}:")
        edges = "edges" if self.variadic else f"({', '.join(f'e_{x}' for x in inputs)},)"
        lines += [f"    return {make}(y)", "node = OpNode()", f"node.edges = {edges}"]
        for x in self.saved:
            users = self.users(x)
            if users:
                test = " or ".join(f"e_{u} is not None" for u in users)
                lines += [f"if {test}:", f"    node.s_{x} = {self.kept(x)}"]
            else:
                lines.append(f"node.s_{x} = {self.kept(x)}")
        return [*lines, f"return {make}(y, node)"]

    def users(self, x: str) -> list[str]:
        """The inputs whose gradients need `x`; none if it is kept without asking, which it is if
        all of them need it or it is cheap to keep."""
        users = [u for u in self.wanted if x in self.wanted[u]]
        asked = len(users) < len(self.wanted) and (x in self.operands or x == "y")
        return users if asked else []

    def kept(self, x: str) -> str:
        if x in self.statics or x in ("y", "aux"):
            return x
        if x in self.operands:
            if self.variadic:
                return f"[scalar(v, y) for v in r_{x}]"
            if len(self.operands) == 1:
                return f"r_{x}"
            if self.outputs:
                return f"scalar(r_{x}, y)"
            return f"r_{x} if r_{x}.__class__ is y.__class__ else scalar(r_{x}, y)"
        operand = x.removesuffix("_shape")
        if self.variadic:
            return f"[getattr(v, 'shape', ()) for v in r_{operand}]"
        if len(self.operands) == 1:
            return f"r_{operand}.shape"
        return f"getattr(r_{operand}, 'shape', ())"


@dataclass(frozen=True)
class Direct:
    """A forward that is no more than `return xp.f(a, b, 0, axis=axis)`."""

    function: str
    constants: tuple[int, ...] = ()
    statics: tuple[str, ...] = ()

    def expression(self, operands: Sequence[str]) -> str:
        named = [f"{x}={x}" for x in self.statics]
        return f"xp.{self.function}({', '.join([*operands, *map(repr, self.constants), *named])})"


def direct(
    forward: Callable[..., Any], operands: Sequence[str], statics: Sequence[str] = ()
) -> Direct | None:
    """What `forward` does, if it is that little: it need not be called itself then."""
    code = forward.__code__
    size = len(operands) + len(statics) + 1
    if code.co_freevars or len(code.co_varnames) != size or len(code.co_names) != 1:
        return None
    numbers = tuple(x for x in code.co_consts if type(x) is int)
    names = tuple(f"s{i}" for i in range(len(statics)))
    plain = _plain(len(operands), Direct("f", numbers, names))
    # Bytecode and constants, the docstring aside, are the same but for the names of parameters.
    constants = tuple(tuple(statics) if x == names else x for x in plain.co_consts[1:])
    if (plain.co_code, constants) != (code.co_code, code.co_consts[1:]):
        return None
    return Direct(code.co_names[0], numbers, tuple(statics))


@functools.cache
def _plain(count: int, call: Direct) -> CodeType:
    """A function with a docstring, `count` operands and no more than this call."""
    names = [f"x{i}" for i in range(count)]
    parameters = ", ".join(["xp", *names, *(["*"] if call.statics else []), *call.statics])
    scope: dict[str, Any] = {}
    exec(f"def f({parameters}):\n 'A docstring.'\n return {call.expression(names)}", scope)
    return scope["f"].__code__  # type: ignore[no-any-return]
