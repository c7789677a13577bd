"""Recurrent layers with PyTorch's parameter names and order of gates."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from autograd_gpu import ops
from autograd_gpu.nn import functional as F, init
from autograd_gpu.nn.layers import empty
from autograd_gpu.nn.module import Module, Parameter
from autograd_gpu.placement import beside
from autograd_gpu.random import Generator
from autograd_gpu.variable import Variable


def _zeros(like: Variable, *shape: int) -> Variable:
    return Variable(beside(like.value).xp.zeros(shape, dtype=like.dtype))


def _layer(
    cell: str,
    x: Variable,
    weights: list[Any],
    biases: list[Any],
    states: list[Variable],
    reverse: bool = False,
) -> tuple[Variable, list[Variable]]:
    """Outputs [T, N, H] and last states of one layer in one direction over `x` [T, N, inputs]."""
    bias, outer = biases
    if cell != "gru" and bias is not None:  # what is added to the same gates is added once
        bias, outer = bias + outer, None
    # all steps' inputs in one product
    operands = [ops.linear(x, weights[0], bias), weights[1], *states]
    if outer is not None:
        operands.insert(2, outer)
    y, *ends = ops.recurrence(operands, cell, reverse, outer is not None)
    return y, ends


class _Recurrent(Module):
    gates: ClassVar[int]
    states: ClassVar[int] = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        *,
        dtype: Any = None,
        generator: Generator | None = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if min(input_size, hidden_size, num_layers) < 1:
            raise ValueError(
                f"{name}: input_size={input_size}, hidden_size={hidden_size} and "
                f"num_layers={num_layers} must be positive"
            )
        if not 0 <= dropout <= 1:
            raise ValueError(f"{name}: dropout={dropout} must be a probability")
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first = bias, batch_first
        self.dropout, self.bidirectional = dropout, bidirectional
        bound = 1 / math.sqrt(hidden_size)
        for layer in range(num_layers):
            inputs = input_size if layer == 0 else hidden_size * self.directions
            for suffix in self._suffixes(layer):
                shapes: dict[str, tuple[int, ...]] = {
                    "weight_ih": (self.gates * hidden_size, inputs),
                    "weight_hh": (self.gates * hidden_size, hidden_size),
                }
                if bias:
                    shapes["bias_ih"] = shapes["bias_hh"] = (self.gates * hidden_size,)
                for kind, shape in shapes.items():
                    parameter = Parameter(empty(*shape, dtype=dtype))
                    init.uniform_(parameter, -bound, bound, generator)
                    setattr(self, f"{kind}_{suffix}", parameter)

    @property
    def directions(self) -> int:
        """2 if it runs both ways, else 1."""
        return 2 if self.bidirectional else 1

    def _suffixes(self, layer: int) -> list[str]:
        return [f"l{layer}", f"l{layer}_reverse"][: self.directions]

    def forward(self, x: Any, state: Any = None) -> tuple[Variable, Any]:
        """The outputs of the last layer, and the last states of all layers.

        `x` is [T, N, input_size], [N, T, input_size] with `batch_first`, or [T, input_size]; the
        states are [layers · directions, N, hidden_size], zeros unless given.
        """
        x = ops.asarray(x)
        single = x.ndim == 2
        name = type(self).__name__
        if x.ndim not in (2, 3) or x.shape[-1] != self.input_size:
            axes = "[N, T, input_size]" if self.batch_first else "[T, N, input_size]"
            raise ValueError(
                f"{name}: x {list(x.shape)} must be {axes} or [T, input_size], "
                f"input_size={self.input_size}"
            )
        if single:
            x = ops.expand_dims(x, axis=1)
        elif self.batch_first:
            x = ops.swapaxes(x, 0, 1)
        if not x.shape[0]:
            raise ValueError(f"{name}: a sequence needs at least one step")
        states = self._states(x, state, single)
        last: list[list[Variable]] = [[] for _ in states]
        for layer in range(self.num_layers):
            if layer and self.dropout and self.training:
                x = F.dropout(x, self.dropout)
            outputs = []
            for direction, suffix in enumerate(self._suffixes(layer)):
                at = layer * self.directions + direction
                y, ends = self._run(x, suffix, [s[at] for s in states], reverse=direction == 1)
                outputs.append(y)
                for found, end in zip(last, ends, strict=True):
                    found.append(end)
            x = outputs[0] if len(outputs) == 1 else ops.concat(outputs, axis=-1)
        ends = [ops.stack(found) for found in last]
        if single:
            x, ends = x[:, 0], [end[:, 0] for end in ends]
        elif self.batch_first:
            x = ops.swapaxes(x, 0, 1)
        return x, ends[0] if self.states == 1 else tuple(ends)

    def _states(self, x: Variable, state: Any, single: bool) -> list[Variable]:
        rows = self.num_layers * self.directions
        shape = (rows, x.shape[1], self.hidden_size)
        if state is None:
            return [_zeros(x, *shape) for _ in range(self.states)]
        given = [state] if self.states == 1 else list(state)
        states = [ops.asarray(s) for s in given]
        if single:
            states = [ops.expand_dims(s, axis=1) if s.ndim == 2 else s for s in states]
        if len(states) != self.states or any(tuple(s.shape) != shape for s in states):
            raise ValueError(
                f"{type(self).__name__}: states {[list(s.shape) for s in states]} must be "
                f"{self.states} of {list(shape)}"
            )
        return states

    def _run(
        self, x: Variable, suffix: str, states: list[Variable], reverse: bool
    ) -> tuple[Variable, list[Variable]]:
        """One layer in one direction over `x` [T, N, inputs]."""
        weights = [getattr(self, f"weight_{kind}_{suffix}") for kind in ("ih", "hh")]
        biases = [getattr(self, f"bias_{kind}_{suffix}", None) for kind in ("ih", "hh")]
        return _layer(self.cell, x, weights, biases, states, reverse)

    @property
    def cell(self) -> str:
        """The kind of cell, as `ops.recurrence` calls it."""
        return type(self).__name__.lower()

    def extra_repr(self) -> str:
        parts = [f"{self.input_size}, {self.hidden_size}"]
        defaults = {
            "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0,
            "bidirectional": False,
        }  # fmt: skip
        parts += [
            f"{name}={getattr(self, name)}"
            for name, default in defaults.items()
            if getattr(self, name) != default
        ]
        return ", ".join(parts)


class RNN(_Recurrent):
    """h' = tanh(W x + b + U h + c), or relu in place of tanh.

    >>> y, h = RNN(3, 4)(ones((5, 2, 3)))
    >>> y.shape, h.shape
    ((5, 2, 4), (1, 2, 4))
    """

    gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        *,
        dtype: Any = None,
        generator: Generator | None = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"RNN: nonlinearity is 'tanh' or 'relu', not {nonlinearity!r}")
        super().__init__(
            input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
            dtype=dtype, generator=generator,
        )  # fmt: skip
        self.nonlinearity = nonlinearity

    @property
    def cell(self) -> str:
        return self.nonlinearity


class LSTM(_Recurrent):
    """Long short-term memory; the state is a pair of output and memory, (h, c).

    >>> y, (h, c) = LSTM(3, 4, num_layers=2)(ones((5, 2, 3)))
    >>> y.shape, h.shape, c.shape
    ((5, 2, 4), (2, 2, 4), (2, 2, 4))
    """

    gates = 4
    states = 2


class GRU(_Recurrent):
    """Gated recurrent unit.

    >>> y, h = GRU(3, 4, bidirectional=True)(ones((5, 2, 3)))
    >>> y.shape, h.shape
    ((5, 2, 8), (2, 2, 4))
    """

    gates = 3


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
        self.input_size, self.hidden_size = input_size, hidden_size
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
        given = [_zeros(x, *shape) for _ in range(count)] if states is None else list(states)
        given = [ops.asarray(s) for s in given]
        if len(given) != count or any(tuple(s.shape) != shape for s in given):
            shapes = [list(s.shape) for s in given]
            raise ValueError(f"{name}: states {shapes} must be {count} of {list(shape)}")
        if x.ndim == 1:
            given = [ops.expand_dims(s, axis=0) for s in given]
        rows = ops.reshape(x, (1, -1, self.input_size))
        weights, biases = [self.weight_ih, self.weight_hh], [self.bias_ih, self.bias_hh]
        _, ends = _layer(cell, rows, weights, biases, given)
        return [end[0] for end in ends] if x.ndim == 1 else ends

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}"


class RNNCell(_Cell):
    """One step of an `RNN` with tanh: x [N, input_size] and h [N, hidden_size] to the new h."""

    gates = 1

    def forward(self, x: Any, h: Any = None) -> Variable:
        return self._step("tanh", x, None if h is None else [h], 1)[0]


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
