"""jacobian, hessian and hvp: derivatives of higher rank."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from autograd_gpu import ops
from autograd_gpu.backend import SEVERAL_DEVICES, Array, backend_of
from autograd_gpu.batched import Batched
from autograd_gpu.batching import batched
from autograd_gpu.callers import described, require_function
from autograd_gpu.engine import gradients
from autograd_gpu.forward import push
from autograd_gpu.graph import gradient_edge
from autograd_gpu.modes import watching
from autograd_gpu.placement import backend_beside
from autograd_gpu.transforms.argnums import argument_numbers
from autograd_gpu.transforms.derivatives import grad
from autograd_gpu.transforms.run import Run, any_requires_grad, match, seed
from autograd_gpu.transforms.tree import tree_like, zeros_like
from autograd_gpu.variable import Variable

LARGEST = 2**22
"""How many elements an array of a batch may have, as far as arguments and outputs tell."""


def jacobian(
    f: Callable[..., Any], argnums: int | Sequence[int] = 0, mode: str = "auto"
) -> Callable[..., Any]:
    """The Jacobian of a function, of shape `y.shape + x.shape`.

    Parameters
    ----------
    f, argnums
        As for `grad`; `f` may return arrays of any shape, also nested.
    mode
        'reverse' pulls the rows back, 'forward' pushes the columns forward; 'auto' takes 'forward'
        where there are at most half as many columns as rows.  The result is the same.

    All rows (or columns) go through the graph together, as one more axis of every array, or in
    several batches where that would take too much memory.  One by one they go only if the result
    has to be differentiable again.

    For nested arguments or outputs it has the structure of the output, with that of the argument in
    place of each array.  A complex function of complex arguments must be holomorphic.  Raises
    ValueError for another mode, TypeError for integer arguments.

    >>> jacobian(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    argnums = argument_numbers("jacobian", f, argnums)
    if mode not in ("auto", "forward", "reverse"):
        raise ValueError(f"jacobian: mode is 'auto', 'forward' or 'reverse', not {mode!r}")

    @functools.wraps(f, updated=())
    def of_arguments(*args: Any, **kwargs: Any) -> Any:
        run = Run(f, argnums, args, kwargs)
        ys = [y if isinstance(y, Variable) else Variable(y) for y in run.leaves]
        forward = mode == "forward"
        if mode == "auto":
            rows = sum([y.size for y in ys if y.requires_grad])
            forward = 2 * sum([x.size for x in run.inner]) <= rows
        blocks = _columns(run, ys) if forward else [_rows(run, y) for y in ys]
        return tree_like(run.y, [run.as_arguments(run.closed(block)) for block in blocks])

    return of_arguments


# Reverse --------------------------------------------------------------------------------------


def _rows(run: Run, y: Variable) -> list[Variable]:
    """The Jacobians of one output by each inner Variable."""
    if not y.size or not y.requires_grad:
        return [_zeros(y, x) for x in run.inner]
    pulled = _pulled(run, y, 1)
    if y.dtype.kind == "c":
        if all(x.dtype.kind == "c" for x in run.inner):
            pulled = [ops.conj(g) for g in pulled]
        else:
            pulled = [
                ops.conj(g) if x.dtype.kind == "c" else g + 1j * h
                for x, g, h in zip(run.inner, pulled, _pulled(run, y, 1j), strict=True)
            ]
    return [ops.reshape(g, y.shape + x.shape) for x, g in zip(run.inner, pulled, strict=True)]


def _pulled(run: Run, y: Variable, value: complex) -> list[Variable]:
    """The gradients [y.size, *x.shape] of `value` times each element of `y`."""
    sizes = [y.size, *(x.size for x in run.inner)]
    parts = []
    for batch in unit_batches(y, value, sizes, one_by_one=_one_by_one(run)):
        grads = run.pull([y], [batch], create_graph=run.connected, retain_graph=True)
        parts.append([unbatched(g, batch) for g in grads])
    return [ops.concat(column) for column in zip(*parts, strict=True)]


# Forward --------------------------------------------------------------------------------------


def _columns(run: Run, ys: list[Variable]) -> list[list[Variable]]:
    """The Jacobians of each output by each inner Variable."""
    blocks: list[list[Variable]] = [[] for _ in ys]
    for x in run.inner:
        pushed = _pushed(run, ys, x, 1) if x.size else [None] * len(ys)
        if x.dtype.kind == "c" and any(y.dtype.kind != "c" for y in ys):
            along = _pushed(run, ys, x, 1j) if x.size else pushed
            pushed = [
                t if t is None or u is None or y.dtype.kind == "c" else t + 1j * u
                for y, t, u in zip(ys, pushed, along, strict=True)
            ]
        for y, block, t in zip(ys, blocks, pushed, strict=True):
            if t is None:
                block.append(_zeros(y, x))
            else:
                block.append(ops.reshape(ops.moveaxis(t, 0, -1), y.shape + x.shape))
    return blocks


def _pushed(run: Run, ys: list[Variable], x: Variable, value: complex) -> list[Variable | None]:
    """The tangents [x.size, *y.shape] along `value` times each element of `x`."""
    node = gradient_edge(x)
    assert node is not None
    nodes = [gradient_edge(y) for y in ys]
    roots = [n for n in nodes if n is not None]
    sizes = [x.size, *(y.size for y in ys)]
    parts = []
    for batch in unit_batches(x, value, sizes, one_by_one=_one_by_one(run)):
        left = iter(push(roots, {node: batch}, recorded=run.connected))
        tangents = [None if n is None else next(left) for n in nodes]
        parts.append([None if t is None else unbatched(t, batch) for t in tangents])
    return [
        None if column[0] is None else ops.concat(column) for column in zip(*parts, strict=True)
    ]


def _zeros(y: Variable, x: Variable) -> Variable:
    xp = backend_beside(x.value).xp
    return Variable(xp.zeros(y.shape + x.shape, dtype=xp.result_type(x.dtype, y.dtype)))


# Units ----------------------------------------------------------------------------------------


def _one_by_one(run: Run) -> bool:
    """Whether there can be no batches: results with a graph, modes that look at every gradient, and
    arrays on several devices."""
    return run.connected or bool(watching) or bool(SEVERAL_DEVICES)


def unit_batches(
    like: Variable, value: complex, sizes: Sequence[int], *, one_by_one: bool
) -> Iterator[Any]:
    """Arrays like `like` with `value` at one element and 0 elsewhere, for every element: in batches
    whose arrays, of `sizes` for each element, are not too large; or one by one."""
    xp = backend_beside(like.value).xp
    n = like.size
    step = 1 if one_by_one else max(1, LARGEST // max(sizes))
    for start in range(0, n, step):
        count = min(step, n - start)
        units = xp.eye(count, n, k=start, dtype=like.dtype)
        units = xp.reshape(units if value == 1 else units * value, (count, *like.shape))
        yield units[0] if one_by_one else batched(units)


def unbatched(g: Variable | Array, batch: Any) -> Variable:
    """The arrays of a result, along a new first axis."""
    raw = g.value if isinstance(g, Variable) else g
    if not isinstance(batch, Batched):
        return ops.expand_dims(g)
    if isinstance(raw, Batched):
        return Variable(raw.data)
    xp = backend_of(raw).xp
    return Variable(xp.broadcast_to(raw, (len(batch.data), *raw.shape)))


def hessian(f: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """The matrix of second derivatives of a scalar function, of shape `x.shape + x.shape`.

    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
    array([[4., 2.],
           [2., 0.]])
    """
    argnums = argument_numbers("hessian", f, argnums)
    return jacobian(grad(f, argnums), argnums)


def hvp(f: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """The product of a scalar function's Hessian with a vector: `hvp(f)(x, v)`.

    The vector comes after the arguments of `f` and has the structure of the one that is
    differentiated by.  The Hessian itself is never formed.

    >>> hvp(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    array([4., 2.])
    """
    require_function("hvp", f, "hvp(f)(x, v)")
    if not isinstance(argnum, int):
        raise TypeError(
            f"hvp(f, argnum): write hvp(f)(x, v) for the product at x with v; argnum is the "
            f"position of one argument, not {described(argnum)}"
        )

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
