"""Single steps of recurrent layers, with PyTorch's parameter names and order of gates."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from autograd_gpu import ops
from autograd_gpu.nn import init
from autograd_gpu.nn.layers import empty
from autograd_gpu.nn.module import Module, Parameter
from autograd_gpu.nn.recurrence import run_layer, zeros_like_states
from autograd_gpu.random import Generator
from autograd_gpu.variable import Variable


class _Cell(Module):
    gates: ClassVar[int]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        *,
        dtype: Any = None,
        generator: Generator | None = None,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        bound = 1 / math.sqrt(hidden_size)
        rows = self.gates * hidden_size
        self.weight_ih = Parameter(empty(rows, input_size, dtype=dtype))
        self.weight_hh = Parameter(empty(rows, hidden_size, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(empty(rows, dtype=dtype)) if bias else None)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound, generator)

    def _step(self, cell: str, x: Any, states: Any, count: int) -> list[Variable]:
        x = ops.asarray(x)
        name = type(self).__name__
        if x.ndim not in (1, 2) or x.shape[-1] != self.input_size:
            raise ValueError(f"{name}: x {list(x.shape)} must be [N, {self.input_size}]")
        shape = (*x.shape[:-1], self.hidden_size)
        given = (
            [zeros_like_states(x, *shape) for _ in range(count)] if states is None else list(states)
        )
        given = [ops.asarray(s) for s in given]
        if len(given) != count or any(tuple(s.shape) != shape for s in given):
            shapes = [list(s.shape) for s in given]
            raise ValueError(f"{name}: states {shapes} must be {count} of {list(shape)}")
        if x.ndim == 1:
            given = [ops.expand_dims(s, axis=0) for s in given]
        rows = ops.reshape(x, (1, -1, self.input_size))
        weights, biases = [self.weight_ih, self.weight_hh], [self.bias_ih, self.bias_hh]
        _, ends = run_layer(cell, rows, weights, biases, given)
        return [end[0] for end in ends] if x.ndim == 1 else ends

    def extra_repr(self) -> str:
        bias = "" if self.bias else ", bias=False"
        return f"{self.input_size}, {self.hidden_size}{bias}"


class RNNCell(_Cell):
    """One step of an `RNN`: x [N, input_size] and h [N, hidden_size] to the new h."""

    gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        *,
        dtype: Any = None,
        generator: Generator | None = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"RNNCell: nonlinearity is 'tanh' or 'relu', not {nonlinearity!r}")
        super().__init__(input_size, hidden_size, bias, dtype=dtype, generator=generator)
        self.nonlinearity = nonlinearity

    def forward(self, x: Any, h: Any = None) -> Variable:
        return self._step(self.nonlinearity, x, None if h is None else [h], 1)[0]

    def extra_repr(self) -> str:
        kind = "" if self.nonlinearity == "tanh" else f", nonlinearity={self.nonlinearity}"
        return super().extra_repr() + kind


class LSTMCell(_Cell):
    """One step of an `LSTM`: x [N, input_size] and (h, c) to the new (h, c)."""

    gates = 4

    def forward(self, x: Any, state: Any = None) -> tuple[Variable, Variable]:
        h, c = self._step("lstm", x, state, 2)
        return h, c


class GRUCell(_Cell):
    """One step of a `GRU`: x [N, input_size] and h [N, hidden_size] to the new h."""

    gates = 3

    def forward(self, x: Any, h: Any = None) -> Variable:
        return self._step("gru", x, None if h is None else [h], 1)[0]
