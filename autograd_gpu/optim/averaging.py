"""A moving average of parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from autograd_gpu.backend import Array
from autograd_gpu.optim.optimizer import like
from autograd_gpu.placement import beside, copied, place_of
from autograd_gpu.recorder import recorder
from autograd_gpu.variable import Variable


class EMA:
    """An exponential moving average of parameters, to evaluate with.

    >>> x = Variable([1.0], requires_grad=True)
    >>> ema = EMA([x], decay=0.5)
    >>> x.value = x.value + 2
    >>> ema.update()
    >>> with ema.applied():
    ...     print(x.tolist())
    [2.0]
    >>> x.tolist()
    [3.0]
    """

    def __init__(self, params: Iterable[Variable], decay: float = 0.999) -> None:
        if not 0 <= decay < 1:
            raise ValueError(f"EMA: decay={decay} must be in [0, 1)")
        self.decay = decay
        self.params = list(params)
        for x in self.params:
            if not isinstance(x, Variable):
                raise TypeError(f"EMA: a parameter is a Variable, not {type(x).__name__}")
        self.averages = [copied(x.value) for x in self.params]

    def update(self) -> None:
        """Move the averages towards the parameters; to be called after every step."""
        watcher = recorder.get()
        if watcher is not None and watcher.one_by_one:
            for i, x in enumerate(self.params):
                watcher.update(self._move, x, i)
        else:
            self._move_all(self.params, self.averages)

    def _move(self, x: Variable, i: int) -> None:
        self._move_all([x], [self.averages[i]])

    def _move_all(self, params: Sequence[Variable], averages: Sequence[Array]) -> None:
        pairs: dict[Any, list[tuple[Array, Array]]] = {}
        for x, average in zip(params, averages, strict=True):
            pairs.setdefault(place_of(average), []).append((average, x.value))
        for some in pairs.values():
            beside(some[0][0]).steps("average", some, lambda: {"decay": self.decay})

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Give the parameters the values of the averages for the length of a with statement."""
        values = [x.value for x in self.params]
        self.copy_to()
        try:
            yield
        finally:
            for x, value in zip(self.params, values, strict=True):
                x.value = value

    def copy_to(self) -> None:
        """Give the parameters copies of the averages."""
        for average, x in zip(self.averages, self.params, strict=True):
            x.value = copied(average)

    def state_dict(self) -> dict[str, Any]:
        """Copies of the averages, and the decay."""
        return {"decay": self.decay, "averages": [copied(a) for a in self.averages]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from where `state` was taken.  ValueError for other numbers or shapes."""
        shapes = [tuple(a.shape) for a in state["averages"]]
        own = [x.shape for x in self.params]
        if shapes != own:
            raise ValueError(f"EMA: the state has shapes {shapes}, here they are {own}")
        self.decay = state["decay"]
        self.averages = [
            like(a, x.value) for a, x in zip(state["averages"], self.params, strict=True)
        ]
