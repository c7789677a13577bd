"""vjp and jvp: products with the Jacobian, from the left and from the right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograd_gpu.callers import require_function
from autograd_gpu.modes import recording
from autograd_gpu.transforms.run import Run, any_requires_grad, match, seed
from autograd_gpu.transforms.tangents import ForwardRun
from autograd_gpu.variable import Variable


def vjp(f: Callable[..., Any], *xs: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """`f(*xs)`, and the function that pulls a cotangent back.

    Returns `(y, pull)`: `pull(g)`, for `g` of the structure, shapes and dtypes of `y`, returns a
    tuple with one gradient for each of `xs`.  It can be called any number of times.

    >>> y, pull = vjp(lambda a, b: a * b, np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    >>> pull(np.ones(2))
    (array([3., 4.]), array([1., 2.]))
    """
    require_function("vjp", f, "vjp(f, x)")
    run = Run(f, tuple(range(len(xs))), xs, {})

    def pull(g: Any) -> tuple[Any, ...]:
        outputs, cotangents = [], []
        for y, c in zip(run.leaves, match(g, run.y, "pull"), strict=True):
            if isinstance(y, Variable) and y.requires_grad:
                outputs.append(y)
                cotangents.append(seed(c, y))
        needed = recording.get() and (run.connected or any_requires_grad(cotangents))
        grads = run.pull(outputs, cotangents, create_graph=needed, retain_graph=True)
        result: tuple[Any, ...] = run.as_arguments(run.closed(grads))
        return result

    return run.outside(run.y), pull


def jvp(f: Callable[..., Any], xs: Any, vs: Any) -> tuple[Any, Any]:
    """`f(*xs)`, and its derivative along the tangents `vs`, in one pass without a graph.

    `xs` is a tuple of arguments and `vs` one of the same structure, shapes and dtypes, or both are
    one array.  Returns `(y, dy)`.  Tangents are carried along as `f` runs, so that memory does not
    grow with the number of ops.  Within `f`, use `grad` or `vjp` for gradients by what depends on
    `xs`: `gradients` finds no graph there and raises RuntimeError.

    Raises ValueError for tangents of another number or shape, TypeError for another dtype or
    backend and for integer arguments.

    >>> jvp(lambda x: x**2, (np.array([1.0, 2.0]),), (np.array([1.0, 10.0]),))
    (array([1., 4.]), array([ 2., 40.]))
    """
    require_function("jvp", f, "jvp(f, (x,), (v,))")
    if not isinstance(xs, (tuple, list)):
        xs, vs = (xs,), (vs,)
    run = ForwardRun(f, xs, match(list(vs), list(xs), "jvp"))
    return run.values(), run.tangents()
