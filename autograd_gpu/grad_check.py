"""Gradient checking: autograd's gradients against central differences, in float64 on the host.

L = sum(w * f(inputs)) with fixed weights w in [-1, 1), so that every element of the output counts
and swapped elements show.  The analytic side is one backward; the numeric side nudges each element
by +eps and -eps, in place.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

from autograd_gpu.backend import Array, find_backend, load_backend, use_backend
from autograd_gpu.differences import (
    GradCheckError as GradCheckError,
    Numeric,
    Problem,
    directions,
    elements,
    has_nan,
    indices_of,
    is_differentiable,
    is_finite,
    raw,
    require_deterministic,
    weights_for,
)
from autograd_gpu.engine import gradients
from autograd_gpu.forward_check import check_forward
from autograd_gpu.modes import enable_grad
from autograd_gpu.variable import Variable


def grad_check(
    fn: Callable[..., Any],
    inputs: Any,
    eps: float = 1e-6,
    atol: float = 1e-6,
    rtol: float = 1e-4,
    order: int = 1,
    fast: bool = False,
    forward: bool = False,
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
    forward
        Check forward mode too, what `jvp` does and the `jvp` of a Function, in random directions.

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
            if not constant and is_differentiable(value):
                buffers[i] = value = _in_double(value)
            arguments.append(Variable(value) if isinstance(x, Variable) else value)
        _require_finite(buffers)

        def call(leaves: Sequence[Variable]) -> list[Any]:
            passed = list(arguments)
            for i, leaf in zip(buffers, leaves, strict=True):
                passed[i] = leaf
            return _outputs(fn(*passed))

        names = [_name(f"input {i}", given[i]) for i in buffers]
        problem = Problem(call, list(buffers.values()), names, list(buffers))
        return _check(problem, Tolerances(eps, atol, rtol), order, fast, forward)


def grad_check_variables(
    fn: Callable[[], Any],
    variables: Variable | Iterable[Variable],
    eps: float = 1e-6,
    atol: float = 1e-6,
    rtol: float = 1e-4,
    order: int = 1,
    fast: bool = False,
    forward: bool = False,
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
    unique = list({id(x): x for x in found if is_differentiable(x.value)}.values())
    with use_backend("numpy"), _moved(unique) as buffers:
        _require_finite(dict(enumerate(buffers)))

        def call(leaves: Sequence[Variable]) -> list[Any]:
            return _outputs(fn())

        def leaf(i: int) -> Variable:
            unique[i].value = buffers[i]  # in case that fn replaced it
            return unique[i]

        labels = [names[id(x)] for x in unique]
        indices = [next(i for i, x in enumerate(found) if x is v) for v in unique]
        problem = Problem(call, buffers, labels, indices, leaf)
        return _check(problem, Tolerances(eps, atol, rtol), order, fast, forward)


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
class Tolerances:
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


def _check(problem: Problem, tolerances: Tolerances, order: int, fast: bool, forward: bool) -> bool:
    if not isinstance(order, int) or order < 1:
        raise ValueError(f"grad_check: order must be 1 or more, got {order!r}")
    if not problem.buffers:
        raise ValueError(
            "grad_check: nothing to check: no input is a floating-point or complex array"
        )
    for left in reversed(range(order)):
        weights, which = _check_first(problem, tolerances, fast, forward)
        if left:
            problem = problem.derivative(weights, which)
    return True


def _check_first(
    problem: Problem, tolerances: Tolerances, fast: bool, forward: bool
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
    base = {i: raw(x).copy() for i, x in enumerate(outputs) if is_differentiable(raw(x))}
    for i, x in base.items():
        if has_nan(x):
            raise GradCheckError(f"grad_check: output {i} of the function has a NaN")
    require_deterministic(problem, list(base.values()))
    bits = random.Random(0)
    weights = {i: weights_for(x, bits) for i, x in base.items()}
    seeds = [weights[i] for i in which]
    roots = [outputs[i] for i in which]
    found = gradients(roots, leaves, list(seeds), retain_graph=forward, allow_unused=True)
    grads = [x * 0 if g is None else g.value for x, g in zip(problem.buffers, found, strict=True)]
    if not forward:
        del roots, outputs
    numeric = Numeric(problem, list(weights.values()), tolerances.eps)
    for i, (buffer, gradient) in enumerate(zip(problem.buffers, grads, strict=True)):
        _require_finite_gradient(problem, i, gradient)
        pairs = (directions if fast else elements)(numeric, buffer, gradient)
        for element, a, n in pairs:
            if not tolerances.pass_(a, n):
                require_deterministic(problem, list(base.values()))
                _fail(problem, tolerances, list(base.values()), i, element, a, n)
    if forward:
        check_forward(problem, roots, seeds, leaves, grads, tolerances)
    return seeds, which


def _require_finite_gradient(problem: Problem, i: int, gradient: Array) -> None:
    if not is_finite(gradient):
        element = next(k for k in indices_of(gradient) if not is_finite(gradient[k]))
        raise GradCheckError(
            f"grad_check: {problem.names[i]}, element {element}: the gradient is "
            f"{gradient[element]}",
            input=problem.indices[i],
            name=problem.names[i],
            element=element,
            analytic=complex(gradient[element]),
        )


def _fail(
    problem: Problem,
    tolerances: Tolerances,
    base: list[Array],
    i: int,
    element: tuple[int, ...] | None,
    analytic: complex,
    numeric: complex,
) -> NoReturn:
    low = sorted({str(x.dtype) for x in base} - {"float64", "complex128"})
    hint = f"; the function computes in {', '.join(low)}, too coarse for such a step" if low else ""
    where = "in a random direction" if element is None else f"element {element}"
    raise GradCheckError(
        f"grad_check: {problem.names[i]}, {where}: analytic {analytic:.10g}, numeric "
        f"{numeric:.10g} (difference {abs(analytic - numeric):.3g}, eps={tolerances.eps:g}, "
        f"atol={tolerances.atol:g}, rtol={tolerances.rtol:g}){hint}",
        input=problem.indices[i],
        name=problem.names[i],
        element=element,
        analytic=analytic,
        numeric=numeric,
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


def _on_host(x: Any) -> Any:
    """A copy of an array on the host; other objects as they are, lists and floats as arrays."""
    value = raw(x)
    backend = find_backend(value)
    if backend is not None:
        return backend.to_host(value)
    if isinstance(value, (float, complex, list)):
        return load_backend("numpy").asarray(value)
    return value


def _double(x: Array) -> str:
    return "complex128" if x.dtype.kind == "c" else "float64"


def _in_double(x: Array) -> Array:
    return x.astype(_double(x), copy=False)


def _require_finite(buffers: dict[int, Array]) -> None:
    for i, buffer in buffers.items():
        if not is_finite(buffer):
            raise ValueError(f"grad_check: input {i} has a NaN or an infinity")


def _name(label: str, x: Any) -> str:
    name = x.name if isinstance(x, Variable) else None
    return label if name is None else f"{label} ({name!r})"
