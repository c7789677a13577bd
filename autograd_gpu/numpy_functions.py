"""NumPy's functions on Variables: `np.sum(v)`, `np.linalg.inv(v)`, `np.fft.fft(v)`.

What a function is here follows from its name and its parameters; `numpy_names` has
the names that differ, `numpy_adapters` what differs in more than that.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any

from autograd_gpu import numpy_adapters, numpy_names, ops
from autograd_gpu.numpy_arguments import is_no_value, no_derivative, op_named, supported
from autograd_gpu.numpy_outputs import are_arrays, delivered, on_values, outputs, values
from autograd_gpu.numpy_reductions import PARTIAL
from autograd_gpu.operands import ForeignOperand
from autograd_gpu.variable import Variable

_functions: dict[Any, Callable[..., Any]] = {}

CAST_FIRST = {"np.mean", "np.std", "np.var"}
"""What computes in the dtype that it is given."""


def array_function(
    self: Variable, func: Any, types: Sequence[type], args: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
    """A NumPy function on Variables."""
    call = _functions.get(func)
    if call is None:
        call = _functions[func] = _function(func)
    try:
        return call(*args, **kwargs)
    except ForeignOperand:
        return NotImplemented


def _function(func: Any) -> Callable[..., Any]:
    """What computes `func` for Variables."""
    name = func.__name__
    module = func.__module__.partition(".")[2]
    full = f"{module}.{name}" if module else name
    label = f"np.{full}"
    if name in numpy_names.CREATION:
        raise no_derivative(label)
    if name in numpy_names.INSPECTORS:
        return _on_values(func)
    adapter = numpy_adapters.ADAPTERS.get(full)
    if adapter is not None:
        return _adapted(label, func, adapter)
    ours = numpy_names.FUNCTIONS.get(name, name)
    op = op_named(getattr(ops, module, None) if module else ops, ours, label)
    try:
        theirs = list(inspect.signature(func).parameters.values())
    except ValueError:  # some functions in C
        names = numpy_names.SIGNATURES.get(name)
        if names is None:
            raise no_derivative(label) from None
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        theirs = [inspect.Parameter(x, kind, default=None) for x in names]
    return _translated(label, func, op, theirs, None if module else PARTIAL.get(ours))


def _on_values(func: Callable[..., Any]) -> Callable[..., Any]:
    """`func`, which needs no derivative, on the arrays."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return func(*map(values, args), **{key: values(x) for key, x in kwargs.items()})

    return call


def _adapted(label: str, func: Any, adapter: Callable[..., Any]) -> Callable[..., Any]:
    """A function with NumPy's parameters but for `out` and those that do not matter to it."""
    own = inspect.signature(adapter).parameters

    def call(*args: Any, **kwargs: Any) -> Any:
        if not kwargs:
            return adapter(*args)
        out = outputs(kwargs.pop("out", None))
        if are_arrays(out):
            return on_values(label, func, args, {**kwargs, "out": out[0]})
        known = {key: x for key, x in kwargs.items() if key in own and not is_no_value(x)}
        others = {key: x for key, x in kwargs.items() if key not in own}
        kwargs = {**known, **supported(label, others)}
        if out:
            return delivered(label, out, lambda: adapter(*args, **kwargs))
        return adapter(*args, **kwargs)

    return call


def _translated(
    label: str,
    func: Any,
    op: Callable[..., Any],
    theirs: Sequence[inspect.Parameter],
    partial: Callable[..., Any] | None,
) -> Callable[..., Any]:
    """`op`, called with NumPy's parameters; `partial` knows `where` and `initial` too."""
    ours = list(inspect.signature(op).parameters.values())
    keywords = {p.name for p in ours if p.kind is not p.POSITIONAL_ONLY}
    targets, leading = _targets(ours, keywords, theirs)
    index = {p.name: i for i, p in enumerate(theirs)}
    no_value = type(sys.modules["numpy"]._NoValue)  # NumPy's mark for "not given"
    # For each combination of arguments that `op` knows, its names for those that do not go by
    # position, none where it takes the call as it is: only the first call with it has to look.
    known: dict[tuple[Any, ...], tuple[str, ...]] = {}

    def call(*args: Any, **kwargs: Any) -> Any:
        if not kwargs and len(args) <= leading:
            return op(*args)
        names = known.get((len(args), *kwargs))
        given = kwargs.values() if not names else (*args[leading:], *kwargs.values())
        if names is None or no_value in map(type, given):
            return slowly(args, kwargs)
        if not names:
            return op(*args, **kwargs)
        return op(*args[:leading], **dict(zip(names, given, strict=True)))

    def slowly(args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if len(args) > len(theirs):
            raise TypeError(f"{label}: {len(args)} arguments are too many for Variables")
        unknown = kwargs.keys() - index.keys()
        if unknown:
            raise TypeError(f"{label}: {', '.join(unknown)}= is not supported for Variables")
        given = {**dict(enumerate(args)), **{index[key]: value for key, value in kwargs.items()}}
        out = outputs(given.pop(index.get("out", -1), None))
        if are_arrays(out):
            return on_values(label, func, args, kwargs)
        operands: list[Any] = []
        while len(operands) < leading and len(operands) in given:
            operands.append(given.pop(len(operands)))
        named: dict[str, Any] = {}
        others: dict[str, Any] = {}
        for i, value in given.items():
            target = targets[i]
            if type(value) is no_value:
                continue
            if target is not None:
                named[target] = value
            elif value is not theirs[i].default:
                others[theirs[i].name] = value
        chosen = op
        if partial is not None and others.keys() & {"where", "initial"}:
            chosen = partial
            named |= {key: others.pop(key) for key in ("where", "initial") if key in others}
        others = supported(label, others)
        if operands and label in CAST_FIRST and "dtype" in others:
            operands[0] = ops.astype(operands[0], others.pop("dtype"))
        if others:
            raise TypeError(f"{label}: {', '.join(others)}= is not supported for Variables")
        if out:
            return delivered(label, out, lambda: chosen(*operands, **named))
        names = [targets[i] for i in (*range(leading, len(args)), *map(index.__getitem__, kwargs))]
        if keywords.issuperset(names):
            same = names == list(kwargs)
            known[len(args), *kwargs] = () if same else tuple([str(name) for name in names])
        return chosen(*operands, **named)

    return call


def _targets(
    ours: Sequence[inspect.Parameter], keywords: set[str], theirs: Sequence[inspect.Parameter]
) -> tuple[list[str | None], int]:
    """Our name for each of NumPy's parameters, None where there is none; and how many of them go by
    position."""
    targets: list[str | None] = []
    leading = 0
    for i, p in enumerate(theirs):
        name = p.name if p.name in keywords else numpy_names.KEYWORDS.get(p.name, p.name)
        mine = ours[i] if i < len(ours) and ours[i].kind is not ours[i].KEYWORD_ONLY else None
        if (
            leading == i
            and mine is not None
            and (
                name == mine.name
                or mine.kind is mine.POSITIONAL_ONLY
                or (name not in keywords and mine.default is mine.empty)
            )
        ):
            leading += 1
            targets.append(mine.name)
        else:
            targets.append(name if name in keywords else None)
    return targets, leading
