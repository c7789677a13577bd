"""What a row of the table is: its data, and the same computation written for every program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType, SimpleNamespace
from typing import Any, Literal

import numpy as np

from programs import Step

Data = SimpleNamespace
Mode = Literal["step", "forward", "no_grad", "call"]


class Row:
    """One computation. `leaves` names the entries of the data that get gradients.

    Where the data has an entry `g`, the result is an array and `g` the gradient that arrives
    from above; otherwise the result is a scalar loss.  In the mode "call" every program gets plain
    arrays, and what it returns is compared.
    """

    name: str
    family: str
    leaves: tuple[str, ...]
    mode: Mode = "step"
    optimiser: tuple[Literal["sgd", "adam"], float] | None = None
    compiled: bool = False  # whether our step goes through autograd_gpu.compile
    left_out: Mapping[str, str] = MappingProxyType({})  # programs, and why they have no such row
    seconds: float = 0.15  # what one slice of the timing should take

    def data(self, rng: np.random.Generator, dtype: type, small: bool) -> Data:
        """Inputs as NumPy arrays; `small` asks for the same shapes in miniature, for tests."""
        raise NotImplementedError

    def by_hand(self, d: Data) -> Step:
        """Forward and backward in plain NumPy: a function that returns the gradients."""
        raise NotImplementedError

    def ours(self, d: Data, *leaves: Any) -> Any:
        """The forward with autograd_gpu."""
        raise NotImplementedError

    def torch(self, d: Data, *leaves: Any) -> Any:
        """The forward with PyTorch."""
        raise NotImplementedError

    def bare(self, program: str) -> Callable[..., Any] | None:
        """The forward as a function of the leaves alone, where the calls in between would count."""
        return None

    def formula(self, xp: Any, d: Data, *leaves: Any) -> Any:
        """The forward in NumPy's spelling, which autograd and MyGrad share."""
        raise NotImplementedError

    def jax(self, xp: Any, d: Data, *leaves: Any) -> Any:
        return self.autograd(xp, d, *leaves)

    def autograd(self, xp: Any, d: Data, *leaves: Any) -> Any:
        return self.formula(xp, d, *leaves)

    def mygrad(self, xp: Any, d: Data, *leaves: Any) -> Any:
        return self.formula(xp, d, *leaves)

    def tinygrad(self, d: Data, *leaves: Any) -> Any:
        """The forward with tinygrad, in the rows that have one."""
        raise NotImplementedError

    def why_left_out(self, program: str) -> str | None:
        """Why there is no such row for a program; None if there is."""
        if program == "tinygrad" and type(self).tinygrad is Row.tinygrad:
            return "not written for tinygrad"
        return self.left_out.get(program)


def make_data(row: Row, dtype: type, small: bool) -> Data:
    """The row's data; equal for every program, since each gets it from the same seed."""
    return row.data(np.random.default_rng(0), dtype, small)


def normal(rng: np.random.Generator, dtype: type, *shape: int) -> np.ndarray:
    """Standard normal numbers, drawn in float64 so that they are the same for every dtype."""
    return rng.standard_normal(shape).astype(dtype)
