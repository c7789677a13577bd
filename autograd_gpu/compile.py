"""compile: a step of fixed shapes is recorded, and from then on replayed without a graph.

This is the front: which recording belongs to a call, what goes in and what comes out.  How array
calls are recorded and replayed is the backend's (`autograd_gpu.recorder`).
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar

from autograd_gpu.backend import BACKENDS, SEVERAL_DEVICES, Backend, current_backend
from autograd_gpu.callers import require_function
from autograd_gpu.graph import make_result
from autograd_gpu.modes import anomaly, levels, recording, watching
from autograd_gpu.precision import casting, own_casts
from autograd_gpu.recorder import NotReplayable, NotYet, Recorder, Replay, recorder
from autograd_gpu.references import arrays_of
from autograd_gpu.safety import safe
from autograd_gpu.slots import Seen, watched
from autograd_gpu.surroundings import Surroundings
from autograd_gpu.values import get_default_dtype
from autograd_gpu.variable import Variable

P = ParamSpec("P")
R = TypeVar("R")

KEPT = 64
"""Signatures for which one function keeps recordings; when there are more, all are forgotten."""

TRIES = 8
"""Recordings of one signature; after as many without a replay in between it runs eagerly."""


class Compiled(Generic[P, R]):
    """What `compile` makes of a function."""

    def __init__(self, function: Callable[P, R]) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.reason: str | None = None
        """Why calls like the last one are not replayed; None if they are, or are being recorded."""
        self.calls = 0
        self.replays = 0
        self._programs: dict[Any, _Program] = {}
        self._lock = threading.Lock()
        self._thread: int | None = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if self._thread == threading.get_ident() or recorder.get() is not None:
            return self.function(*args, **kwargs)  # part of a step that is recorded
        with self._lock:
            self._thread = threading.get_ident()
            try:
                return self._run(args, kwargs)
            finally:
                self._thread = None

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> R:
        function: Callable[..., R] = self.function
        self.calls += 1
        try:
            call = _Call(args, kwargs)
        except NotReplayable as error:
            self.reason = str(error)
            return function(*args, **kwargs)
        program = self._programs.get(call.key)
        if program is None:
            if len(self._programs) >= KEPT:
                self._programs.clear()
            program = self._programs[call.key] = _Program()
        self.reason = program.reason
        for replay, returned in program.ready:
            moved = returned.around.changed() if returned.around is not None else None
            if moved is not None:
                program.moved = moved
                continue
            outputs = replay(call.given)
            if outputs is not None:
                self.replays += 1
                program.missed = 0
                result: R = returned.rebuilt(outputs, call.given)
                return result
        if program.first or program.reason is not None:
            # What comes into being on a first call (momentum, a gradient) decides what later ones
            # do, so that the first run is not the one to record.
            if not program.first:
                return function(*args, **kwargs)
            result = self._rehearse(program, call)
            program.first = False
            self.reason = program.reason = _Returned(result, call.given, None).reason
            return result
        return self._record(program, call)

    def _record(self, program: _Program, call: _Call) -> R:
        function: Callable[..., R] = self.function
        watcher = program.watcher or call.backend.recorder()
        program.watcher = None
        returned: list[_Returned] = []
        around = Surroundings(function, (*call.args, *call.kwargs.values()))

        def run(given: Sequence[Any]) -> list[Any]:
            args, kwargs = call.filled(given)
            with own_casts(), watched(watcher) as seen:
                returned[:] = [_Returned(function(*args, **kwargs), call.given, seen)]
            arrays, returned[0].arrays = returned[0].arrays, []
            return arrays

        try:
            outputs, replay = watcher.record(run, call.given)
        except NotReplayable as error:
            self.reason = str(error)
            program.missed += 1
            if isinstance(error, NotYet) and program.missed <= TRIES:
                return self._rehearse(program, call)
            program.reason = self.reason
            return function(*call.args, **call.kwargs)
        changed = around.changed() or around.drawn()
        if changed is not None:
            returned[0].reason = (
                f"it changes {changed}, which is outside of it; a replay would not: return the "
                f"new value, or do it elsewhere"
            )
        returned[0].around, returned[0].kept = around, arrays_of(function)
        self.reason = program.add(replay, returned[0], watcher.recordings)
        result: R = returned[0].rebuilt(outputs, call.given)
        return result

    def _rehearse(self, program: _Program, call: _Call) -> R:
        """An eager run, after which the step may be recorded."""
        program.watcher = call.backend.recorder()
        with program.watcher.rehearsal():
            result: R = self.function(*call.args, **call.kwargs)
        return result

    def reset(self) -> None:
        """Forget all recordings."""
        with self._lock:
            self._programs.clear()
            self.reason = None

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return self if owner is None else functools.partial(self, owner)

    def __repr__(self) -> str:
        name = getattr(self.function, "__qualname__", repr(self.function))
        recorded = sum(len(program.ready) for program in self._programs.values())
        text = f"{recorded} recorded, {self.replays} of {self.calls} calls replayed"
        return f"<compiled {name}: {text}{f'; {self.reason}' if self.reason else ''}>"


class _Program:
    """The recordings for one signature."""

    def __init__(self) -> None:
        self.first = True
        self.watcher: Recorder | None = None
        self.ready: list[tuple[Replay, _Returned]] = []
        self.reason: str | None = None
        self.missed = 0
        self.moved: str | None = None
        """What has kept a recording from being replayed, by its name."""
        self._candidate: tuple[Replay, _Returned] | None = None
        self._agreed = 0

    def add(self, replay: Replay | str, returned: _Returned, needed: int) -> str | None:
        """Take in a recording, which replaces eager runs once `needed` of them in a row agree; why
        there will be none."""
        if isinstance(replay, str) or returned.reason is not None:
            self.reason = replay if isinstance(replay, str) else returned.reason
            return self.reason
        differs = None
        if self._candidate is not None:
            old, old_returned = self._candidate
            differs = replay.difference(old) or returned.difference(old_returned)
        self._agreed = 1 if differs is not None else self._agreed + 1
        self._candidate = (replay, returned)
        self.missed += 1
        if self._agreed >= needed:
            self.ready.insert(0, (replay, returned))
            del self.ready[TRIES:]
            self._candidate, self._agreed = None, 0
        if self.missed > TRIES:
            self.reason = differs or f"{TRIES} recordings in a row fitted no later call" + (
                f": {self.moved} was not what it had been" if self.moved else ""
            )
            self.ready.clear()
        return self.reason


class _Call:
    """The arguments of a call: their arrays, and the key by which recordings are found."""

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if watching and (anomaly.get() or safe.get() or levels.get()):  # in this thread
            raise NotReplayable("detect_anomaly, nan_safe or forward mode looks at every op")
        self.args, self.kwargs = args, kwargs
        self.given: list[Any] = []
        self.backend: Backend = current_backend()
        self._places: dict[int, int] = {}
        name = self.backend.name
        self._key: list[Any] = [recording.get(), casting.get(), get_default_dtype(), name]
        if args or kwargs:
            self._walk(args)
            self._walk(kwargs)
        self.key = tuple(self._key)

    def _walk(self, x: Any) -> None:
        if isinstance(x, dict):
            self._key += (dict, *x)
            for item in x.values():
                self._walk(item)
        elif isinstance(x, (tuple, list)):
            self._key += (type(x), len(x))
            for item in x:
                self._walk(item)
        elif isinstance(x, Variable):
            if x.grad_fn is not None:
                raise NotReplayable("an argument is the result of recorded ops; pass x.detach()")
            if x._hooks or x._post_hooks:
                raise NotReplayable("an argument has hooks")
            self._array(x, x.value, x._requires_grad)
        elif type(x) in BACKENDS:
            self._array(x, x, None)
        else:
            self._key.append(_constant(x))

    def _array(self, x: Any, array: Any, requires_grad: bool | None) -> None:
        """Of an array, which is no Variable, `requires_grad` is None."""
        backend = BACKENDS[type(array)]
        if not self.given:
            self.backend = backend
        elif backend is not self.backend:
            raise NotReplayable("its arguments live on two backends")
        place = self._places.setdefault(id(x), len(self.given))
        number = backend.device_number(array) if backend in SEVERAL_DEVICES else 0
        layout = array.dtype, array.shape, array.strides
        self._key.append((requires_grad, place, layout, backend.name, number))
        self.given.append(x)

    def filled(self, given: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with what is given in place of their arrays."""
        left = iter(given)

        def fill(x: Any) -> Any:
            return next(left) if isinstance(x, Variable) or type(x) in BACKENDS else x

        return tuple([_mapped(fill, x) for x in self.args]), _mapped(fill, self.kwargs)


