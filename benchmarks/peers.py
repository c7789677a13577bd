"""How a row's forward becomes a step in each of the programs that are compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from jax_steps import build_jax
from programs import Program, ag, hips, hips_numpy, mygrad, torch
from tinygrad_steps import build_tinygrad

if TYPE_CHECKING:
    from rows import Row


def build(row: Row, program: str, data: SimpleNamespace) -> Program:
    """The row's step for a program; it owns `data` and may write into it."""
    return BUILDERS[program](row, data)


def by_hand(row: Row, data: SimpleNamespace) -> Program:
    return Program(row.by_hand(data))


def ours(row: Row, data: SimpleNamespace) -> Program:
    if row.mode == "call":
        arrays = [getattr(data, name) for name in row.leaves]
        call = _replaying(partial(row.ours, data), *arrays) if row.compiled else row.ours
        return Program(lambda: [call(*arrays) if row.compiled else call(data, *arrays)])
    leaves = [ag.Variable(getattr(data, name), requires_grad=True) for name in row.leaves]
    run = partial(row.bare("ours") or partial(row.ours, _convert(data, ag.Variable)), *leaves)
    if row.mode == "no_grad":
        return Program(lambda: [run()], ag.no_grad)
    if row.mode == "forward":
        return Program(lambda: [run()])
    upstream = [data.g] if hasattr(data, "g") else []
    if row.optimiser is not None:
        name, lr = row.optimiser
        optimiser = (ag.optim.SGD if name == "sgd" else ag.optim.Adam)(leaves, lr=lr)

        def train() -> Sequence[Any]:
            optimiser.zero_grad()
            run().backward()
            optimiser.step()
            return [v.grad for v in leaves] + leaves

        if not row.compiled:
            return Program(train)
        before, state = [v.value.copy() for v in leaves], optimiser.state_dict()
        replay = _replaying(train)
        for v, value in zip(leaves, before, strict=True):
            v.value[...] = value
        optimiser.load_state_dict(state)
        return Program(replay)

    def step() -> Sequence[Any]:
        for v in leaves:
            v.zero_grad()
        run().backward(*upstream)
        return [v.grad for v in leaves]

    return Program(_replaying(step) if row.compiled else step)


def _replaying(step: Callable[..., Any], *args: Any) -> Callable[..., Any]:
    """The step compiled, and called until it is replayed."""
    compiled = ag.compile(step)
    while not compiled.replays:
        compiled(*args)
        if compiled.reason is not None:
            raise RuntimeError(f"not compiled: {compiled.reason}")
    return compiled


def pytorch(
    row: Row, data: SimpleNamespace, transform: Callable[..., Any] = lambda forward: forward
) -> Program:
    """PyTorch's step; `transform` is what is done to the forward first."""
    tensors = _convert(data, torch.from_numpy, integers=torch.from_numpy)
    if row.mode == "call":
        return Program(
            lambda: [row.torch(tensors, *[getattr(tensors, name) for name in row.leaves])]
        )
    leaves = [getattr(tensors, name).requires_grad_() for name in row.leaves]
    bare = row.bare("torch")
    run = (
        partial(transform(bare), *leaves)
        if bare
        else partial(transform(row.torch), tensors, *leaves)
    )
    if row.mode == "no_grad":
        return Program(lambda: [run()], torch.no_grad)
    if row.mode == "forward":
        return Program(lambda: [run()])
    upstream = [tensors.g] if hasattr(data, "g") else []
    if row.optimiser is not None:
        name, lr = row.optimiser
        optimiser = (torch.optim.SGD if name == "sgd" else torch.optim.Adam)(leaves, lr=lr)

        def train() -> Sequence[Any]:
            optimiser.zero_grad()
            run().backward()
            optimiser.step()
            return [v.grad for v in leaves] + leaves

        return Program(train)

    def step() -> Sequence[Any]:
        for v in leaves:
            v.grad = None
        run().backward(*upstream)
        return [v.grad for v in leaves]

    return Program(step)


def torch_compile(row: Row, data: SimpleNamespace) -> Program:
    torch.compiler.reset()  # what was compiled for other shapes or dtypes would make it general
    return pytorch(row, data, partial(torch.compile, dynamic=False))


