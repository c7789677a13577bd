"""How a primitive maps tangents of its operands to the tangent of its result: forward mode.

A primitive says in one word how its derivatives, which are for the reverse mode, tell this too:

    elementwise  The Jacobian is its own transpose, as that of an elementwise op is and that of
                 softmax.  The derivative is applied to the tangent, between two conjugations.
    linear       The forward, applied to the tangent in place of the operand, beside the other
                 operands as they are.
    reduction    The derivative of ones says how much each element counts: a weighted sum.

or it has a rule `f(xp, t, ...)`, which may name `y_shape`, the shape of the result, and what the
derivative for the same operand names.  So nothing is saved for it.  A primitive that says nothing
of this kind gets its tangents by two reverse passes through itself (`autograd_gpu.forward`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from autograd_gpu.backend import BACKENDS
from autograd_gpu.variable import Variable

if TYPE_CHECKING:
    from autograd_gpu.codegen import Writer
    from autograd_gpu.graph import Node

Rule: TypeAlias = str | Callable[..., Any]
WORDS = ("elementwise", "linear", "reduction")


def tangent_rules(
    name: str,
    given: Rule | Mapping[str, Rule] | None,
    wanted: Mapping[str, tuple[str, ...]],
    statics: Mapping[str, inspect.Parameter],
    required: Sequence[str],
) -> dict[str, Rule]:
    """The rule for each differentiable operand; TypeError for one that cannot work.

    `required` are the operands that the forward must have.
    """
    if given is None:
        return {}
    rules = dict(given) if isinstance(given, Mapping) else dict.fromkeys(wanted, given)
    if rules.keys() != wanted.keys():
        raise TypeError(f"op {name!r}: tangents are for {[*rules]}, derivatives for {[*wanted]}")
    for operand, rule in rules.items():
        if callable(rule):
            known = {"xp", "t", "y_shape", *wanted[operand]} - {"g", "needs"}
            unknown = [x for x in inspect.signature(rule).parameters if x not in known]
            if unknown:
                raise TypeError(
                    f"op {name!r}: the tangent rule for {operand!r} names {unknown}, which its "
                    f"derivative does not"
                )
        elif rule not in WORDS:
            raise TypeError(f"op {name!r}: {rule!r} is no rule for tangents; {WORDS} are")
        elif rule == "linear":
            needed = [*required, *(x for x, p in statics.items() if p.default is p.empty)]
            lost = [x for x in needed if x not in (operand, *wanted[operand])]
            if lost:
                raise TypeError(
                    f"op {name!r}: its tangent needs {lost}, which the derivative for {operand!r} "
                    f"does not name; give a rule"
                )
    return rules


def tangent_source(writer: Writer, recorded: bool) -> list[str]:
    """The body of a Node's `tangent(self, tangents)`."""
    if not writer.rules:
        return ["return NotImplemented"]
    if writer.variadic:
        names = inspect.signature(next(iter(writer.rules.values()))).parameters  # type: ignore[arg-type]
        return [
            "t = tangents",
            "xp = NAMESPACES[next(x for x in t if x is not None).__class__]",
            f"return {writer.call('tangent_rule_' + writer.operands[0], list(names), recorded)}",
        ]
    operands = list(writer.wanted)
    lines = [f"{', '.join(f't_{x}' for x in operands)}, = tangents"]
    if recorded:
        lines.append(f"{', '.join(f'n_{x}' for x in operands)}, = self.edges")
    lines.append("total = None")
    for x in operands:
        lines += [
            f"if t_{x} is not None:",
            f"    g = t = t_{x}",
            "    xp = NAMESPACES[t.__class__]",
            *[f"    {line}" for line in _one(writer, x, recorded)],
            "    total = y if total is None else total + y",
        ]
    return [*lines, "return total"]


def _one(writer: Writer, operand: str, recorded: bool) -> list[str]:
    """`y`, what the tangent `t` of one operand adds to that of the result."""
    rule = writer.rules[operand]
    if callable(rule):
        names = list(inspect.signature(rule).parameters)
        return [f"y = {writer.call('tangent_rule_' + operand, names, recorded)}"]
    derivative = writer.derivative(operand, recorded)
    if rule == "elementwise":
        return [
            "if t.shape != self.shape:",
            "    t = xp.broadcast_to(t, self.shape)",
            "g = conjugated(xp, t)",
            f"y = conjugated(xp, {derivative})",
        ]
    if rule == "reduction":
        return [
            "g = ones_for(self, t)",
            "xp, along = NAMESPACES[g.__class__], xp",
            f"w = {derivative}",
            "y = along.sum(conjugated(xp, w) * t, axis=self.s_axis, keepdims=self.s_keepdims)",
        ]
    arguments = [
        "t"
        if x == operand
        else writer.call("", (x,), recorded)[1:-1]
        if x in writer.wanted[operand]
        else "None"
        for x in writer.operands
    ]
    arguments += [f"{x}=self.s_{x}" for x in writer.statics if x in writer.saved]
    called = "op(" if recorded else "forward(xp, "
    return [f"y = {called}{', '.join(arguments)})"]


def conjugated(xp: Any, x: Any) -> Any:
    """The complex conjugate; real arrays and Variables as they are."""
    return xp.conj(x) if x.dtype.kind == "c" else x


def ones_for(node: Node, t: Any) -> Any:
    """Ones in place of the gradient of `node`, beside a tangent `t` of an operand."""
    raw = t.value if isinstance(t, Variable) else t
    ones = BACKENDS[type(raw)].xp.ones(node.shape, dtype=node.dtype)
    return Variable(ones) if isinstance(t, Variable) else ones
