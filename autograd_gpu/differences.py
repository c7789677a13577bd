"""Central differences of a function of several arrays, for `autograd_gpu.grad_check`.

L = sum(w * f(inputs)) with fixed weights w in [-1, 1); each element is nudged by +eps and -eps, in
place, and put back.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from autograd_gpu.backend import Array, backend_of, load_backend
from autograd_gpu.engine import gradients
from autograd_gpu.modes import enable_grad, no_grad
from autograd_gpu.variable import Variable

DIRECTIONS = 2
"""How many random directions per input the fast mode tries."""


class GradCheckError(ValueError):
    """A derivative is wrong, or can't be checked.

    `input` is the index of the input, `name` what the message calls it, `element` the index of the
    element (None in fast mode), `analytic` and `numeric` the two numbers; all are None where the
    message is about the function as a whole.
    """

    def __init__(
        self,
        message: str,
        *,
        input: int | None = None,
        name: str | None = None,
        element: tuple[int, ...] | None = None,
        analytic: complex | None = None,
        numeric: complex | None = None,
    ) -> None:
        super().__init__(message)
        self.input = input
        self.name = name
        self.element = element
        self.analytic = analytic
        self.numeric = numeric


@dataclass(frozen=True)
class Problem:
    """A function of leaves, and the buffers that hold the leaves' values."""

    call: Callable[[Sequence[Variable]], list[Any]]
    buffers: list[Array]
    names: list[str]
    indices: list[int]
    make_leaf: Callable[[int], Variable] | None = None

    def leaves(self) -> list[Variable]:
        if self.make_leaf is not None:
            return [self.make_leaf(i) for i in range(len(self.buffers))]
        return [Variable(buffer, requires_grad=True) for buffer in self.buffers]

    def values(self) -> list[Array]:
        """The outputs that a gradient can be asked for, as arrays that nothing else holds."""
        with no_grad():
            outputs = self.call(self.leaves())
        return [x.copy() for x in map(raw, outputs) if is_differentiable(x)]

    def derivative(self, weights: list[Array], which: list[int]) -> Problem:
        """The gradient as a function of the inputs and of the gradient of the outputs."""
        n = len(self.buffers)

        def call(leaves: Sequence[Variable]) -> list[Any]:
            with enable_grad():
                outputs = self.call(leaves[:n])
                found = gradients(
                    [outputs[i] for i in which],
                    leaves[:n],
                    list(leaves[n:]),
                    create_graph=True,
                    allow_unused=True,
                )
            return [x for x in found if x is not None]

        make_leaf = None
        if self.make_leaf is not None:
            own = self.make_leaf

            def make_leaf(i: int) -> Variable:
                return own(i) if i < n else Variable(weights[i - n], requires_grad=True)

        names = [f"{name} (of the derivative)" for name in self.names]
        names += [f"the gradient of output {i} (of the derivative)" for i in which]
        indices = [*self.indices, *range(n, n + len(which))]
        return Problem(call, [*self.buffers, *weights], names, indices, make_leaf)


@dataclass(frozen=True)
class Numeric:
    """Central differences of L at the buffers."""

    problem: Problem
    weights: list[Array]
    eps: float

    def slope(self, buffer: Array, index: Any, step: Any) -> float:
        """dL/dt for `buffer[index] + t * step`, at t = 0."""
        before = buffer[index].copy()
        try:
            buffer[index] = before + self.eps * step
            there = buffer[index].copy()
            plus = self.problem.values()
            buffer[index] = before - self.eps * step
            width = float(abs(there - buffer[index]).max()) / float(abs(step + before * 0).max())
            minus = self.problem.values()
        finally:
            buffer[index] = before
        if not width:
            raise ValueError(
                f"grad_check: eps={self.eps:g} is too small for an input of {before.max()}"
            )
        _compare_layout(plus, minus)
        # The differences come first: what the step does not touch cancels exactly.
        return sum(map(_weighted, self.weights, plus, minus)) / width


