"""Moving averages of parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from autograd_gpu.backend import Array
from autograd_gpu.modes import no_grad
from autograd_gpu.optim.state import like, same_arrays
from autograd_gpu.placement import backend_beside, copied, place_of
from autograd_gpu.recorder import recorder
from autograd_gpu.variable import Variable


class _Average:
    """Averages of parameters, to evaluate with; a subclass says how far they move."""

    def __init__(self, params: Iterable[Variable]) -> None:
        self.params = list(params)
        for x in self.params:
            if not isinstance(x, Variable):
                raise TypeError(
                    f"{type(self).__name__}: a parameter is a Variable, not {type(x).__name__}"
                )
        self.averages = [copied(x.value) for x in self.params]

    def update(self) -> None:
        """Take the parameters as they are into the averages.

        To be called after every step for an EMA, after every one of the last epochs for SWA.
        """
        watcher = recorder.get()
        if watcher is not None and watcher.by_update:
            watcher.update(self._advance, self.params[0])
        else:
            self._advance(self.params[0])

    def _advance(self, first: Variable) -> None:
        raise NotImplementedError

    def _move(self, decay: Callable[[], float]) -> None:
        """Move the averages by 1 - `decay()` of their distances, in a recorded step each time."""
        pairs: dict[Any, list[tuple[Array, Array]]] = {}
        watcher = recorder.get()
        if watcher is not None and not watcher.by_update:
            watcher.depends(same_arrays(lambda: self.averages))
        for x, average in zip(self.params, self.averages, strict=True):
            pairs.setdefault(place_of(average), []).append((average, x.value))
        for some in pairs.values():
            backend_beside(some[0][0]).steps("average", some, lambda: {"decay": decay()})

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
        """Copies of the averages, and the number that says how they go on."""
        return {**self._number(), "averages": [copied(a) for a in self.averages]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from where `state` was taken.  ValueError for other numbers or shapes."""
        name = type(self).__name__
        if state.keys() != self.state_dict().keys():
            raise ValueError(f"{name}: the state has {sorted(state)}, not {sorted(self._number())}")
        shapes = [tuple(a.shape) for a in state["averages"]]
        own = [x.shape for x in self.params]
        if shapes != own:
            raise ValueError(f"{name}: the state has shapes {shapes}, here they are {own}")
        for key in self._number():
            setattr(self, key, state[key])
        self.averages = [
            like(a, x.value) for a, x in zip(state["averages"], self.params, strict=True)
        ]

    def _number(self) -> dict[str, Any]:
        raise NotImplementedError


class EMA(_Average):
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
        super().__init__(params)

    def _advance(self, first: Variable) -> None:
        self._move(lambda: self.decay)

    def _number(self) -> dict[str, Any]:
        return {"decay": self.decay}


class SWA(_Average):
    """The mean of the parameters at all calls of `update`: stochastic weight averaging (Izmailov et
    al., 2018), for the last epochs of a training.

    Batch norms have to see data with the averages once more: see `update_bn`.

    >>> x = Variable([1.0], requires_grad=True)
    >>> swa = SWA([x])
    >>> swa.update()
    >>> x.value = x.value + 2
    >>> swa.update()
    >>> swa.copy_to()
    >>> x.tolist()
    [2.0]
    """

    def __init__(self, params: Iterable[Variable]) -> None:
        self.count = 0
        super().__init__(params)

    def _advance(self, first: Variable) -> None:
        self._move(lambda: self.count / (self.count + 1))
        watcher = recorder.get()
        if watcher is None or watcher.by_update:
            self.count += 1
        else:  # in each replay, after the numbers that `_move` reads
            watcher.numbers(self._counted)
            watcher.on_failure(self._uncount)

    def _counted(self) -> tuple[int]:
        self.count += 1
        return (self.count,)

    def _uncount(self) -> None:
        self.count -= 1

    def _number(self) -> dict[str, Any]:
        return {"count": self.count}


def update_bn(batches: Iterable[Any], model: Any) -> None:
    """Give the batch norms in `model` the mean statistics of all `batches`.

    A batch is the model's input, or a tuple whose first element is that.
    """
    norms = [m for m in model.modules() if getattr(m, "running_mean", None) is not None]
    momenta, modes = [m.momentum for m in norms], [(m, m.training) for m in model.modules()]
    try:
        model.train()
        with no_grad():
            for n, batch in enumerate(batches):
                for m in norms:
                    m.momentum = 1 / (n + 1)  # the first replaces what was there
                model(batch[0] if isinstance(batch, (tuple, list)) else batch)
    finally:
        for m, momentum in zip(norms, momenta, strict=True):
            m.momentum = momentum
        for m, training in modes:
            m.training = training