class _Returned:
    """What a step returned: its arrays, and how to return the like with others."""

    def __init__(self, result: Any, given: Sequence[Any], seen: Seen | None) -> None:
        self.arrays: list[Any] = []
        self.around: Surroundings | None = None
        self.kept: list[Any] = []
        """What the recording may refer to by address only."""
        self.reason = seen.reason() if seen is not None else None
        self._given = {id(x): i for i, x in enumerate(given)}
        self._seen = seen
        self._constants: list[Any] = []
        self.rebuilt = self._builder(result)
        """The result of another call, of its `outputs` and the arrays that it was `given`."""

    def _builder(self, x: Any) -> _Builder:
        if isinstance(x, dict):
            items = {key: self._builder(item) for key, item in x.items()}
            return lambda outputs, given: {
                key: build(outputs, given) for key, build in items.items()
            }
        if isinstance(x, (tuple, list)):
            return _sequence(type(x), [self._builder(item) for item in x])
        if isinstance(x, Variable):
            return self._variable(x)
        if isinstance(x, tuple(BACKENDS)):  # also what stands for one of NumPy's scalars
            place = self._place(x)
            return lambda outputs, given: outputs[place]
        if hasattr(x, "__next__") or hasattr(x, "__await__"):
            self.reason = f"it returns a {type(x).__name__}, whose code is still to be run"
        self._constants.append(x)
        return lambda outputs, given: x

    def _place(self, array: Any) -> int:
        self.arrays.append(array)
        return len(self.arrays) - 1

    def _variable(self, x: Variable) -> _Builder:
        place = self._given.get(id(x))
        if place is not None:
            return lambda outputs, given, place=place: given[place]  # type: ignore[misc]
        if x.grad_fn is not None and x.grad_fn.shape is not None:
            self.reason = (
                "it returns a Variable whose graph is still to be run backward; compile the "
                "whole step, or return y.detach()"
            )
        elif self._seen is None or id(x) in self._seen.new:
            place = self._place(x.value)
            return lambda outputs, given: make_result(outputs[place])
        elif id(x) in self._seen.elsewhere:
            self.reason = "it returns a Variable that another thread has made"
        return lambda outputs, given: x

    def difference(self, earlier: _Returned) -> str | None:
        """Which of the Python values differ: a replay would return them as they were."""
        for old, new in zip(earlier._constants, self._constants, strict=False):
            if not _is_same(old, new):
                return f"it returns {old!r:.60} in one call and {new!r:.60} in a later one"
        return None


