"""Single operations on 8x8 arrays: what a graph costs on top of NumPy's own call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from programs import Step, ag, mygrad, torch
from rows import Data, Mode, Row, normal

TITLES = {
    "step": "small ops 8x8, forward and backward",
    "forward": "small ops 8x8, recorded forward",
    "no_grad": "small ops 8x8, no_grad",
}


@dataclass(frozen=True)
class Op:
    """An operation of one or two operands in each program's spelling."""

    name: str
    hand: Callable[..., Any]
    hand_backward: Callable[..., tuple[Any, ...]]  # (g, y, *operands)
    ours: Callable[..., Any]
    torch: Callable[..., Any]
    formula: Callable[..., Any]  # (xp, *operands)
    operands: int = 1
    result: tuple[int, ...] = (8, 8)
    mygrad: Callable[..., Any] | None = None
    tinygrad: Callable[..., Any] | None = None  # where PyTorch's spelling is not tinygrad's


def _getitem_backward(g: np.ndarray, y: np.ndarray, a: np.ndarray) -> tuple[np.ndarray]:
    gradient = np.zeros_like(a)
    gradient[2:6, 1:] = g
    return (gradient,)


OPS = [
    Op(
        "add",
        operands=2,
        hand=np.add,
        hand_backward=lambda g, y, a, b: (g, g),
        ours=lambda a, b: a + b,
        torch=lambda a, b: a + b,
        formula=lambda xp, a, b: a + b,
    ),
    Op(
        "multiply",
        operands=2,
        hand=np.multiply,
        hand_backward=lambda g, y, a, b: (g * b, g * a),
        ours=lambda a, b: a * b,
        torch=lambda a, b: a * b,
        formula=lambda xp, a, b: a * b,
    ),
    Op(
        "divide",
        operands=2,
        hand=np.divide,
        hand_backward=lambda g, y, a, b: ((ga := g / b), -ga * y),
        ours=lambda a, b: a / b,
        torch=lambda a, b: a / b,
        formula=lambda xp, a, b: a / b,
    ),
    Op(
        "matmul",
        operands=2,
        hand=np.matmul,
        hand_backward=lambda g, y, a, b: (g @ b.T, a.T @ g),
        ours=lambda a, b: a @ b,
        torch=lambda a, b: a @ b,
        formula=lambda xp, a, b: a @ b,
    ),
    Op(
        "tanh",
        hand=np.tanh,
        hand_backward=lambda g, y, a: (g * (1 - y * y),),
        ours=lambda a: ag.tanh(a),
        torch=lambda a: torch.tanh(a),
        tinygrad=lambda a: a.tanh(),
        formula=lambda xp, a: xp.tanh(a),
    ),
    Op(
        "exp",
        hand=np.exp,
        hand_backward=lambda g, y, a: (g * y,),
        ours=lambda a: ag.exp(a),
        torch=lambda a: torch.exp(a),
        tinygrad=lambda a: a.exp(),
        formula=lambda xp, a: xp.exp(a),
    ),
    Op(
        "relu",
        hand=lambda a: np.maximum(a, 0),
        hand_backward=lambda g, y, a: (g * (a > 0),),
        ours=lambda a: ag.relu(a),
        torch=lambda a: torch.relu(a),
        tinygrad=lambda a: a.relu(),
        formula=lambda xp, a: xp.maximum(a, 0),
        mygrad=lambda a: mygrad.nnet.relu(a),
    ),
    Op(
        "sum",
        result=(),
        hand=lambda a: np.add.reduce(a, None),
        hand_backward=lambda g, y, a: (np.full_like(a, g),),
        ours=lambda a: ag.sum(a),
        torch=lambda a: torch.sum(a),
        tinygrad=lambda a: a.sum(),
        formula=lambda xp, a: xp.sum(a),
    ),
    Op(
        "sum over rows",
        result=(8,),
        hand=lambda a: np.add.reduce(a, 0),
        hand_backward=lambda g, y, a: (np.repeat(g[None], 8, 0),),
        ours=lambda a: ag.sum(a, axis=0),
        torch=lambda a: torch.sum(a, dim=0),
        tinygrad=lambda a: a.sum(0),
        formula=lambda xp, a: xp.sum(a, axis=0),
    ),
    Op(
        "getitem",
        result=(4, 7),
        hand=lambda a: a[2:6, 1:],
        hand_backward=_getitem_backward,
        ours=lambda a: a[2:6, 1:],
        torch=lambda a: a[2:6, 1:],
        formula=lambda xp, a: a[2:6, 1:],
    ),
    Op(
        "transpose",
        hand=lambda a: a.T,
        hand_backward=lambda g, y, a: (g.T,),
        ours=lambda a: a.T,
        torch=lambda a: a.T,
        formula=lambda xp, a: xp.transpose(a),
    ),
]


