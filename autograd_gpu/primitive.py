"""A forward and its derivatives become a recorded op.

    @primitive(a=lambda xp, g, b: g * xp.conj(b), b=lambda xp, g, a: g * xp.conj(a))
    def multiply(xp, a, b):
        return xp.multiply(a, b)

The parameters of a derivative say what it needs, and nothing else is saved:

    g            the gradient of the output (a tuple for an op with several outputs)
    xp           the namespace of g: raw arrays, or Variables under create_graph
    a, b, ...    an operand; Python numbers arrive as 0-d values of the output's dtype
    y            the output (a tuple for several)
    a_shape      the shape of operand a
    axis, ...    a static parameter, the keyword-only ones of the forward
    needs        for `*operands`: which of them need a gradient
    given        for several outputs: which of them a gradient reached, the others having zeros in g
    aux          with `aux=True`: what the forward kept, in any form; None under create_graph, where
                 the derivative has to start from the operands

How tangents are carried forward follows from the derivatives by the word that `tangent` gives; see
`autograd_gpu.tangents`.

A derivative for `*operands` returns a sequence with one gradient for each.  Undoing a broadcast,
the input's dtype and dropping an imaginary part happen in the engine, never in a derivative.

As dataclasses do, a definition writes the source of its op and of its node once, so that a call
pays for nothing that is known then.
"""

from __future__ import annotations

import functools
import inspect
import linecache
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from autograd_gpu.backend import NAMESPACES, ON_ONE_DEVICE, Array
from autograd_gpu.codegen import Writer
from autograd_gpu.core import compiled
from autograd_gpu.graph import (
    Edges,
    FunctionNode,
    Gradient,
    edges_of,
    gradient_edge,
    make_result,
    make_results,
    reconnected,
)
from autograd_gpu.modes import recording
from autograd_gpu.operands import (
    NUMBERS,
    ForeignOperand,
    as_outputs,
    as_tuple,
    explain,
    filled,
    numeric,
    reconnected_outputs,
    resumed,
    scalar,
    unify,
)
from autograd_gpu.placement import Elsewhere
from autograd_gpu.precision import casting, narrowed, widened
from autograd_gpu.tangents import Rule, conjugated, ones_for, tangent_rules
from autograd_gpu.variable import Variable


@dataclass(frozen=True)
class Primitive:
    """What is known of an op: the table that tests and the reference page are made from."""

    name: str
    forward: Callable[..., Array]
    derivatives: Mapping[str, Callable[..., Any]]
    operands: tuple[str, ...]
    optional: frozenset[str]
    statics: Mapping[str, inspect.Parameter]
    variadic: bool
    outputs: bool
    saved: tuple[str, ...]
    op: Callable[..., Any]
    node_type: type[FunctionNode]
    writer: Writer
    scope: dict[str, Any]

    @functools.cached_property
    def operator(self) -> Callable[..., Any]:
        """The op as an operator has it: NotImplemented for operands of foreign types."""
        return compiled(self._operator, self.writer, self.node_type)

    @functools.cached_property
    def reflected(self) -> Callable[..., Any]:
        """The operator of the right operand, which comes first here, as in `__radd__`."""
        operator = self._operator

        def reflected(self: Variable, other: Any) -> Any:
            return operator(other, self)

        return compiled(reflected, self.writer, self.node_type, reflected=True)

    @functools.cached_property
    def _operator(self) -> Callable[..., Any]:
        source = self.writer.op("operator", foreign="return NotImplemented")
        operator = _executed("operator", f"<operator {self.name}>", source, self.scope)
        return _presented(operator, self.forward)


PRIMITIVES: dict[str, Primitive] = {}
PASSING = ("g", "given", "needs", "xp")
"""What a derivative gets that is no part of what was saved."""


def primitive(
    *,
    outputs: bool = False,
    aux: bool = False,
    cast: str | None = None,
    tangent: Rule | Mapping[str, Rule] | None = None,
    **derivatives: Callable[..., Any],
) -> Callable[[Callable[..., Any]], Callable[..., Variable]]:
    """Make an op of a forward; the keywords are the derivatives by operand.

    The forward takes `xp`, its operands as positional parameters (or `*operands`, for which the op
    takes one sequence), and static parameters as keyword-only ones, which the op takes by position
    too.  An operand with the default None is optional.  With `outputs=True` the forward returns a
    tuple; with `aux=True` the output and what the derivatives get as `aux`.  `cast` says what
    `autocast` does to operands: 'narrowed' to the half type or 'widened' to float32.  `tangent` is
    a word or a rule for forward mode, or a mapping with one for each operand.  A trailing
    underscore keeps the forward's name apart from a builtin.

    Raises TypeError at the definition if a derivative is for no operand or names something unknown.
    """

    def define(forward: Callable[..., Any]) -> Callable[..., Variable]:
        made = _define(forward, derivatives, outputs, aux, cast, tangent)
        if made.name in PRIMITIVES:
            raise TypeError(f"the op {made.name!r} is defined twice")
        PRIMITIVES[made.name] = made
        return made.op

    return define


def elementwise(
    **derivatives: Callable[..., Any],
) -> Callable[[Callable[..., Any]], Callable[..., Variable]]:
    """`primitive` for ops that treat every element by itself, broadcasting."""
    keywords: dict[str, Any] = {"tangent": "elementwise", **derivatives}
    return primitive(**keywords)