def _weighted(weight: Array, plus: Array, minus: Array) -> float:
    xp = backend_of(plus).xp
    return float(xp.sum(xp.real(xp.conj(weight) * _difference(plus, minus))))


def elements(
    numeric: Numeric, buffer: Array, gradient: Array
) -> Iterator[tuple[tuple[int, ...] | None, complex, complex]]:
    for index in indices_of(buffer):
        if buffer.dtype.kind == "c":
            slope: complex = complex(
                numeric.slope(buffer, index, 1.0), numeric.slope(buffer, index, 1j)
            )
            yield index, complex(gradient[index]), slope
        else:
            yield index, float(gradient[index]), numeric.slope(buffer, index, 1.0)


def directions(
    numeric: Numeric, buffer: Array, gradient: Array
) -> Iterator[tuple[tuple[int, ...] | None, complex, complex]]:
    xp = backend_of(buffer).xp
    bits = random.Random(1)
    for _ in range(DIRECTIONS if buffer.size else 0):
        direction = uniform(bits, buffer.shape, buffer.dtype)
        # No element is nearly left out.
        direction = direction + 0.5 * xp.sign(direction)
        analytic = float(xp.sum(xp.real(xp.conj(gradient) * direction)))
        yield None, analytic, numeric.slope(buffer, ..., direction)


def uniform(bits: random.Random, shape: tuple[int, ...], dtype: Any) -> Array:
    """Numbers in [-1, 1) from raw MT19937 bits."""
    xp = load_backend("numpy").xp

    def numbers() -> Array:
        raw = [bits.getrandbits(32) for _ in range(math.prod(shape))]
        return xp.reshape(xp.asarray(raw, dtype="float64") / 2**31 - 1, shape)

    values = numbers()
    if dtype.kind == "c":
        values = values + 1j * numbers()
    return xp.asarray(values, dtype=dtype)


def require_deterministic(problem: Problem, base: list[Array]) -> None:
    again = problem.values()
    _compare_layout(base, again)
    for i, (a, b) in enumerate(zip(base, again, strict=True)):
        # Sums may differ in the last bits where memory is aligned differently.
        if bool((~(abs(_difference(a, b)) <= 1e-12 * (1 + abs(a)))).any()):
            raise GradCheckError(
                f"grad_check: the function is not deterministic: output {i} differed between two "
                f"calls with the same inputs; fix its random numbers (dropout, say) for the check"
            )


def _difference(a: Array, b: Array) -> Array:
    """`a - b`, which is 0 for equal infinities."""
    xp = backend_of(a).xp
    moved = a != b
    return xp.where(moved, a, 0) - xp.where(moved, b, 0)


def _compare_layout(a: list[Array], b: list[Array]) -> None:
    if [(x.shape, x.dtype) for x in a] != [(x.shape, x.dtype) for x in b]:
        raise GradCheckError(
            "grad_check: the function is not deterministic: its outputs changed in number, shape "
            "or dtype between two calls"
        )


def raw(x: Any) -> Any:
    return x.value if isinstance(x, Variable) else x


def is_differentiable(x: Any) -> bool:
    dtype = getattr(x, "dtype", None)
    return dtype is not None and (dtype.kind in "fc" or dtype.name == "bfloat16")


def is_finite(x: Array) -> bool:
    """Whether there is no NaN and no infinity."""
    return bool(backend_of(x).xp.isfinite(x).all())


def has_nan(x: Array) -> bool:
    """Whether there is a NaN."""
    return bool(backend_of(x).xp.isnan(x).any())


def indices_of(x: Array) -> Iterator[tuple[int, ...]]:
    """The indices of all elements."""
    return itertools.product(*map(range, x.shape))


def weights_for(output: Array, bits: random.Random) -> Array:
    """The weights of an output; 0 for infinities, which do not move."""
    xp = backend_of(output).xp
    weights = uniform(bits, output.shape, output.dtype)
    finite = xp.isfinite(output)
    return xp.asarray(xp.where(finite, weights, xp.zeros_like(weights)), dtype=output.dtype)
