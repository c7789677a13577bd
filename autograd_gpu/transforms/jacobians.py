"""jacobian, hessian and hvp: derivatives of higher rank."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from autograd_gpu import ops
from autograd_gpu.backend import Array, backend_of
from autograd_gpu.engine import gradients
from autograd_gpu.placement import beside, near
from autograd_gpu.transforms.derivatives import grad
from autograd_gpu.transforms.run import Run, any_requires_grad, match, seed
from autograd_gpu.transforms.tree import tree_like, zeros_like
from autograd_gpu.variable import Variable


def jacobian(f: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """The Jacobian of a function, of shape `y.shape + x.shape`, one backward per element of y.

    For nested arguments or outputs it has the structure of the output, with that of the argument in
    place of each array.  A complex function of complex arguments must be holomorphic.

    >>> jacobian(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """

    @functools.wraps(f, updated=())
    def of_arguments(*args: Any, **kwargs: Any) -> Any:
        run = Run(f, argnums, args, kwargs)
        blocks = []
        for y in run.leaves:
            y = y if isinstance(y, Variable) else Variable(y)
            blocks.append(run.as_arguments(run.closed(_rows(run, y))))
        return tree_like(run.y, blocks)

    return of_arguments


def _rows(run: Run, y: Variable) -> list[Variable]:
    """The Jacobians of one output by each inner Variable."""
    shapes = [y.shape + x.shape for x in run.inner]
    if not y.size or not y.requires_grad:
        dtypes = [backend_of(x.value).xp.result_type(x.dtype, y.dtype) for x in run.inner]
        return [
            Variable(beside(x.value).xp.zeros(shape, dtype=dtype))
            for x, shape, dtype in zip(run.inner, shapes, dtypes, strict=True)
        ]
    rows = [_row(run, y, k) for k in range(y.size)]
    return [
        ops.reshape(ops.stack([row[i] for row in rows]), shape) for i, shape in enumerate(shapes)
    ]


def _row(run: Run, y: Variable, k: int) -> list[Any]:
    pulled = _pull_one(run, y, k, 1)
    if y.dtype.kind != "c":
        return pulled
    if all(x.dtype.kind == "c" for x in run.inner):
        return [ops.conj(g) for g in pulled]
    imaginary = _pull_one(run, y, k, 1j)
    return [
        ops.conj(g) if x.dtype.kind == "c" else g + 1j * h
        for x, g, h in zip(run.inner, pulled, imaginary, strict=True)
    ]


def _pull_one(run: Run, y: Variable, k: int, value: complex) -> list[Variable]:
    cotangent: Array = zeros_like(y)
    with near(cotangent):
        cotangent = backend_of(cotangent).xp.zeros(y.shape, dtype=y.dtype)
        cotangent.reshape(-1)[k] = value
    return run.pull([y], [cotangent], create_graph=run.connected, retain_graph=True)


def hessian(f: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """The matrix of second derivatives of a scalar function, of shape `x.shape + x.shape`.

    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
    array([[4., 2.],
           [2., 0.]])
    """
    return jacobian(grad(f, argnums), argnums)


def hvp(f: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """The product of a scalar function's Hessian with a vector: `hvp(f)(x, v)`.

    The vector comes after the arguments of `f` and has the structure of the one that is
    differentiated by.  The Hessian itself is never formed.

    >>> hvp(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    array([4., 2.])
    """

    @functools.wraps(f, updated=())
    def product(*args: Any, **kwargs: Any) -> Any:
        *arguments, v = args
        run = Run(f, argnum, arguments, kwargs)
        y = run.scalar()
        vector = match(v, arguments[argnum], "hvp")
        found: list[Any] = [None] * len(run.inner)
        if y is not None:
            first = gradients([y], run.inner, create_graph=True, allow_unused=True)
            pairs = [
                (g, seed(c, x))
                for g, c, x in zip(first, vector, run.inner, strict=True)
                if g is not None and g.requires_grad
            ]
            needed = run.recording and (run.connected or any_requires_grad(vector))
            if pairs:
                found = gradients(
                    [g for g, _ in pairs],
                    run.inner,
                    [c for _, c in pairs],
                    create_graph=needed,
                    allow_unused=True,
                )
        grads = [
            Variable(zeros_like(x)) if g is None else g
            for x, g in zip(run.inner, found, strict=True)
        ]
        return run.as_arguments(run.closed(grads))

    return product
