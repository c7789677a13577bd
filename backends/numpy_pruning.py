"""Steps of a tape that a replay can do without: their results are there already, or nobody uses
them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from autograd_gpu.backends.numpy_analysis import arguments, numbers_in, values_in
from autograd_gpu.backends.numpy_values import HostNumber, Into, Step, Value

_FROM_OUTSIDE = ("array", "given", "late", "slot")

_OPERATORS = frozenset(
    (
        *(operator.add, operator.and_, operator.eq, operator.ge, operator.gt, operator.invert),
        *(operator.le, operator.lt, operator.matmul, operator.mul, operator.ne, operator.neg),
        *(operator.or_, operator.pos, operator.sub, operator.truediv, operator.xor),
        *(operator.iadd, operator.imul, operator.isub, operator.itruediv),
    )
)

# Of ndarray and of NumPy; none of them looks at values, so that none fails in a replay only.
_FUNCTIONS = frozenset(
    (
        *(np.asarray, np.broadcast_to, np.copyto, np.matmul, np.where, np.ndarray.astype),
        *(np.ndarray.clip, np.ndarray.conjugate, np.ndarray.copy, np.ndarray.fill),
        *(np.ndarray.ravel, np.ndarray.reshape, np.ndarray.squeeze, np.ndarray.swapaxes),
        *(np.ndarray.transpose, np.ndarray.view),
    )
)

_INDEXING = frozenset((operator.getitem, np.ndarray.__getitem__))


def pruned(steps: Sequence[Step], outputs: Sequence[Value]) -> list[Step]:
    """The steps that are left, of which later ones read the results of the first of equal ones."""
    return _used(_Shared(steps, outputs).steps, outputs)


def is_plain(step: Step) -> bool:
    """Whether a step does nothing but compute, from its arguments alone, and cannot fail."""
    function: Any = step.function
    if step.how == "view" and function in _INDEXING:
        return not any(True for _ in (*values_in(step.args[1:]), *numbers_in(step.args)))
    if isinstance(getattr(function, "__self__", None), np.ufunc):  # its reduce or accumulate
        function = function.__self__
    if isinstance(function, np.ufunc):
        known = function is not np.power  # of integers to a negative power that is an error
    else:
        known = function in _OPERATORS or function in _FUNCTIONS
    return known and not any(x.dtype.kind == "O" for x in values_in((step.args, step.result)))


def _used(steps: Sequence[Step], outputs: Sequence[Value]) -> list[Step]:
    """The steps without those whose results nobody uses."""
    used = {id(x) for y in outputs for x in (y, y.root)}
    kept: list[Step] = []
    for step in reversed(steps):
        if step.how in ("into", "made", "view") and is_plain(step):
            results = list(values_in(step.result))
            # A root may be used through a view of it; a view has no other way to be used.
            if results and not any(id(x) in used for x in results):
                continue
        elif step.how == "effect" and is_plain(step):
            roots = step.writes
            if not any(x.kind in _FROM_OUTSIDE or id(x) in used for x in roots):
                continue
        for x in values_in(arguments(step)):
            used |= {id(x), id(x.root)}
        kept.append(step)
    kept.reverse()
    return kept


class _Shared:
    """The steps with one in place of several that compute the same of the same."""

    def __init__(self, steps: Sequence[Step], outputs: Sequence[Value]) -> None:
        handed = [*outputs, *values_in([step.args for step in steps if step.how == "set"])]
        self._fixed = {id(x.root) for x in handed}
        """Roots that are to stay memory of their own: what is handed out, or written into."""
        for step in steps:
            self._fixed |= {id(root) for root in step.writes}
        self._outside = 0
        """How often what is not the tape's own may have changed so far."""
        self._writes: dict[int, int] = {}
        self._known: dict[Any, Value] = {}
        self._same: dict[int, Value] = {}
        """Roots, by their ids, that are read in place of others."""
        self._views: dict[int, Value] = {}
        self.steps: list[Step] = []
        for step in steps:
            step = self._renamed_step(step)
            if not self._is_known(step):
                self.steps.append(step)
                self._note_writes(step)

    def _is_known(self, step: Step) -> bool:
        y = step.result
        if step.how not in ("into", "made") or not isinstance(y, Value) or y.root is not y:
            return False
        if id(y) in self._fixed or not is_plain(step):
            return False
        key = (step.function, self._key(step.args), self._key(step.kwargs))
        first = self._known.setdefault(key, y)
        if first is y or first.layout != y.layout or first.kind != y.kind:
            return False
        self._same[id(y)] = first
        return True

    def _note_writes(self, step: Step) -> None:
        if step.how == "update" or any(x.kind in _FROM_OUTSIDE for x in step.writes):
            self._outside += 1
        for root in step.writes:
            self._writes[id(root)] = self._writes.get(id(root), 0) + 1

    def _key(self, x: Any) -> Any:
        """Equal for arguments that are the same to a function."""
        if isinstance(x, Value):
            root = x.root
            age = self._outside if root.kind in _FROM_OUTSIDE else self._writes.get(id(root), 0)
            return Value, id(root), age, x.offset, x.layout
        if isinstance(x, HostNumber) or x is None or type(x) in (bool, int, str):
            return type(x), x
        if type(x) is float:
            return float, x.hex()
        if type(x) in (tuple, list):
            return type(x), tuple([self._key(item) for item in x])
        if type(x) is dict:
            return dict, tuple([(name, self._key(item)) for name, item in x.items()])
        return object, id(x)  # which the tape keeps

    # Reading other results ------------------------------------------------------------------------

    def _renamed_step(self, step: Step) -> Step:
        if not any(id(x.root) in self._same for x in values_in((arguments(step), step.result))):
            return step
        into = step.into
        if into is not None:
            into = Into(into.function, self._renamed(into.args), self._renamed(into.kwargs))
        args, kwargs = self._renamed(step.args), self._renamed(step.kwargs)
        result = self._renamed(step.result)
        return Step(step.how, step.function, args, kwargs, result, into, step.writes)

    def _renamed(self, x: Any) -> Any:
        if isinstance(x, Value):
            return self._renamed_value(x)
        if type(x) in (tuple, list):
            return type(x)([self._renamed(item) for item in x])
        if type(x) is dict:
            return {name: self._renamed(item) for name, item in x.items()}
        if type(x) is slice:
            return slice(*self._renamed((x.start, x.stop, x.step)))
        return x

    def _renamed_value(self, x: Value) -> Value:
        first = self._same.get(id(x.root))
        if first is None:
            return x
        if x.root is x:
            return first
        view = self._views.get(id(x))
        if view is None:
            view = self._views[id(x)] = x.of_another(first)
        return view
