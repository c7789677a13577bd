"""What all optimisers share: steps, state, and saving it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from autograd_gpu.backend import SEVERAL_DEVICES, Array, backend_of
from autograd_gpu.callers import require_keys
from autograd_gpu.optim.groups import Group, Groups
from autograd_gpu.optim.plans import Plan, taken
from autograd_gpu.optim.skipping import Skips
from autograd_gpu.optim.state import (
    State,
    check_gradient,
    check_places,
    check_state,
    copied_state,
    like,
    refuse_to_begin,
    same_states,
)
from autograd_gpu.placement import backend_beside, near, place_of, require_together
from autograd_gpu.precision import forget_casts
from autograd_gpu.recorder import NotReplayable, recorder
from autograd_gpu.variable import Variable


def _alike(
    targets: Sequence[Target], by: Callable[[State], Any] | None
) -> Iterable[Sequence[Target]]:
    """The targets in groups that are changed by one call, mostly all of them."""
    if not SEVERAL_DEVICES:
        kind = targets[0].grad.__class__
        age = by(targets[0].state) if by is not None else None
        for t in targets:
            if t.grad.__class__ is not kind or (by is not None and by(t.state) != age):
                break
        else:
            return (targets,)
    groups: dict[Any, list[Target]] = {}
    for t in targets:
        key = place_of(t.grad), by(t.state) if by is not None else None
        groups.setdefault(key, []).append(t)
    return groups.values()


@dataclass(slots=True)
class Target:
    """What a step changes: a Variable with its gradient and state.

    For a parameter of a half type `x` has its copy in float32, and `half` is the parameter.
    """

    x: Variable
    grad: Array
    state: State
    half: Variable | None = None


class Optimizer(Groups):
    """Base of optimisers: a subclass says in `update` how a step changes one parameter, and in
    `arrays` which arrays, of the shape of the parameter, it keeps in the state.

    `params` is a sequence of Variables, or of dicts with 'params' and options that differ from the
    defaults.
    """

    arrays: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self, params: Iterable[Variable] | Iterable[Mapping[str, Any]], defaults: Mapping[str, Any]
    ) -> None:
        self._states: dict[Variable, State] = {}
        self._skips: Skips | None = None
        self._skip: tuple[Array | None, Array] | None = None
        """While a step is recorded that the device may leave out: see `Backend.steps`."""
        super().__init__(params, defaults)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = vars(cls)
        # what a subclass of Adam says counts
        if "update" in own and "update_all" not in own:
            cls.update_all = Optimizer.update_all  # type: ignore[method-assign]
        if ("update" in own or "update_all" in own) and "plan" not in own:
            cls.plan = Optimizer.plan  # type: ignore[method-assign]

    @property
    def state(self) -> dict[Variable, State]:
        """What is kept for each parameter that has been changed: arrays and the count of steps."""
        self._settle()
        return self._states

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change every parameter that has a gradient, in place.

        Parameters in half types keep a copy in float32 in their state, the one that steps add to.
        With the option `maximize` a step goes up.  `closure`, if given, is called first, and what
        it returns is returned.
        """
        result = closure() if closure is not None else None
        watcher = recorder.get()
        if self._skip is None and self._skips is not None:
            is_later = watcher is not None and watcher.counters is not None
            if is_later and self._skips.fits(self._with_gradients()):
                self.step_unless(None)
                return result
            self._settle()
        forget_casts()
        if watcher is not None:
            watcher.depends(
                lambda: [(id(group), *map(id, group["params"])) for group in self.param_groups]
            )
        for group in self.param_groups:
            if watcher is not None and watcher.by_update:
                watcher.update(self._advance_all, group["params"], group)
            else:
                self._advance_all(group["params"], group)
        return result

    def step_unless(self, flag: Array | None) -> None:
        """A recorded step that the device leaves out where `flag` [0-d bool], if given, holds, and
        of which it knows how many came before; see GradScaler."""
        name, watcher = type(self).__name__, recorder.get()
        assert watcher is not None
        assert watcher.counters is not None
        kind = type(self)
        is_ours = kind.update_all.__module__.startswith("autograd_gpu.")
        if flag is not None and not (is_ours and kind.step is Optimizer.step):
            raise NotReplayable(f"{name} has steps of its own, which the device cannot leave out")
        params = self._with_gradients()
        if self._skips is None or not self._skips.fits(params):
            self._settle()
            self._skips = Skips(watcher.counters.count(), params)
        skips = self._skips
        watcher.depends(lambda: self._skips is skips)
        skips.add(watcher, flag)
        self._skip = flag, skips.count.array
        try:
            self.step()
        finally:
            self._skip = None

    def _with_gradients(self) -> list[Variable]:
        return [x for x in self.parameters() if x.grad is not None]

    def _settle(self) -> None:
        """Have counts of steps without those that the device has left out."""
        if self._skips is not None:
            self._skips.settle(type(self).__name__, self._states)

    def _advance_all(self, params: Iterable[Variable], group: Group) -> None:
        """Change those of `params` that have gradients."""
        targets, maximize, states = [], group.get("maximize"), self._states
        if not maximize and recorder.get() is None:
            plan = self.plan(group)
            if plan is not None and taken(plan, group["params"], states):
                return
        for x in params:
            grad = x.grad
            if grad is None:
                continue
            value = x.value
            if (
                grad.__class__ is not value.__class__
                or grad.dtype is not value.dtype
                or grad.shape != value.shape
            ):
                check_gradient(type(self).__name__, x, grad)
            if SEVERAL_DEVICES:
                require_together(type(self).__name__, value, grad)
                check_places(type(self).__name__, value, states.get(x, {}))
            if maximize:
                with near(grad):  # of a 0-d array NumPy makes a scalar
                    grad = backend_of(grad).asarray(-grad)
            state = states.get(x)
            if state is None:
                state = states[x] = {}
                watcher = recorder.get()
                if watcher is not None:
                    watcher.on_failure(partial(self._forget, x))
            half = value.dtype.itemsize == 2
            del value  # who holds an array decides whether it is written in place
            targets.append(self._half_target(x, grad, state) if half else Target(x, grad, state))
        if targets:
            self._change(targets, group)

    def _forget(self, x: Variable) -> None:
        self._states.pop(x, None)

    def _half_target(self, x: Variable, grad: Array, state: State) -> Target:
        """What is changed in place of a parameter of a half type: its copy in float32."""
        if "master" not in state:
            refuse_to_begin("float32 copy")
            with near(x.value):
                state["master"] = x.value.astype("float32")
        return Target(Variable(state["master"]), grad, state, x)

    def _change(self, targets: Sequence[Target], group: Group) -> None:
        watcher = recorder.get()
        is_captured = watcher is not None and not watcher.by_update
        if watcher is not None and is_captured:
            # these decide what is computed; all other options are numbers of the step
            switches = ("momentum", "centered", "amsgrad", "maximize")
            watcher.depends(lambda: [not group.get(name) for name in switches])
            for t in targets:
                numbers = {k: v for k, v in t.state.items() if not hasattr(v, "dtype")}
                watcher.on_failure(partial(t.state.update, numbers))
        try:
            self.update_all(targets, group)
        except TypeError:
            for t in targets:
                check_places(type(self).__name__, t.grad, t.state)
            raise
        finally:
            for t in targets:
                if t.half is not None:
                    t.state["master"] = t.x.value
        if watcher is not None and is_captured:
            params = [t.x if t.half is None else t.half for t in targets]
            states = [t.state for t in targets]
            watcher.depends(same_states(params, states, lambda: self._states))

    def plan(self, group: Group) -> Plan | None:
        """What a step of a group comes down to where all parameters are as usual, or None."""
        return None

    def update_all(self, targets: Sequence[Target], group: Group) -> None:
        """Change parameters of one group and their states in place: here one after the other."""
        self.each_alone(self.update, targets, group)

    def each_alone(
        self, update: Callable[..., None], targets: Sequence[Target], group: Group
    ) -> None:
        """Call `update(x, grad, state, group)` for each of `targets`."""
        watcher = recorder.get()
        if watcher is not None and not watcher.by_update:
            # its numbers would be those of the recorded step for ever
            raise NotReplayable(f"{type(self).__name__} has no kernel that counts its steps")
        for t in targets:
            with near(t.grad):
                update(t.x, t.grad, t.state, group)
                if t.half is not None:
                    t.half.value = t.x.value.astype(t.half.value.dtype)

    def steps(
        self,
        name: str,
        targets: Sequence[Target],
        states: Sequence[str],
        options: Callable[[Sequence[State]], Mapping[str, Any]],
        by: Callable[[State], Any] | None = None,
    ) -> None:
        """The backend's `{name}_step` for all of `targets`, with what their states have under the
        names `states`, None for others; `options` are asked for once for all whose states are the
        same `by`."""
        for some in _alike(targets, by):
            rows, halves = [], False
            for t in some:
                if t.half is None:
                    buffer = t.x.writable()
                else:  # the state's own array, whoever holds it
                    buffer, halves = t.x.value, True
                rows.append((buffer, t.grad, *[t.state.get(key) for key in states]))
            read = partial(options, [t.state for t in some])
            backend_beside(some[0].grad).steps(
                name,
                rows,
                read if self._skip is not None or recorder.get() is None else self._settled(read),
                [None if t.half is None else t.half.writable() for t in some] if halves else None,
                self._skip,
            )

    def _settled(self, read: Callable[[], Mapping[str, Any]]) -> Callable[[], Mapping[str, Any]]:
        """`read()`, in replays too with counts that are known."""

        def call() -> Mapping[str, Any]:
            self._settle()
            return read()

        return call

    def counted(self, plan: Plan, targets: Sequence[Target]) -> None:
        """`steps` that are counted."""
        for t in targets:
            t.state.setdefault("step", 0)
        self.steps(plan.name, targets, plan.states, plan.options, by=lambda state: state["step"])

    def update(self, x: Variable, grad: Array, state: State, group: Group) -> None:
        """Change one parameter and its state in place."""
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        """Copies of the state of every parameter and the options of every group.

        Parameters are numbered in the order in which the groups have them; what is kept for one
        that was taken out of its group is left out.
        """
        numbers = {x: i for i, x in enumerate(self.parameters())}
        return {
            "state": {
                numbers[x]: {key: copied_state(value) for key, value in state.items()}
                for x, state in self.state.items()
                if x in numbers
            },
            "param_groups": [
                {**group, "params": [numbers[x] for x in group["params"]]}
                for group in self.param_groups
            ],
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from where `state_dict` was taken, with the same groups of parameters.

        Arrays are moved to where the parameters are.  Raises ValueError, and changes nothing, where
        the numbers of groups or parameters differ, or the state is that of another optimiser or of
        parameters of other shapes.
        """
        require_keys(type(self).__name__, state_dict, ("state", "param_groups"))
        groups = state_dict["param_groups"]
        sizes = [len(group["params"]) for group in groups]
        own = [len(group["params"]) for group in self.param_groups]
        if sizes != own:
            raise ValueError(
                f"{type(self).__name__}: the state has groups of {sizes} parameters, here are {own}"
            )
        params = list(self.parameters())
        check_state(type(self).__name__, self.defaults, self.arrays, state_dict, params)
        self._skips = None
        for mine, group in zip(self.param_groups, groups, strict=True):
            mine.update({key: value for key, value in group.items() if key != "params"})
        self._states = {
            params[int(number)]: {
                key: like(value, params[int(number)].value) for key, value in state.items()
            }
            for number, state in state_dict["state"].items()
        }
