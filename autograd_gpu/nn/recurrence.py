"""How one recurrent layer runs in one direction, over whole sequences."""

from __future__ import annotations

from typing import Any

from autograd_gpu import ops
from autograd_gpu.nn.utils.rnn import PackedSequence
from autograd_gpu.placement import backend_beside
from autograd_gpu.variable import Variable


def zeros_like_states(like: Variable, *shape: int) -> Variable:
    """Zeros of that shape beside `like` and in its dtype."""
    return Variable(backend_beside(like.value).xp.zeros(shape, dtype=like.dtype))


def run_layer(
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


def run_projected(
    x: Variable,
    weights: list[Any],
    projection: Any,
    biases: list[Any],
    states: list[Variable],
    reverse: bool,
) -> tuple[Variable, list[Variable]]:
    """`run_layer` for an LSTM whose output is projected; step by step, several ops for each."""
    bias = None if biases[0] is None else biases[0] + biases[1]
    inner = ops.linear(x, weights[0], bias)
    h, c = states
    outputs: list[Any] = [None] * x.shape[0]
    for t in range(x.shape[0] - 1, -1, -1) if reverse else range(x.shape[0]):
        i, f, m, o = ops.split(inner[t] + ops.linear(h, weights[1]), 4, axis=-1)
        c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(m)
        outputs[t] = h = ops.linear(ops.sigmoid(o) * ops.tanh(c), projection)
    return ops.stack(outputs), [h, c]


def run_whole(
    run: Any, x: Variable, states: list[Variable], reverse: bool
) -> tuple[Variable, list[Variable]]:
    """`run` over a sequence whose rows are all equally long."""
    return run(x, states, reverse)  # type: ignore[no-any-return]


def side_by_side(outputs: list[Any]) -> Any:
    """What two directions return, next to each other on the last axis."""
    if isinstance(outputs[0], PackedSequence):
        return outputs[0]._replace(data=ops.concat([y.data for y in outputs], axis=-1))
    return ops.concat(outputs, axis=-1)
