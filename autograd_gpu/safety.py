"""A mode in which a gradient of exactly 0 stays 0 through an infinite or NaN derivative."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

from autograd_gpu.backend import NAMESPACES, backend_of
from autograd_gpu.graph import Gradient, Node
from autograd_gpu.modes import watched_guard
from autograd_gpu.variable import Variable

safe: ContextVar[bool] = ContextVar("autograd_gpu.safe", default=False)


class nan_safe(watched_guard):
    """Context manager and decorator: a gradient that is exactly 0 stays 0 in a backward run inside.

    The chain rule multiplies what arrives at an op with its derivative, and 0 times infinity is
    NaN.  That is wrong where the 0 says that the result does not depend on this element, as for
    the branch that `where` did not take:

    >>> x = Variable([0.0, 4.0], requires_grad=True)
    >>> with np.errstate(all="ignore"), nan_safe():
    ...     where(x > 0, sqrt(x), 0.0).sum().backward()
    >>> x.grad
    array([0.  , 0.25], dtype=float32)

    Elementwise ops are looked at element by element, reductions and softmax row by row, and of all
    other ops those to which nothing but zeros arrives.  Only gradients that would be infinite or
    NaN are changed.  With `create_graph`, the backward of the gradients needs the mode too.
    """

    mode = safe
    replaced: ContextVar[tuple[Any, ...]] = ContextVar("autograd_gpu.replaced_safe", default=())

    def __init__(self) -> None:
        super().__init__(True)


def keep_zeros(node: Node, grads: Sequence[Gradient], g: Gradient) -> tuple[Gradient, ...]:
    """`grads`, with 0 for what is not finite where `g` says that nothing depends on it."""
    arrived = [_raw(x) for x in (g if g.__class__ is tuple else (g,)) if x is not None]
    xp = NAMESPACES[arrived[0].__class__]
    silent = None if g.__class__ is tuple else node.silent(xp, arrived[0])
    if silent is None:
        silent = (arrived[0] == 0).all()
        for x in arrived[1:]:
            silent = silent & (x == 0).all()
    silent = xp.asarray(silent)  # NumPy's scalars
    return tuple([_kept(grad, silent) for grad in grads])


def _kept(grad: Gradient, silent: Any) -> Gradient:
    if grad.__class__ is tuple:
        return tuple([_kept(part, silent) for part in grad])
    if grad is None:
        return None
    raw = _raw(grad)
    if raw.__class__ not in NAMESPACES:  # NumPy's scalars, which come of 0-d arrays
        grad = raw = backend_of(raw).xp.asarray(raw)
    raw_xp = NAMESPACES[raw.__class__]
    if not isinstance(silent, raw.__class__):  # a transfer to another backend
        return grad
    if silent.ndim and not _fits(silent.shape, raw.shape):
        silent = silent.all()
    return NAMESPACES[grad.__class__].where(silent & ~raw_xp.isfinite(raw), 0, grad)


def _fits(shape: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether `shape` broadcasts to `other`."""
    return len(shape) <= len(other) and all(
        n in (1, m) for n, m in zip(reversed(shape), reversed(other), strict=False)
    )


def _raw(x: Any) -> Any:
    return x.value if isinstance(x, Variable) else x