_Builder = Callable[[Sequence[Any], Sequence[Any]], Any]


def _sequence(kind: Any, parts: list[_Builder]) -> _Builder:
    if hasattr(kind, "_fields"):  # a named tuple
        return lambda outputs, given: kind(*[build(outputs, given) for build in parts])
    if kind is list:
        return lambda outputs, given: [build(outputs, given) for build in parts]
    return lambda outputs, given: tuple([build(outputs, given) for build in parts])


def _mapped(f: Callable[[Any], Any], tree: Any) -> Any:
    """The same nesting of tuples, lists and dicts with `f` of each leaf, None among them."""
    if isinstance(tree, dict):
        return {key: _mapped(f, item) for key, item in tree.items()}
    if isinstance(tree, (tuple, list)):
        items = [_mapped(f, item) for item in tree]
        if hasattr(tree, "_fields"):  # a named tuple
            return type(tree)(*items)
        return tuple(items) if isinstance(tree, tuple) else items
    return f(tree)


def _constant(x: Any) -> Any:
    """An argument that is no array, in the key: equal for arguments that do the same."""
    if isinstance(x, float):  # 0.0 and -0.0 are equal, and NaN is not
        return float, x.hex()
    if isinstance(x, complex):
        return complex, x.real.hex(), x.imag.hex()
    if hasattr(x, "dtype") and hasattr(x, "tobytes"):
        if x.ndim:
            raise NotReplayable(f"an argument is a {type(x).__name__}, of which nothing is known")
        return type(x), x.dtype, x.tobytes()
    try:
        hash(x)
    except TypeError:
        raise NotReplayable(
            f"an argument of type {type(x).__name__} is neither an array nor hashable"
        ) from None
    return type(x), x


def _is_same(a: Any, b: Any) -> bool:
    try:
        return a is b or bool(_constant(a) == _constant(b))
    except NotReplayable:  # no two of them are known to be equal
        return False


def compile(function: Callable[P, R]) -> Compiled[P, R]:
    """Record the array calls of a step of fixed shapes, and replay them without a graph.

    The function may do all that a training step does: forward, backward and an optimiser's step.
    Its first call is an eager one, the next ones are recorded, later ones replayed: array calls
    into the same buffers, with no graph.  Results are bitwise those of the eager function;
    parameters, buffers, gradients, the optimiser's state and random numbers go on as they do there.

    Arrays and Variables among the arguments, also in tuples, lists and dicts, may differ from call
    to call; other shapes, dtypes and other arguments of any kind are recorded anew.  What the
    function returns is the caller's own.

    Python code runs while it is recorded only: what it prints is printed then.  What it refers to
    by name is looked at in every call, and other numbers there are recorded anew, so pass what
    changes often as an array.  Where it counts, looks at the values of arrays (`if loss > 3`,
    `loss.item()`) or does anything else that can't be replayed, it runs eagerly, and `.reason`
    says why.

    >>> w = Variable([1.0, 2.0], requires_grad=True)
    >>> optimizer = optim.SGD([w], lr=0.1)
    >>> @compile
    ... def step(x):
    ...     loss = (w * x).sum() ** 2
    ...     optimizer.zero_grad()
    ...     loss.backward()
    ...     optimizer.step()
    ...     return loss
    >>> x = np.ones(2, "float32")
    >>> print([f"{step(x).item():.2f}" for _ in range(5)])
    ['9.00', '3.24', '1.17', '0.42', '0.15']
    """
    require_function("compile", function, "compile(f)(x)")
    return Compiled(function)
