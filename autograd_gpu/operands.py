"""What ops do with operands off the hot path: finding the backend, errors, odd kinds of values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from autograd_gpu.backend import (
    BACKENDS,
    NAMESPACES,
    ON_ONE_DEVICE,
    Array,
    Namespace,
    backend_mismatch,
    current_backend,
    explain_resources,
    find_backend,
    same_home,
)
from autograd_gpu.callers import describe as describe, public_call
from autograd_gpu.graph import FunctionNode, reconnected, selected
from autograd_gpu.placement import elsewhere
from autograd_gpu.values import from_python
from autograd_gpu.variable import Variable

SCALARS = (bool, int, float, complex)
NUMBERS = frozenset(SCALARS)


class ForeignOperand(TypeError):
    """An operand of a type that this library knows nothing of."""


def unify(op: str, *operands: Any) -> tuple[Any, ...]:
    """The common namespace of `operands`, and these as arrays of its backend.

    Python numbers stay as they are beside an array, since they take part in its dtype weakly (for
    bfloat16 `_weak` sees to that); lists become arrays, in double precision beside arrays of that.
    In place of the namespace stands an `Elsewhere` where the operands live on another device than
    the current one.  Raises TypeError for operands on two backends or devices, ForeignOperand for
    a type that is not known.
    """
    if len(operands) == 2 and type(operands[0]) in NUMBERS:
        xp = ON_ONE_DEVICE.get(type(operands[1]))
        if xp is not None:
            return (xp, *_weak(operands))
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
            if same_home(found, backend):  # a step is recorded, in which stand-ins go first
                backend = found if hasattr(found, "stands_for") else backend
                continue
            # A NumPy scalar is passed by value: it belongs to no device.
            if type(x) is not found.array_type and x.ndim == 0:
                continue
            if all(_is_scalar(v, backend) for v in operands if find_backend(v) is backend):
                backend = found
                continue
            # Where a function is only written down, an array without axes is a constant in it.
            symbolic = [b for b in (backend, found) if getattr(b, "is_symbolic", False)]
            if symbolic and x.ndim * _ndim(backend, operands) == 0:
                (backend,) = symbolic
                continue
            raise backend_mismatch(op, operands)
    if all(x is None for x in operands):
        raise TypeError(f"{op}: expected Variables, arrays or numbers, got None")
    only_numbers = backend is None
    backend = backend or current_backend()
    own = (backend, getattr(backend, "stands_for", backend))
    if backend.array_type not in ON_ONE_DEVICE and not hasattr(backend, "stands_for"):
        place = elsewhere(op, backend, operands)
        if place is not None:
            return (place, *operands)
    values = []
    for x in operands:
        if x is None or type(x) is backend.array_type:
            values.append(x)
        elif isinstance(x, (list, tuple)) or (
            only_numbers and isinstance(x, SCALARS) and not hasattr(x, "dtype")
        ):
            values.append(from_python(x, backend=backend, beside=operands))
        elif hasattr(x, "dtype") and find_backend(x) in own:
            values.append(backend.asarray(x))
        else:
            values.append(x)
    return (backend.xp, *_weak(values))


def _weak(operands: Sequence[Any]) -> Sequence[Any]:
    """`operands` with Python floats cast to bfloat16 beside arrays of that: of the two together
    NumPy and CuPy would make float32, since ml_dtypes has no weak floats."""
    if not any(x.__class__ is float for x in operands):
        return operands
    dtypes = {x.dtype for x in operands if hasattr(x, "dtype")}
    half = next((d for d in dtypes if d.kind == "V" and d.name == "bfloat16"), None)
    if half is None or any(d.kind in "fc" for d in dtypes):
        return operands
    return [half.type(x) if x.__class__ is float else x for x in operands]


def _ndim(backend: Any, operands: Sequence[Any]) -> int:
    """The largest number of axes of the operands on `backend`."""
    ndims: list[int] = [x.ndim for x in operands if find_backend(x) is backend]
    return max(ndims)


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
    call = public_call(op)
    if call is not None:
        message = f"{call}: {message}"
    if isinstance(error, IndexError):
        raise IndexError(message) from error
    for kind in (ValueError, TypeError, OverflowError, ZeroDivisionError):
        if type(error) is kind or (kind is TypeError and isinstance(error, TypeError)):
            raise kind(message) from error
    error.add_note(f"raised in {op}({', '.join(parts)})")
    explain_resources(error)
    raise error


def scalar(x: Any, y: Any) -> Any:
    """A Python number as a value of the output's dtype, so that it promotes no gradient."""
    if type(x) in SCALARS:
        return (y[0] if isinstance(y, tuple) else y).dtype.type(x)
    return x


def resumed(x: Any, node: FunctionNode | None, g: Any) -> Any:
    """A saved operand with its edge; a number as an array beside `g`, so that functions of it stay
    on that backend, filled in there rather than copied from the host."""
    if x is None or type(x) in NAMESPACES:
        return reconnected(x, node)
    first = g[0] if isinstance(g, tuple) else g
    return BACKENDS[type(first.value)].xp.full((), x, dtype=x.dtype)


def numeric(op: str, x: Any) -> Any:
    """`x`, an operand that is no Variable; TypeError for arrays of objects, strings or dates."""
    kind = getattr(getattr(x, "dtype", None), "kind", "f")
    if kind in "OSUTMm":
        name = public_call(op) or op
        raise TypeError(f"{name}: operands are numbers, not an array of dtype {x.dtype}")
    return x


def as_tuple(op: str, operands: Any) -> tuple[Any, ...]:
    if isinstance(operands, Variable) or hasattr(operands, "dtype"):
        operands = [operands[i] for i in range(len(operands))]
    try:
        given = tuple(operands)
    except TypeError:
        raise TypeError(f"{op}: expected a sequence of Variables or arrays") from None
    if not given:
        raise ValueError(f"{op}: at least one array is needed")
    return given


def as_outputs(xp: Namespace, y: Sequence[Any]) -> tuple[Array, ...]:
    return tuple([v if type(v) in NAMESPACES else xp.asarray(v) for v in y])


def filled(g: Sequence[Any], node: FunctionNode, kind: Any = None) -> tuple[Namespace, Any]:
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


def reconnected_outputs(values: Sequence[Array], node: FunctionNode) -> tuple[Variable, ...]:
    return tuple([selected(value, node, i) for i, value in enumerate(values)])
