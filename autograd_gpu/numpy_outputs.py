"""`out=` of NumPy's functions on Variables.

A Variable given as `out` takes the result on, with its graph, as `x += y` does.  An array can't
hold a gradient: it is written where none flows, and refused where one would be lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from autograd_gpu.modes import recording
from autograd_gpu.ops.inplace import take_on
from autograd_gpu.variable import Variable


def outputs(out: Any) -> tuple[Any, ...]:
    """The arrays that `out=` names; none where it is None, or a tuple of that."""
    given = out if isinstance(out, tuple) else (out,)
    return () if all(x is None for x in given) else given


def delivered(label: str, out: tuple[Any, ...], compute: Callable[[], Any]) -> Any:
    """What `compute` returns, in the Variables `out`, which are returned in its place."""
    for x in out:
        if x is not None:
            check_target(label, x)
    result = compute()
    parts = result if isinstance(result, tuple) else (result,)
    taken = [
        y if x is None else take_on(x, y, f"{label} with out=")
        for x, y in zip(out, parts, strict=True)
    ]
    return tuple(taken) if isinstance(result, tuple) else taken[0]


def check_target(label: str, x: Any) -> None:
    """Raise TypeError unless `x` is a Variable into which a result can be written for good."""
    if not isinstance(x, Variable):
        raise TypeError(
            f"{label}: an array can't hold a Variable's gradient; write into a Variable, use the "
            f"result, or v.detach().numpy()"
        )
    if getattr(x.value, "base", None) is not None:
        raise TypeError(
            f"{label}: the target is a part of another array, as x[i] or x.T, which Variables do "
            f"not write through; write x[i] = ... instead"
        )


def are_arrays(out: tuple[Any, ...]) -> bool:
    """Whether `out` names arrays and no Variable."""
    return bool(out) and not any(isinstance(x, Variable) for x in out)


def on_values(
    label: str, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """`function`, which writes into arrays, on the values of Variables without a gradient."""
    if recording.get() and (_tracks(args) or _tracks(list(kwargs.values()))):
        check_target(label, None)
    return function(*map(values, args), **{key: values(x) for key, x in kwargs.items()})


def values(x: Any) -> Any:
    """`x` with the values of Variables in their place, also within lists."""
    if isinstance(x, Variable):
        return x.value
    if isinstance(x, (list, tuple)):
        return type(x)(map(values, x))
    return x


def _tracks(x: Any) -> bool:
    if isinstance(x, (list, tuple)):
        return any(map(_tracks, x))
    return isinstance(x, Variable) and x.requires_grad
