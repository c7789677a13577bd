"""Gradient checking: autograd's gradients against central differences, in float64 on the host.

L = sum(w * f(inputs)) with fixed weights w in [-1, 1), so that every element of the output counts
and swapped elements show.  The analytic side is one backward; the numeric side nudges each element
by +eps and -eps, in place.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from autograd_gpu.backend import Array, backend_of, find_backend, load_backend, use_backend
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


def grad_check(
    fn: Callable[..., Any],
    inputs: Any,
    eps: float = 1e-6,
    atol: float = 1e-6,
    rtol: float = 1e-4,
    order: int = 1,
    fast: bool = False,
) -> bool:
    """Compare the gradients of `fn(*inputs)` with central differences; True if they agree.

    Parameters
    ----------
    fn
        Takes Variables and returns one or several (a tuple, list or dict), real or complex, of any
        shape.  It must be deterministic.
    inputs
        An array or a Variable, or a sequence of them, on any backend.  They are left alone: the
        check runs on float64 (complex128) copies on the host.  Integers, bools and other objects
        are passed on unchecked, and so is a Variable that requires no gradient beside others that
        do.
    eps, atol, rtol
        The step, and the tolerances: an element passes when
        `|analytic - numeric| <= atol + rtol * |numeric|`.
    order
        2 checks the derivative's derivative too, with respect to the inputs and to the gradient of
        the output; and so on.
    fast
        Check random directions instead of every element.

    Raises GradCheckError at the first disagreement, with the input, the element and both numbers;
    also for a NaN and for a function that is not deterministic.  Raises ValueError if there is
    nothing to check.

    >>> grad_check(lambda a, b: a * b, [np.ones((2, 3)), np.ones(3)], order=2)
    True
    """
    given = _inputs(inputs)
    with use_backend("numpy"):
        buffers: dict[int, Array] = {}
        arguments: list[Any] = []
        some_require = any(isinstance(x, Variable) and x.requires_grad for x in given)
        for i, x in enumerate(given):
            constant = isinstance(x, Variable) and some_require and not x.requires_grad
            value = _on_host(x)
            if not constant and _is_differentiable(value):
                buffers[i] = value = _in_double(value)
            arguments.append(Variable(value) if isinstance(x, Variable) else value)
        _require_finite(buffers)

        def call(leaves: Sequence[Variable]) -> list[Any]:
            passed = list(arguments)
            for i, leaf in zip(buffers, leaves, strict=True):
                passed[i] = leaf
            return _outputs(fn(*passed))

        names = [_name(f"input {i}", given[i]) for i in buffers]
        problem = _Problem(call, list(buffers.values()), names, list(buffers))
        return _check(problem, _Tolerances(eps, atol, rtol), order, fast)


def grad_check_variables(
    fn: Callable[[], Any],
    variables: Variable | Iterable[Variable],
    eps: float = 1e-6,
    atol: float = 1e-6,
    rtol: float = 1e-4,
    order: int = 1,
    fast: bool = False,
) -> bool:
    """`grad_check` for Variables that `fn()` reads by capture, as a module does its parameters.

    They are leaves.  For the check their values are on the host in float64; afterwards, also after
    an error, each has its own array and gradient back.

    >>> w = Variable([1.0, 2.0], requires_grad=True)
    >>> grad_check_variables(lambda: w * w, [w])
    True
    """
    found = [variables] if isinstance(variables, Variable) else list(variables)
    for i, x in enumerate(found):
        if not isinstance(x, Variable):
            raise TypeError(f"grad_check: variables[{i}] is {type(x).__name__}, not a Variable")
        if x.grad_fn is not None:
            raise ValueError(
                f"grad_check: variables[{i}] is the result of {x.grad_fn.name}; only leaves can be "
                f"checked, use grad_check for functions of their arguments"
            )
    names = {id(x): _name(f"variable {i}", x) for i, x in reversed(list(enumerate(found)))}
    unique = list({id(x): x for x in found if _is_differentiable(x.value)}.values())
    with use_backend("numpy"), _moved(unique) as buffers:
        _require_finite(dict(enumerate(buffers)))

        def call(leaves: Sequence[Variable]) -> list[Any]:
            return _outputs(fn())

        def leaf(i: int) -> Variable:
            unique[i].value = buffers[i]  # in case that fn replaced it
            return unique[i]

        labels = [names[id(x)] for x in unique]
        indices = [next(i for i, x in enumerate(found) if x is v) for v in unique]
        problem = _Problem(call, buffers, labels, indices, leaf)
        return _check(problem, _Tolerances(eps, atol, rtol), order, fast)


@contextmanager
def _moved(variables: Sequence[Variable]) -> Iterator[list[Array]]:
    """The Variables with copies on the host in float64 as values, until the end of the with."""
    attributes = ("value", "grad", "_requires_grad", "_accumulator", "_hooks", "_post_hooks")
    before = [[getattr(x, attribute) for attribute in attributes] for x in variables]
    try:
        buffers = [_in_double(_on_host(x)) for x in variables]
        for x, buffer in zip(variables, buffers, strict=True):
            x.value = buffer
            x.grad = None
            # A graph recorded before keeps its node, which knows the old dtype.
            x._accumulator = None
            x._hooks = x._post_hooks = None
            x._requires_grad = True
        yield buffers
    finally:
        for x, values in zip(variables, before, strict=True):
            for attribute, value in zip(attributes, values, strict=True):
                setattr(x, attribute, value)


@dataclass(frozen=True)
class _Tolerances:
    eps: float
    atol: float
    rtol: float

    def __post_init__(self) -> None:
        if not (self.eps > 0 and math.isfinite(self.eps)):
            raise ValueError(f"grad_check: eps must be positive, got {self.eps}")
        if not (self.atol >= 0 and self.rtol >= 0):
            raise ValueError(
                f"grad_check: atol and rtol can't be negative, got {self.atol} and {self.rtol}"
            )

    def pass_(self, analytic: complex, numeric: complex) -> bool:
        # Written such that a NaN fails.
        return abs(analytic - numeric) <= self.atol + self.rtol * abs(numeric)


@dataclass(frozen=True)
class _Problem:
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
        return [x.copy() for x in map(_raw, outputs) if _is_differentiable(x)]

    def derivative(self, weights: list[Array], which: list[int]) -> _Problem:
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
        return _Problem(call, [*self.buffers, *weights], names, indices, make_leaf)


def _check(problem: _Problem, tolerances: _Tolerances, order: int, fast: bool) -> bool:
    if not isinstance(order, int) or order < 1:
        raise ValueError(f"grad_check: order must be 1 or more, got {order!r}")
    if not problem.buffers:
        raise ValueError(
            "grad_check: nothing to check: no input is a floating-point or complex array"
        )
    for left in reversed(range(order)):
        weights, which = _check_first(problem, tolerances, fast)
        if left:
            problem = problem.derivative(weights, which)
    return True


def _check_first(
    problem: _Problem, tolerances: _Tolerances, fast: bool
) -> tuple[list[Array], list[int]]:
    """Check the first derivative; returns the weights of the differentiable outputs, and which
    these are."""
    leaves = problem.leaves()
    with enable_grad():
        outputs = problem.call(leaves)
    which = [i for i, x in enumerate(outputs) if isinstance(x, Variable) and x.requires_grad]
    if not which:
        raise GradCheckError(
            "grad_check: nothing to differentiate: no output of the function requires a gradient; "
            "was it detached, computed under no_grad, or not differentiable?"
        )
    base = [_raw(x).copy() for x in outputs if _is_differentiable(_raw(x))]
    for i, x in enumerate(base):
        if bool((x != x).any()):
            raise GradCheckError(f"grad_check: output {i} of the function has a NaN")
    _require_deterministic(problem, base)
    bits = random.Random(0)
    everything = {
        i: _uniform(bits, _raw(x).shape, _raw(x).dtype)
        for i, x in enumerate(outputs)
        if _is_differentiable(_raw(x))
    }
    weights = [everything[i] for i in which]
    found = gradients([outputs[i] for i in which], leaves, list(weights), allow_unused=True)
    low = {str(x.dtype) for x in base} - {"float64", "complex128"}
    del outputs
    analytic = [
        buffer * 0 if g is None else g.value
        for g, buffer in zip(found, problem.buffers, strict=True)
    ]
    numeric = _Numeric(problem, list(everything.values()), tolerances.eps)
    for i, (buffer, gradient) in enumerate(zip(problem.buffers, analytic, strict=True)):
        pairs = (
            _directions(numeric, buffer, gradient) if fast else _elements(numeric, buffer, gradient)
        )
        for element, a, n in pairs:
            if not tolerances.pass_(a, n):
                _require_deterministic(problem, base)
                hint = (
                    f"; the function computes in {', '.join(sorted(low))}, too coarse for eps="
                    f"{tolerances.eps:g}"
                    if low
                    else ""
                )
                where = "in a random direction" if element is None else f"element {element}"
                raise GradCheckError(
                    f"grad_check: {problem.names[i]}, {where}: analytic {_show(a)}, numeric "
                    f"{_show(n)} (difference {abs(a - n):.3g}, eps={tolerances.eps:g}, "
                    f"atol={tolerances.atol:g}, rtol={tolerances.rtol:g}){hint}",
                    input=problem.indices[i],
                    name=problem.names[i],
                    element=element,
                    analytic=a,
                    numeric=n,
                )
    return weights, which


@dataclass(frozen=True)
class _Numeric:
    """Central differences of L at the buffers."""

    problem: _Problem
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


def _elements(
    numeric: _Numeric, buffer: Array, gradient: Array
) -> Iterator[tuple[tuple[int, ...] | None, complex, complex]]:
    for index in itertools.product(*map(range, buffer.shape)):
        if buffer.dtype.kind == "c":
            slope: complex = complex(
                numeric.slope(buffer, index, 1.0), numeric.slope(buffer, index, 1j)
            )
            yield index, complex(gradient[index]), slope
        else:
            yield index, float(gradient[index]), numeric.slope(buffer, index, 1.0)


def _directions(
    numeric: _Numeric, buffer: Array, gradient: Array
) -> Iterator[tuple[tuple[int, ...] | None, complex, complex]]:
    xp = backend_of(buffer).xp
    bits = random.Random(1)
    for _ in range(DIRECTIONS if buffer.size else 0):
        direction = _uniform(bits, buffer.shape, buffer.dtype)
        # No element is nearly left out.
        direction = direction + 0.5 * xp.sign(direction)
        analytic = float(xp.sum(xp.real(xp.conj(gradient) * direction)))
        yield None, analytic, numeric.slope(buffer, ..., direction)


def _uniform(bits: random.Random, shape: tuple[int, ...], dtype: Any) -> Array:
    """Numbers in [-1, 1) from raw MT19937 bits."""
    xp = load_backend("numpy").xp

    def numbers() -> Array:
        raw = [bits.getrandbits(32) for _ in range(math.prod(shape))]
        return xp.reshape(xp.asarray(raw, dtype="float64") / 2**31 - 1, shape)

    values = numbers()
    if dtype.kind == "c":
        values = values + 1j * numbers()
    return xp.asarray(values, dtype=dtype)


def _require_deterministic(problem: _Problem, base: list[Array]) -> None:
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


def _inputs(inputs: Any) -> list[Any]:
    if isinstance(inputs, Variable) or find_backend(inputs) is not None:
        return [inputs]
    if isinstance(inputs, (bool, int, float, complex)):
        return [inputs]
    return list(inputs)


def _outputs(result: Any) -> list[Any]:
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (tuple, list)):
        return [x for item in result for x in _outputs(item)]
    if not isinstance(result, Variable) and find_backend(result) is None:
        raise TypeError(
            f"grad_check: the function returned {type(result).__name__}; a Variable or several "
            f"are needed"
        )
    return [result]


def _raw(x: Any) -> Any:
    return x.value if isinstance(x, Variable) else x


def _on_host(x: Any) -> Any:
    """A copy of an array on the host; other objects as they are, lists and floats as arrays."""
    raw = _raw(x)
    backend = find_backend(raw)
    if backend is not None:
        return backend.to_host(raw)
    if isinstance(raw, (float, complex, list)):
        return load_backend("numpy").asarray(raw)
    return raw


def _is_differentiable(x: Any) -> bool:
    dtype = getattr(x, "dtype", None)
    return dtype is not None and (dtype.kind in "fc" or dtype.name == "bfloat16")


def _double(x: Array) -> str:
    return "complex128" if x.dtype.kind == "c" else "float64"


def _in_double(x: Array) -> Array:
    return x.astype(_double(x), copy=False)


def _require_finite(buffers: dict[int, Array]) -> None:
    for i, buffer in buffers.items():
        if not bool(backend_of(buffer).xp.isfinite(buffer).all()):
            raise ValueError(f"grad_check: input {i} has a NaN or an infinity")


def _name(label: str, x: Any) -> str:
    name = x.name if isinstance(x, Variable) else None
    return label if name is None else f"{label} ({name!r})"


def _show(x: complex) -> str:
    return f"{x:.10g}"
