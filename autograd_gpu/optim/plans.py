"""What a step of a group of parameters comes down to, and usual steps, for which the compiled core
looks at all parameters in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from autograd_gpu.backend import BACKENDS
from autograd_gpu.core import core
from autograd_gpu.optim.state import State
from autograd_gpu.variable import Variable


class Plan(NamedTuple):
    """The backend's function `{name}_step` with what states have under the names `states`, None
    under the name ''.

    `options` are asked for once for all parameters whose states are the same number of steps old.
    """

    name: str
    states: tuple[str, ...]
    options: Callable[[Sequence[State]], Mapping[str, Any]]
    is_counted: bool = False


def counting(
    options: Callable[[], Mapping[str, Any]],
) -> Callable[[Sequence[State]], dict[str, Any]]:
    """`options()` and, counted one up in the states, `step`, which is 1 in the first one."""

    def call(states: Sequence[State]) -> dict[str, Any]:
        for state in states:
            state["step"] += 1
        return {**options(), "step": states[0]["step"]}

    return call


def taken(plan: Plan, params: Sequence[Variable], states: Mapping[Variable, State]) -> bool:
    """Take the step if there is a compiled core and everything is as in most steps: arrays are
    NumPy's, no parameter is of a half type, without a state or held by anybody else, no gradient is
    to be refused, and all are the same number of steps old."""
    if core is None or type(params) is not list:
        return False
    found = core.gather(params, states, plan.states)
    if found is None:
        return False
    rows, own = found
    if plan.is_counted and len({state.get("step") for state in own}) > 1:
        return False
    if rows:
        backend = BACKENDS[type(rows[0][0])]
        backend.steps(plan.name, rows, partial(plan.options, own))
    return True
