"""grad, value_and_grad and elementwise_grad: gradients as functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from autograd_gpu.placement import backend_beside
from autograd_gpu.transforms.argnums import argument_numbers
from autograd_gpu.transforms.run import Run


def grad(f: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """The gradient of a function of real scalar value, as a function of the same arguments.

    Parameters
    ----------
    f
        Takes arrays, Variables or nested tuples, lists and dicts of them, and sees Variables in
        place of those in `argnums`.
    argnums
        The argument to differentiate by, or several, which gives a tuple.

    Arrays in, arrays out; Variables in, Variables out.  Nests to any order: what depends on a
    Variable outside that requires a gradient, passed in or read by `f`, is a Variable that can be
    differentiated again, unless called under `no_grad`.  Raises ValueError for a value that is no
    scalar, TypeError for a complex value, for integer arguments, and for an array as `argnums`.

    >>> grad(lambda x: x**3)(2.0)
    array(12., dtype=float32)
    >>> grad(grad(lambda x: x**3))(2.0)
    array(12., dtype=float32)
    """
    both = value_and_grad(f, argument_numbers("grad", f, argnums))

    @functools.wraps(f, updated=())
    def gradient(*args: Any, **kwargs: Any) -> Any:
        return both(*args, **kwargs)[1]

    return gradient


def value_and_grad(
    f: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """As `grad`, returning the pair of the value and the gradient.

    With `has_aux=True` the function returns a pair `(value, aux)` itself, and the result is
    `((value, aux), gradient)`.

    >>> value_and_grad(lambda x: sum(x * x))(np.array([1.0, 2.0]))
    (array(5.), array([2., 4.]))
    """
    argnums = argument_numbers("value_and_grad", f, argnums)

    @functools.wraps(f, updated=())
    def both(*args: Any, **kwargs: Any) -> Any:
        run = Run(f, argnums, args, kwargs, has_aux)
        y = run.scalar()
        grads = run.pull([] if y is None else [y], None, create_graph=run.connected)
        value = run.outside(run.y)
        result = (value, run.outside(run.aux)) if has_aux else value
        return result, run.as_arguments(run.closed(grads))

    return both


def elementwise_grad(f: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """The derivative of a function that treats every element by itself.

    It is the gradient of the sum of all outputs, which for such a function has the derivative of
    each element in its place.

    >>> elementwise_grad(lambda x: x**2)(np.array([1.0, 2.0, 3.0]))
    array([2., 4., 6.])
    """
    argnums = argument_numbers("elementwise_grad", f, argnums)

    @functools.wraps(f, updated=())
    def derivative(*args: Any, **kwargs: Any) -> Any:
        run = Run(f, argnums, args, kwargs)
        if len(run.leaves) != 1 or run.y is not run.leaves[0]:
            raise TypeError(f"elementwise_grad: {run.name} must return one array")
        outputs = run.outputs()
        if any(y.dtype.kind == "c" for y in outputs):
            raise TypeError(f"elementwise_grad: {run.name} returned a complex array; use vjp")
        ones = [backend_beside(y.value).xp.ones_like(y.value) for y in outputs]
        grads = run.pull(outputs, ones, create_graph=run.connected)
        return run.as_arguments(run.closed(grads))

    return derivative
