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
    aux          with `aux=True`: what the forward kept, in any form; None under create_graph, where
                 the derivative has to start from the operands

A derivative for `*operands` returns a sequence with one gradient for each.  Undoing a broadcast,
the input's dtype and dropping an imaginary part happen in the engine, never in a derivative.

As dataclasses do, a definition writes the source of its op and of its node once, so that a call
pays for nothing that is known then.
"""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from autograd_gpu.backend import (
    BACKENDS,
    NAMESPACES,
    Array,
    Namespace,
    backend_mismatch,
    current_backend,
    find_backend,
)
from autograd_gpu.graph import (
    FunctionNode,
    edges_of,
    gradient_edge,
    make_result,
    make_results,
    reconnected,
    selected,
)
from autograd_gpu.modes import recording
from autograd_gpu.variable import Variable, from_python

SCALARS = (bool, int, float, complex)
NUMBERS = frozenset(SCALARS)


class ForeignOperand(TypeError):
    """An operand of a type that this library knows nothing of."""


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
    operator: Callable[..., Any]
    node_type: type[FunctionNode]


PRIMITIVES: dict[str, Primitive] = {}


def primitive(
    *, outputs: bool = False, aux: bool = False, **derivatives: Callable[..., Any]
) -> Callable[[Callable[..., Any]], Callable[..., Variable]]:
    """Make an op of a forward; the keywords are the derivatives by operand.

    The forward takes `xp`, its operands as positional parameters (or `*operands`, for which the op
    takes one sequence), and static parameters as keyword-only ones, which the op takes by position
    too.  An operand with the default None is optional.  With `outputs=True` the forward returns a
    tuple; with `aux=True` the output and what the derivatives get as `aux`.  A trailing underscore
    keeps the forward's name apart from a builtin.

    Raises TypeError at the definition if a derivative is for no operand or names something unknown.
    """

    def define(forward: Callable[..., Any]) -> Callable[..., Variable]:
        made = _define(forward, derivatives, outputs, aux)
        if made.name in PRIMITIVES:
            raise TypeError(f"the op {made.name!r} is defined twice")
        PRIMITIVES[made.name] = made
        return made.op

    return define


def _define(
    forward: Callable[..., Any],
    derivatives: Mapping[str, Callable[..., Any]],
    outputs: bool,
    aux: bool,
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
    if aux:
        known.add("aux")
    wanted: dict[str, tuple[str, ...]] = {}
    for operand, derivative in derivatives.items():
        if operand not in operands:
            raise TypeError(f"op {name!r}: a derivative for {operand!r}, which is no operand")
        wanted[operand] = tuple(inspect.signature(derivative).parameters)
        unknown = [x for x in wanted[operand] if x not in known]
        if unknown:
            raise TypeError(f"op {name!r}: the derivative for {operand!r} names unknown {unknown}")
    kept = [x for names in wanted.values() for x in names if x not in ("g", "xp", "needs")]
    saved = tuple(dict.fromkeys(kept))
    writer = _Writer(
        name, forward, statics, operands, optional, variadic, outputs, aux, wanted, saved
    )
    scope: dict[str, Any] = {
        "__name__": __name__,
        "FunctionNode": FunctionNode,
        "ForeignOperand": ForeignOperand,
        "NAMESPACES": NAMESPACES,
        "NUMBERS": NUMBERS,
        "Variable": Variable,
        "as_tuple": _as_tuple,
        "as_outputs": _as_outputs,
        "edges_of": edges_of,
        "explain": explain,
        "filled": _filled,
        "forward": forward,
        "gradient_edge": gradient_edge,
        "make_result": make_result,
        "make_results": make_results,
        "reconnected": reconnected,
        "reconnected_outputs": _reconnected_outputs,
        "recording": recording,
        "scalar": _scalar,
        "unify": unify,
        **{f"d_{x}": derivative for x, derivative in derivatives.items()},
        **{f"default_{x}": p.default for x, p in statics.items()},
    }
    source = writer.source()
    filename = f"<op {name}>"
    exec(compile(source, filename, "exec"), scope)
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    op, operator = scope["op"], scope["operator"]
    for function in (op, operator):
        function.__name__ = function.__qualname__ = name
        function.__doc__ = forward.__doc__
        function.__module__ = forward.__module__
    node_type = scope["OpNode"]
    node_type.__name__ = node_type.__qualname__ = f"{name}_node"
    return Primitive(
        name, forward, dict(derivatives), operands, optional, statics, variadic, outputs,
        saved, op, operator, node_type,
    )  # fmt: skip


@dataclass(frozen=True)
class _Writer:
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

    def source(self) -> str:
        return "\n".join(
            [
                *self.node(),
                *self.op("op", foreign="raise"),
                *self.op("operator", foreign="return NotImplemented"),
            ]
        )

    # The node ---------------------------------------------------------------------------------

    def node(self) -> list[str]:
        slots = "".join(f"'s_{x}', " for x in self.saved)
        lines = ["class OpNode(FunctionNode):", f"    __slots__ = ({slots})"]
        lines.append(f"    label = {self.name!r}")
        # Without derivatives nothing is recorded, and there is nothing to run.
        for method in ("backward", "backward_recorded") if self.wanted else ():
            lines += ["", f"    def {method}(self, g, edges):"]
            lines += [f"        {line}" for line in self.backward(method == "backward_recorded")]
        lines += ["", "    def release(self):"]
        lines += [f"        self.s_{x} = None" for x in self.saved]
        lines += ["        self.shape = None"]
        return lines

    def backward(self, recorded: bool) -> list[str]:
        lines = []
        if self.outputs:
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
        if not names:  # not differentiable, so no node is ever made
            return ["return ()"]
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
        arguments = []
        for x in self.wanted[operand]:
            if x in ("g", "xp", "needs"):
                arguments.append(x)
            elif recorded and x == "aux":
                arguments.append("None")
            elif recorded and x == "y":
                kind = "reconnected_outputs" if self.outputs else "reconnected"
                arguments.append(f"{kind}(self.s_y, self)")
            elif recorded and x in self.wanted and self.variadic:
                arguments.append(f"list(map(reconnected, self.s_{x}, self.edges))")
            elif recorded and x in self.wanted:
                node = "self.edges[0]" if len(self.wanted) == 1 else f"n_{x}"
                arguments.append(f"reconnected(self.s_{x}, {node})")
            else:
                arguments.append(f"self.s_{x}")
        return f"d_{operand}({', '.join(arguments)})"

    # The op -----------------------------------------------------------------------------------

    def op(self, function: str, foreign: str) -> list[str]:
        statics = "".join(
            f", {x}" if p.default is p.empty else f", {x}=default_{x}"
            for x, p in self.statics.items()
        )
        operands = ", ".join(f"{x}=None" if x in self.optional else x for x in self.operands)
        lines = [f"def {function}({operands}, /{statics}):"]
        lines += [f"    {line}" for line in self.unwrap(foreign)]
        raw = [f"r_{x}" for x in self.operands]
        passed = "".join(f", {x}={x}" for x in self.statics)
        star = "*" if self.variadic else ""
        call = f"forward(xp, {star}{', '.join(raw)}{passed})"
        direct = _direct_call(self.forward, self.operands)
        if direct is not None:
            call = f"xp.{direct}({', '.join(raw)})"
        lines += [
            "    try:",
            f"        {'y, aux' if self.aux else 'y'} = {call}",
            "    except Exception as error:",
            f"        explain(error, {self.name!r}, {self.operands!r}, {self.values(raw)}, "
            f"{{{', '.join(f'{x!r}: {x}' for x in self.statics)}}})",
        ]
        lines += [f"    {line}" for line in self.record()]
        return ["", *lines]

    def values(self, raw: list[str]) -> str:
        return raw[0] if self.variadic else f"({', '.join(raw)},)"

    def unwrap(self, foreign: str) -> list[str]:
        if self.variadic:
            (x,) = self.operands
            return [
                f"{x} = as_tuple({self.name!r}, {x})",
                f"xp, *r_{x} = unify({self.name!r}, *[v.value if isinstance(v, Variable) else v "
                f"for v in {x}])",
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
            lines += ["else:", f"    r_{x} = {x}"]
            if x in self.wanted:
                lines += [f"    e_{x} = None"]
        first, *others = [x for x in self.operands if x not in self.optional]
        lines += [
            "try:",
            f"    xp = NAMESPACES[r_{first}.__class__]",
            "except KeyError:",
            "    xp = None",
        ]
        tests = ["xp is None"]
        tests += [
            f"(r_{x}.__class__ is not r_{first}.__class__ and r_{x}.__class__ not in NUMBERS)"
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
        ]
        return lines

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
            users = [u for u in inputs if x in self.wanted[u]]
            # What is cheap to keep is kept without asking who needs it.
            if len(users) < len(inputs) and (x in self.operands or x == "y"):
                test = " or ".join(f"e_{u} is not None" for u in users)
                lines += [f"if {test}:", f"    node.s_{x} = {self.kept(x)}"]
            else:
                lines.append(f"node.s_{x} = {self.kept(x)}")
        return [*lines, f"return {make}(y, node)"]

    def kept(self, x: str) -> str:
        if x in self.statics or x in ("y", "aux"):
            return x
        if x in self.operands:
            if self.variadic:
                return f"[scalar(v, y) for v in r_{x}]"
            if len(self.operands) == 1 or self.outputs:
                return f"r_{x}"
            return f"r_{x} if r_{x}.__class__ is y.__class__ else scalar(r_{x}, y)"
        operand = x.removesuffix("_shape")
        if self.variadic:
            return f"[getattr(v, 'shape', ()) for v in r_{operand}]"
        if len(self.operands) == 1:
            return f"r_{operand}.shape"
        return f"getattr(r_{operand}, 'shape', ())"


def _direct_call(forward: Callable[..., Any], operands: tuple[str, ...]) -> str | None:
    """The name f if the forward's code is just `return xp.f(*operands)`: one call less for each."""
    scope: dict[str, Any] = {}
    exec(f"def plain(xp, {', '.join(operands)}): return xp.f({', '.join(operands)})", scope)
    code, plain = forward.__code__, scope["plain"].__code__
    if code.co_code == plain.co_code and len(code.co_names) == 1 and not code.co_freevars:
        return str(code.co_names[0])
    return None