def hips_autograd(row: Row, data: SimpleNamespace) -> Program:
    leaves = [getattr(data, name) for name in row.leaves]
    argnums = tuple(range(len(leaves))) if len(leaves) > 1 else 0
    forward = partial(row.autograd, hips_numpy, data)
    if row.mode in ("no_grad", "call"):
        return Program(lambda: [forward(*leaves)])
    record = hips.make_vjp(forward, argnums)
    if row.mode == "forward":
        return Program(lambda: [record(*leaves)[1]])
    if hasattr(data, "g"):

        def step() -> Sequence[Any]:
            gradients = record(*leaves)[0](data.g)
            return gradients if argnums else [gradients]

        return Program(step)
    value_and_grad = hips.value_and_grad(forward, argnums)
    update = numpy_optimiser(row, leaves)

    def train() -> Sequence[Any]:
        _, gradients = value_and_grad(*leaves)
        gradients = list(gradients) if argnums else [gradients]
        return update(gradients)

    return Program(train)


def my_grad(row: Row, data: SimpleNamespace) -> Program:
    leaves = [mygrad.tensor(getattr(data, name), copy=False) for name in row.leaves]
    run = partial(row.mygrad, mygrad, data, *leaves)
    if row.mode == "no_grad":
        return Program(lambda: [run()], lambda: mygrad.no_autodiff)
    if row.mode == "forward":
        return Program(lambda: [run()])
    upstream = [data.g] if hasattr(data, "g") else []
    update = numpy_optimiser(row, [v.data for v in leaves])

    def step() -> Sequence[Any]:
        for v in leaves:
            v.null_grad()
        run().backward(*upstream)
        return update([v.grad for v in leaves])

    return Program(step)


BUILDERS = {
    "ours": ours,
    "numpy": by_hand,
    "torch": pytorch,
    "torch_compile": torch_compile,
    "jax": partial(build_jax, jit=True),
    "jax_eager": partial(build_jax, jit=False),
    "autograd": hips_autograd,
    "mygrad": my_grad,
    "tinygrad": build_tinygrad,
}


def numpy_optimiser(row: Row, leaves: list[np.ndarray]) -> Callable[[list[Any]], Sequence[Any]]:
    """The update for programs that bring no optimiser: changes `leaves` in place."""
    if row.optimiser is None:
        return lambda gradients: gradients
    name, lr = row.optimiser
    if name == "sgd":

        def descend(gradients: list[Any]) -> Sequence[Any]:
            for p, g in zip(leaves, gradients, strict=True):
                p -= lr * g
            return gradients + leaves

        return descend
    adam = Adam(leaves, lr)

    def update(gradients: list[Any]) -> Sequence[Any]:
        adam(gradients)
        return gradients + leaves

    return update


class Adam:
    """Adam on NumPy arrays, in place and with two scratch buffers per parameter."""

    def __init__(self, parameters: list[np.ndarray], lr: float) -> None:
        self.parameters, self.lr, self.t = parameters, lr, 0
        # m, v and two scratch arrays
        self.state = [(np.zeros_like(p), np.zeros_like(p), p.copy(), p.copy()) for p in parameters]

    def __call__(self, gradients: Sequence[np.ndarray]) -> None:
        beta1, beta2, eps = 0.9, 0.999, 1e-8
        self.t += 1
        correct1, correct2 = 1 - beta1**self.t, 1 - beta2**self.t
        for p, g, (m, v, a, b) in zip(self.parameters, gradients, self.state, strict=True):
            np.multiply(g, 1 - beta1, out=a)
            m *= beta1
            m += a
            np.multiply(g, g, out=a)
            a *= 1 - beta2
            v *= beta2
            v += a
            np.multiply(v, 1 / correct2, out=a)
            np.sqrt(a, out=a)
            a += eps
            np.divide(m, a, out=b)
            b *= self.lr / correct1
            p -= b


def _convert(
    data: SimpleNamespace,
    floats: Callable[[np.ndarray], Any],
    integers: Callable[[np.ndarray], Any] = lambda array: array,
) -> SimpleNamespace:
    """The data with its arrays converted; numbers and tuples stay."""
    converted = {}
    for name, value in vars(data).items():
        if isinstance(value, np.ndarray):
            value = (floats if value.dtype.kind == "f" else integers)(value)
        converted[name] = value
    return SimpleNamespace(**converted)
