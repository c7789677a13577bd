"""Recurrent layers with PyTorch's parameter names and order of gates."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, ClassVar

from autograd_gpu import ops
from autograd_gpu.nn import functional as F, init
from autograd_gpu.nn.layers import empty
from autograd_gpu.nn.module import Module, Parameter
from autograd_gpu.nn.recurrence import (
    run_layer,
    run_projected,
    run_whole,
    side_by_side,
    zeros_like_states,
)
from autograd_gpu.nn.utils.rnn import PackedSequence, mapped, run_packed
from autograd_gpu.random import Generator
from autograd_gpu.variable import Variable


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
        proj_size: int = 0,
        *,
        dtype: Any = None,
        generator: Generator | None = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if proj_size and (self.states == 1 or not 0 < proj_size < hidden_size):
            raise ValueError(
                f"{name}: proj_size={proj_size} is for LSTM, and between 0 and "
                f"hidden_size={hidden_size}"
            )
        if min(input_size, hidden_size, num_layers) < 1:
            raise ValueError(
                f"{name}: input_size={input_size}, hidden_size={hidden_size} and "
                f"num_layers={num_layers} must be positive"
            )
        if not 0 <= dropout <= 1:
            raise ValueError(f"{name}: dropout={dropout} must be a probability")
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first = bias, batch_first
        self.dropout, self.bidirectional, self.proj_size = dropout, bidirectional, proj_size
        output_size = proj_size or hidden_size
        bound = 1 / math.sqrt(hidden_size)
        for layer in range(num_layers):
            inputs = input_size if layer == 0 else output_size * self.directions
            for suffix in self._suffixes(layer):
                shapes: dict[str, tuple[int, ...]] = {
                    "weight_ih": (self.gates * hidden_size, inputs),
                    "weight_hh": (self.gates * hidden_size, output_size),
                }
                if bias:
                    shapes["bias_ih"] = shapes["bias_hh"] = (self.gates * hidden_size,)
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
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

    def forward(self, x: Any, state: Any = None) -> tuple[Any, Any]:
        """The outputs of the last layer, and the last states of all layers.

        `x` is [T, N, input_size], [N, T, input_size] with `batch_first`, or [T, input_size]; or
        sequences of several lengths as `utils.rnn.pack_padded_sequence` returns them, and then the
        outputs are packed as well, and the last states are those at the end of each sequence.  The
        states are [layers · directions, N, hidden_size], zeros unless given; the first of an LSTM
        with `proj_size` has that width.
        """
        name = type(self).__name__
        if isinstance(x, PackedSequence):
            y, ends = self._layers(x, self._sorted(x, state))
            ends = [x.unsort(end, axis=1) for end in ends]
            return y, ends[0] if self.states == 1 else tuple(ends)
        x = ops.asarray(x)
        single = x.ndim == 2
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
        y, ends = self._layers(x, self._states(x, x.shape[1], state, single))
        if single:
            y, ends = y[:, 0], [end[:, 0] for end in ends]
        elif self.batch_first:
            y = ops.swapaxes(y, 0, 1)
        return y, ends[0] if self.states == 1 else tuple(ends)

    def _layers(self, x: Any, states: list[Variable]) -> tuple[Any, list[Variable]]:
        """Outputs like `x`, [T, N, inputs] or packed, and the last states of all layers."""
        last: list[list[Variable]] = [[] for _ in states]
        for layer in range(self.num_layers):
            if layer and self.dropout and self.training:
                x = mapped(lambda data: F.dropout(data, self.dropout), x)
            outputs = []
            for direction, suffix in enumerate(self._suffixes(layer)):
                at = layer * self.directions + direction
                run = run_packed if isinstance(x, PackedSequence) else run_whole
                y, ends = run(
                    partial(self._run, suffix), x, [s[at] for s in states], direction == 1
                )
                outputs.append(y)
                for found, end in zip(last, ends, strict=True):
                    found.append(end)
            x = outputs[0] if len(outputs) == 1 else side_by_side(outputs)
        return x, [ops.stack(found) for found in last]

    def _states(self, like: Variable, n: int, state: Any, single: bool) -> list[Variable]:
        rows = self.num_layers * self.directions
        widths = [self.proj_size or self.hidden_size, self.hidden_size][: self.states]
        shapes = [(rows, n, width) for width in widths]
        if state is None:
            return [zeros_like_states(like, *shape) for shape in shapes]
        given = [state] if self.states == 1 else list(state)
        states = [ops.asarray(s) for s in given]
        if single:
            states = [ops.expand_dims(s, axis=1) if s.ndim == 2 else s for s in states]
        if [tuple(s.shape) for s in states] != shapes:
            raise ValueError(
                f"{type(self).__name__}: states {[list(s.shape) for s in states]} must be "
                f"{len(shapes)} of {' and '.join(str(list(s)) for s in dict.fromkeys(shapes))}"
            )
        return states

    def _sorted(self, x: PackedSequence, state: Any) -> list[Variable]:
        if x.data.ndim != 2 or x.data.shape[1] != self.input_size:
            raise ValueError(
                f"{type(self).__name__}: packed data {list(x.data.shape)} must be "
                f"[steps, {self.input_size}]"
            )
        states = self._states(x.data, x.batch_sizes[0], state, False)
        return states if state is None else [x.sort(s, axis=1) for s in states]

    def _run(
        self, suffix: str, x: Variable, states: list[Variable], reverse: bool
    ) -> tuple[Variable, list[Variable]]:
        """One layer in one direction over `x` [T, N, inputs]."""
        weights = [getattr(self, f"weight_{kind}_{suffix}") for kind in ("ih", "hh")]
        biases = [getattr(self, f"bias_{kind}_{suffix}", None) for kind in ("ih", "hh")]
        if self.proj_size:
            projection = getattr(self, f"weight_hr_{suffix}")
            return run_projected(x, weights, projection, biases, states, reverse)
        return run_layer(self.cell, x, weights, biases, states, reverse)

    @property
    def cell(self) -> str:
        """The kind of cell, as `ops.recurrence` calls it."""
        return type(self).__name__.lower()

    def extra_repr(self) -> str:
        parts = [f"{self.input_size}, {self.hidden_size}"]
        defaults = {
            "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0,
            "bidirectional": False, "proj_size": 0,
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