# What the written source calls, off the hot path ------------------------------------------------


def unify(op: str, *operands: Any) -> tuple[Any, ...]:
    """The common namespace of `operands`, and these as arrays of its backend.

    Python numbers stay as they are beside an array, since they take part in its dtype weakly;
    lists become arrays.  Raises TypeError for operands on two backends, ForeignOperand for a type
    that is not known.
    """
    if len(operands) == 2 and type(operands[0]) in NUMBERS:
        xp = NAMESPACES.get(type(operands[1]))
        if xp is not None:
            return (xp, *operands)
    backend = None
    for x in operands:
        if x is None or (isinstance(x, (*SCALARS, list, tuple)) and not hasattr(x, "dtype")):
            continue
        found = find_backend(x)
        if found is None:
            raise ForeignOperand(
                f"{op}: expected Variables, arrays or numbers, got {type(x).__name__}"
            )
        if backend is None or not hasattr(backend, "name"):
            backend = found
        elif found is not backend:
            # A NumPy scalar is passed by value: it belongs to no device.
            if type(x) is not found.array_type and x.ndim == 0:
                continue
            if all(_is_scalar(v, backend) for v in operands if find_backend(v) is backend):
                backend = found
                continue
            raise backend_mismatch(op, operands)
    if all(x is None for x in operands):
        raise TypeError(f"{op}: expected Variables, arrays or numbers, got None")
    only_numbers = backend is None
    backend = backend or current_backend()
    values = []
    for x in operands:
        if x is None or type(x) is backend.array_type:
            values.append(x)
        elif isinstance(x, (list, tuple)) or (
            only_numbers and isinstance(x, SCALARS) and not hasattr(x, "dtype")
        ):
            values.append(from_python(x, backend=backend))
        elif hasattr(x, "dtype") and find_backend(x) is backend:
            values.append(backend.asarray(x))
        else:
            values.append(x)
    return (backend.xp, *values)