class SmallOp(Row):
    """One operation, in one mode."""

    seconds = 0.03
    left_out = MappingProxyType({"torch_compile": "not compiled: a single op"})

    def __init__(self, op: Op, mode: Mode) -> None:
        self.op, self.mode = op, mode
        self.name, self.family = op.name, TITLES[mode]
        self.leaves = ("a", "b")[: op.operands]

    def data(self, rng: np.random.Generator, dtype: type, small: bool) -> Data:
        d = Data(a=normal(rng, dtype, 8, 8), b=normal(rng, dtype, 8, 8))
        d.g = normal(rng, dtype, *self.op.result)
        return d

    def by_hand(self, d: Data) -> Step:
        forward, backward, g = self.op.hand, self.op.hand_backward, d.g
        operands = (d.a, d.b)[: self.op.operands]
        if self.mode != "step":
            return lambda: [forward(*operands)]
        return lambda: backward(g, forward(*operands), *operands)

    def ours(self, d: Data, *leaves: Any) -> Any:
        return self.op.ours(*leaves)

    def torch(self, d: Data, *leaves: Any) -> Any:
        return self.op.torch(*leaves)

    def bare(self, program: str) -> Callable[..., Any]:
        return getattr(self.op, program)

    def formula(self, xp: Any, d: Data, *leaves: Any) -> Any:
        return self.op.formula(xp, *leaves)

    def mygrad(self, xp: Any, d: Data, *leaves: Any) -> Any:
        return self.op.mygrad(*leaves) if self.op.mygrad else self.op.formula(xp, *leaves)

    def tinygrad(self, d: Data, *leaves: Any) -> Any:
        return (self.op.tinygrad or self.op.torch)(*leaves)


class BareNode:
    __slots__ = ("edges", "saved")


class BareVariable:
    __slots__ = ("node", "value")


class BareOp(SmallOp):
    """The same beside the least that a graph in Python can do: one object for the value and, while
    recording, one for the op, with what any derivative might need. It checks nothing."""

    left_out = MappingProxyType(
        dict.fromkeys(
            ("torch", "torch_compile", "jax", "jax_eager", "autograd", "mygrad", "tinygrad"),
            "in tables above",
        )
    )

    def __init__(self, op: Op, mode: Mode) -> None:
        super().__init__(op, mode)
        self.family = f"{TITLES[mode]}, beside a bare graph"

    def by_hand(self, d: Data) -> Step:
        forward, recorded, count = self.op.hand, self.mode == "forward", self.op.operands
        leaves = []
        for array in (d.a, d.b):
            leaves.append(BareVariable())
            leaves[-1].value, leaves[-1].node = array, None

        def unary(a: BareVariable) -> BareVariable:
            x = a.value
            y = BareVariable()
            y.value = forward(x)
            y.node = None
            if recorded:
                node = y.node = BareNode()
                node.edges = (a.node,)
                node.saved = x
            return y

        def binary(a: BareVariable, b: BareVariable) -> BareVariable:
            u, v = a.value, b.value
            y = BareVariable()
            y.value = forward(u, v)
            y.node = None
            if recorded:
                node = y.node = BareNode()
                node.edges = (a.node, b.node)
                node.saved = (u, v)
            return y

        a, b = leaves
        return (lambda: [unary(a)]) if count == 1 else (lambda: [binary(a, b)])


ROWS: list[Row] = [SmallOp(op, mode) for mode in ("step", "forward", "no_grad") for op in OPS]
ROWS += [BareOp(op, mode) for mode in ("forward", "no_grad") for op in OPS]
AGGREGATED = tuple(dict.fromkeys(row.family for row in ROWS))
