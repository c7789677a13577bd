"""The state that optimisers keep for parameters: beginning, copying and checking it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import is_
from typing import Any
from weakref import ref

from autograd_gpu.backend import Array, backend_of
from autograd_gpu.placement import backend_beside, copied, near, place_of
from autograd_gpu.recorder import NotYet, recorder
from autograd_gpu.variable import Variable

State = dict[str, Any]


def begun(state: State, name: str, x: Variable, value: complex = 0.0) -> None:
    """Begin the state `name` of a parameter, an array like it that is filled with `value`."""
    if name not in state:
        refuse_to_begin(name)
        state[name] = backend_beside(x.value).xp.full_like(x.value, value)


def refuse_to_begin(name: str) -> None:
    """Refuse to record what each replay would begin anew."""
    watcher = recorder.get()
    if watcher is not None and not watcher.by_update:
        raise NotYet(f"the optimiser begins the {name} of a parameter")


def same_arrays(current: Callable[[], Iterable[Array]]) -> Callable[[], bool]:
    """Tells whether `current()` are the arrays that they are now, which a captured step uses."""
    # references that are no holders, since who holds an array decides how it is written
    known = [ref(array) for array in current()]

    def are_the_same() -> bool:
        arrays = list(current())
        return len(arrays) == len(known) and all(
            array is reference() for array, reference in zip(arrays, known, strict=True)
        )

    return are_the_same


def same_states(
    params: Sequence[Variable],
    states: Sequence[State],
    current: Callable[[], Mapping[Variable, State]],
) -> Callable[[], bool]:
    """Tells whether `states` still are those of `params`, with the same arrays, and counts of steps
    that are as far apart: what is the same number of steps old is changed in one launch, with one
    number.  A count that all share may be any.
    """
    have_same_arrays = same_arrays(
        lambda: (value for state in states for value in state.values() if hasattr(value, "dtype"))
    )

    def ages() -> list[int]:
        counts = [state.get("step", 0) for state in states]
        return [count - counts[0] for count in counts]

    known = ages()

    def are_the_same() -> bool:
        found = map(current().get, params)
        return all(map(is_, found, states)) and have_same_arrays() and ages() == known

    return are_the_same


def copied_state(value: Any) -> Any:
    """A copy of an array in a state; a number as it is."""
    return copied(value) if hasattr(value, "dtype") else value


def like(value: Any, parameter: Array) -> Any:
    """A copy of an array on the backend and device of `parameter`; anything else as it is."""
    if not hasattr(value, "dtype"):
        return value
    source, target = backend_of(value), backend_of(parameter)
    if source is target:
        with near(parameter):
            return value.copy()
    device = None if target.name == "numpy" else target.device(parameter)
    return target.from_host(source.to_host(value), device)


def check_places(name: str, parameter: Array, state: State) -> None:
    """TypeError if a parameter was moved away from the arrays of its state."""
    for value in state.values():
        if hasattr(value, "dtype") and place_of(value) != place_of(parameter):
            raise TypeError(
                f"{name}: a parameter was moved after the first step, and its state was not; "
                "optimizer.load_state_dict(optimizer.state_dict()) moves it"
            )


def check_gradient(name: str, x: Variable, grad: Any) -> None:
    """Refuse what was assigned to `grad` and would be broadcast, cast or not understood."""
    value = x.value
    if not isinstance(grad, type(value)):
        hint = "; assign its value" if isinstance(grad, Variable) else ""
        raise TypeError(
            f"{name}: the gradient of a parameter is a {type(value).__name__} like the "
            f"parameter, not {type(grad).__name__}{hint}"
        )
    if grad.shape != value.shape:
        raise ValueError(
            f"{name}: a gradient has shape {list(grad.shape)}, its parameter {list(value.shape)}"
        )
    if grad.dtype.kind == "c" and value.dtype.kind != "c":
        raise TypeError(f"{name}: a gradient is {grad.dtype}, its parameter {value.dtype}")


def check_state(
    name: str,
    options: Iterable[str],
    arrays: Sequence[str],
    state_dict: Mapping[str, Any],
    params: Sequence[Variable],
) -> None:
    """ValueError for a state that is not of the optimiser `name` with these parameters."""
    for group in state_dict["param_groups"]:
        unknown = group.keys() - set(options) - {"params", "initial_lr"}
        if unknown:
            raise ValueError(
                f"{name}: the state is of another optimiser, with options {sorted(unknown)}"
            )
    for number, state in state_dict["state"].items():
        if not 0 <= int(number) < len(params):
            raise ValueError(f"{name}: the state is of a parameter {number}, {len(params)} are")
        x = params[int(number)]
        for key, value in state.items():
            shape = tuple(getattr(value, "shape", ()))
            if key not in (*arrays, "master") and shape:
                raise ValueError(
                    f"{name}: the state is of another optimiser: parameter {number} has an "
                    f"array {key!r}, and here {' and '.join(map(repr, arrays)) or 'none'}"
                )
            if key in arrays and shape != x.shape:
                raise ValueError(
                    f"{name}: the state {key!r} of parameter {number} has shape {list(shape)}, "
                    f"the parameter {list(x.shape)}"
                )