def _define(
    forward: Callable[..., Any],
    derivatives: Mapping[str, Callable[..., Any]],
    outputs: bool,
    aux: bool,
    cast: str | None,
    tangent: Rule | Mapping[str, Rule] | None,
) -> Primitive:
    name = forward.__name__.rstrip("_")
    parameters = list(inspect.signature(forward).parameters.values())[1:]
    statics = {p.name: p for p in parameters if p.kind is p.KEYWORD_ONLY}
    operands = tuple(p.name for p in parameters if p.kind is not p.KEYWORD_ONLY)
    optional = frozenset(p.name for p in parameters if p.default is None) - statics.keys()
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    known = {"g", "xp", "y", *statics, *operands, *(f"{x}_shape" for x in operands)}
    if variadic:
        known.add("needs")
    if outputs:
        known.add("given")
    if aux:
        known.add("aux")
    wanted: dict[str, tuple[str, ...]] = {}
    for operand, derivative in derivatives.items():
        if operand not in operands:
            raise TypeError(f"op {name!r}: a derivative for {operand!r}, which is no operand")
        wanted[operand] = _parameters(derivative)
        unknown = [x for x in wanted[operand] if x not in known]
        if unknown:
            raise TypeError(f"op {name!r}: the derivative for {operand!r} names unknown {unknown}")
    wanted = {x: wanted[x] for x in operands if x in wanted}  # as a node's edges
    kept = [x for names in wanted.values() for x in names if x not in PASSING]
    saved = tuple(dict.fromkeys(kept))
    rules = tangent_rules(
        name, tangent, wanted, statics, [x for x in operands if x not in optional]
    )
    writer = Writer(
        name, forward, statics, operands, optional, variadic, outputs, aux, wanted, saved, cast,
        rules,
    )  # fmt: skip
    scope: dict[str, Any] = {
        "__name__": __name__,
        "Elsewhere": Elsewhere,
        "ForeignOperand": ForeignOperand,
        "NAMESPACES": NAMESPACES,
        "NUMBERS": NUMBERS,
        "ON_ONE_DEVICE": ON_ONE_DEVICE,
        "Variable": Variable,
        "as_tuple": as_tuple,
        "as_outputs": as_outputs,
        "casting": casting,
        "conjugated": conjugated,
        "edges_of": edges_of,
        "explain": explain,
        "filled": filled,
        "forward": forward,
        "gradient_edge": gradient_edge,
        "make_result": make_result,
        "make_results": make_results,
        "ones_for": ones_for,
        "narrowed": narrowed,
        "numeric": numeric,
        "reconnected": reconnected,
        "reconnected_outputs": reconnected_outputs,
        "recording": recording,
        "resumed": resumed,
        "scalar": scalar,
        "unify": unify,
        "widened": widened,
        **{f"d_{x}": derivative for x, derivative in derivatives.items()},
        **{f"tangent_rule_{x}": rule for x, rule in rules.items()},
        **{f"default_{x}": p.default for x, p in statics.items()},
    }
    slots = {"__slots__": tuple(f"s_{x}" for x in saved), "label": name, "__module__": __name__}
    node_type = type(f"{name}_node", (OpNode,), {**slots, "writer": writer, "scope": scope})
    scope["OpNode"] = node_type
    op = _executed("op", f"<op {name}>", writer.op("op", foreign="raise"), scope)
    return Primitive(
        name, forward, dict(derivatives), operands, optional, statics, variadic, outputs,
        saved, compiled(_presented(op, forward), writer, node_type), node_type, writer, scope,
    )  # fmt: skip


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of its parameters, of which a signature is made in ten times the time."""
    code = getattr(function, "__code__", None)
    if code is None or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        return tuple(inspect.signature(function).parameters)
    return tuple(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


class OpNode(FunctionNode):
    """The Node of a primitive.

    A subclass for each primitive has slots for what it saves.  Its methods are written when they
    are first called: most programs differentiate few of the ops, and hardly any of them twice.
    """

    __slots__ = ()

    writer: ClassVar[Writer]
    scope: ClassVar[dict[str, Any]]

    def backward(self, g: Gradient, edges: Edges) -> tuple[Gradient, ...]:
        return self._written("backward")(self, g, edges)  # type: ignore[no-any-return]

    def backward_recorded(self, g: Gradient, edges: Edges) -> tuple[Gradient, ...]:
        return self._written("backward_recorded")(self, g, edges)  # type: ignore[no-any-return]

    def tangent(self, tangents: Sequence[Gradient]) -> Gradient:
        return self._written("tangent")(self, tangents)

    def tangent_recorded(self, tangents: Sequence[Gradient]) -> Gradient:
        return self._written("tangent_recorded")(self, tangents)

    def release(self) -> None:
        self._written("release")(self)

    @classmethod
    def _written(cls, name: str) -> Any:
        """The method of this name, which takes the place of the one that asked for it."""
        method = _executed(name, f"<{name} of {cls.label}>", cls.writer.method(name), cls.scope)
        setattr(cls, name, method)
        return method


def _executed(what: str, filename: str, lines: list[str], scope: dict[str, Any]) -> Any:
    """Define `what` by its source, which tracebacks and debuggers find under `filename`."""
    source = "\n".join(lines)
    exec(compile(source, filename, "exec"), scope)
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    return scope[what]


def _presented(function: Any, forward: Callable[..., Any]) -> Callable[..., Any]:
    """The written function under the name and with the docstring of its forward."""
    function.__name__ = function.__qualname__ = forward.__name__.rstrip("_")
    function.__doc__ = forward.__doc__
    function.__module__ = forward.__module__
    return cast("Callable[..., Any]", function)
