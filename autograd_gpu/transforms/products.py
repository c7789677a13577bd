"""vjp and jvp: products with the Jacobian, from the left and from the right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograd_gpu.engine import gradients
from autograd_gpu.modes import recording
from autograd_gpu.transforms.run import Run, any_requires_grad, match, seed
from autograd_gpu.transforms.tree import tree_like, zeros_like
from autograd_gpu.variable import Variable


def vjp(f: Callable[..., Any], *xs: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """`f(*xs)`, and the function that pulls a cotangent back.

    Returns `(y, pull)`: `pull(g)`, for `g` of the structure, shapes and dtypes of `y`, returns a
    tuple with one gradient for each of `xs`.  It can be called any number of times.

    >>> y, pull = vjp(lambda a, b: a * b, np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    >>> pull(np.ones(2))
    (array([3., 4.]), array([1., 2.]))
    """
    run = Run(f, range(len(xs)), xs, {})

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
    """`f(*xs)`, and its derivative along the tangents `vs`.

    `xs` is a tuple of arguments and `vs` one of the same structure, or both are one array.  Returns
    `(y, dy)`.  The gradient is linear in its cotangent, and what multiplies the cotangent there is
    the Jacobian; so two reverse passes give the product from the right.

    >>> jvp(lambda x: x**2, (np.array([1.0, 2.0]),), (np.array([1.0, 10.0]),))
    (array([1., 4.]), array([ 2., 40.]))
    """
    if not isinstance(xs, (tuple, list)):
        xs, vs = (xs,), (vs,)
    run = Run(f, range(len(xs)), xs, {})
    tangents = match(list(vs), list(xs), "jvp")
    outputs = run.outputs()
    dummies = [Variable(zeros_like(y), requires_grad=True) for y in outputs]
    products: list[Any] = [None] * len(outputs)
    if outputs:
        pulled = gradients(outputs, run.inner, dummies, create_graph=True, allow_unused=True)
        pairs = [
            (g, seed(v, x))
            for g, v, x in zip(pulled, tangents, run.inner, strict=True)
            if g is not None and g.requires_grad
        ]
        needed = run.recording and (run.connected or any_requires_grad(tangents))
        if pairs:
            products = gradients(
                [g for g, _ in pairs],
                dummies,
                [v for _, v in pairs],
                create_graph=needed,
                allow_unused=True,
            )
    as_variable = run.has_variables or any(isinstance(v, Variable) for v in tangents)
    left = iter(products)
    leaves = []
    for y in run.leaves:
        dy = next(left) if isinstance(y, Variable) and y.requires_grad else None
        if dy is None:
            y = y if isinstance(y, Variable) else Variable(y)
            dy = Variable(zeros_like(y))
        leaves.append(dy if as_variable or dy.requires_grad else dy.value)
    return run.outside(run.y), tree_like(run.y, leaves)