def _is_scalar(x: Any, backend: Any) -> bool:
    return type(x) is not backend.array_type and getattr(x, "ndim", 0) == 0


def explain(
    error: Exception,
    op: str,
    names: Sequence[str],
    values: Sequence[Any],
    statics: Mapping[str, Any],
) -> NoReturn:
    """Raise `error` again with a message that names the op, its operands and parameters."""
    if len(names) != len(values):
        names = [f"{names[0]}[{i}]" for i in range(len(values))]
    parts = [f"{name}: {describe(x)}" for name, x in zip(names, values, strict=True)]
    parts += [f"{name}={value!r:.60}" for name, value in statics.items() if value is not None]
    message = f"{op}({', '.join(parts)}): {error}"
    if isinstance(error, IndexError):
        raise IndexError(message) from error
    for kind in (ValueError, TypeError, OverflowError, ZeroDivisionError):
        if type(error) is kind or (kind is TypeError and isinstance(error, TypeError)):
            raise kind(message) from error
    error.add_note(f"raised in {op}({', '.join(parts)})")
    raise error


def describe(x: Any) -> str:
    """dtype and shape of an array, a number itself."""
    if hasattr(x, "dtype"):
        return f"{x.dtype}{list(x.shape)}"
    return repr(x)[:60]


def _scalar(x: Any, y: Any) -> Any:
    """A Python number as a value of the output's dtype, so that it promotes no gradient."""
    if type(x) in SCALARS:
        return (y[0] if isinstance(y, tuple) else y).dtype.type(x)
    return x


def _as_tuple(op: str, operands: Any) -> tuple[Any, ...]:
    if isinstance(operands, Variable) or hasattr(operands, "dtype"):
        operands = [operands[i] for i in range(len(operands))]
    try:
        given = tuple(operands)
    except TypeError:
        raise TypeError(f"{op}: expected a sequence of Variables or arrays") from None
    if not given:
        raise ValueError(f"{op}: at least one array is needed")
    return given


def _as_outputs(xp: Namespace, y: Sequence[Any]) -> tuple[Array, ...]:
    return tuple([v if type(v) in NAMESPACES else xp.asarray(v) for v in y])


def _filled(g: Sequence[Any], node: FunctionNode, kind: Any = None) -> tuple[Namespace, Any]:
    """The namespace, and `g` with zeros for the outputs that no gradient reached."""
    first = next(x for x in g if x is not None)
    raw = first.value if isinstance(first, Variable) else first
    make = BACKENDS[type(raw)].xp.zeros
    return NAMESPACES[kind or type(first)], tuple(
        [
            make(shape, dtype=dtype) if x is None else x
            for x, shape, dtype in zip(g, node.shape, node.dtype, strict=True)
        ]
    )


def _reconnected_outputs(values: Sequence[Array], node: FunctionNode) -> tuple[Variable, ...]:
    return tuple([selected(value, node, i) for i, value in enumerate(values)])
