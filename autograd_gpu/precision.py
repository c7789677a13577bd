"""Mixed precision: products and convolutions in a half type, what is delicate in float32."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

from autograd_gpu.backend import NAMESPACES, load_backend
from autograd_gpu.guards import guard
from autograd_gpu.recorder import recorder
from autograd_gpu.variable import Variable

P = ParamSpec("P")
R = TypeVar("R")

casting: ContextVar[Any] = ContextVar("autograd_gpu.casting", default=None)
"""The half dtype in which products are computed, or None."""

_casts: ContextVar[dict[int, tuple[Variable, Any, Any]] | None] = ContextVar(
    "autograd_gpu.casts", default=None
)
"""Of this region of `autocast`: parameters, the arrays that they had, and these in the half type.

That the arrays are held makes whoever changes one in place take a copy, so that a parameter whose
array is another one has changed, and its cast is not used again."""


class autocast(guard):
    """Context manager and decorator: matmul, linear layers, attention and convolutions cast float32
    to a half type, and softmax, norms and losses cast half types to float32.

    Sums within products are in float32, and parameters stay as they are, so that an optimiser adds
    to float32 numbers.  A parameter is cast once, however often it is used, until the block ends or
    an optimiser steps.  float64 and complex numbers are left alone.  Gradients in float16 need a
    `optim.GradScaler`; those in bfloat16 do not, but it takes the package ml_dtypes.

    >>> w = Variable([[1.0], [2.0]], requires_grad=True)
    >>> with autocast("float16"):
    ...     y = Variable([[1.0, 3.0]]) @ w
    >>> y.dtype, w.dtype
    (dtype('float16'), dtype('float32'))
    """

    mode = casting
    replaced: ContextVar[tuple[Any, ...]] = ContextVar("autograd_gpu.replaced_casting", default=())

    outer: ContextVar[tuple[Any, ...]] = ContextVar("autograd_gpu.outer_casts", default=())

    def __init__(self, dtype: Any = "float16", enabled: bool = True) -> None:
        super().__init__(_half(dtype) if enabled else None)

    def __enter__(self) -> None:
        super().__enter__()
        self.outer.set((_casts.get(), self.outer.get()))
        _casts.set({})

    def __exit__(self, *error: Any) -> None:
        casts, outer = self.outer.get()
        _casts.set(casts)
        self.outer.set(outer)
        super().__exit__(*error)


@contextmanager
def own_casts() -> Iterator[None]:
    """Within it parameters are cast anew, and what was cast is forgotten at its end."""
    token = _casts.set(None if _casts.get() is None else {})
    try:
        yield
    finally:
        _casts.reset(token)


def forget_casts() -> None:
    """Let go of the parameters that `autocast` has cast: they are about to change."""
    casts = _casts.get()
    if casts:
        casts.clear()


def _half(dtype: Any) -> Any:
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    if name not in ("float16", "bfloat16"):
        raise TypeError(f"autocast: dtype is 'float16' or 'bfloat16', not {dtype!r}")
    if name == "bfloat16":
        try:
            import ml_dtypes  # noqa: F401  NumPy knows the name from then on
        except ImportError as error:
            raise TypeError("autocast: bfloat16 needs ml_dtypes: pip install ml_dtypes") from error
    return load_backend("numpy").asarray(0, name).dtype


def narrowed(operands: Sequence[Any]) -> tuple[Any, ...]:
    """float32 operands in the half type of `autocast`, unless one is float64 or complex."""
    target = casting.get()
    for x in operands:
        dtype = getattr(x, "dtype", None)
        if dtype is not None and (dtype.kind == "c" or (dtype.kind == "f" and dtype.itemsize > 4)):
            return tuple(operands)
    return tuple([_cast(x, target, "f", 4) for x in operands])


def widened(operands: Sequence[Any]) -> tuple[Any, ...]:
    """Operands of half types in float32."""
    return tuple([_cast(x, "float32", "fV", 2) for x in operands])


def _cast(x: Any, target: Any, kinds: str, itemsize: int) -> Any:
    dtype = getattr(x, "dtype", None)
    if dtype is None or dtype.kind not in kinds or dtype.itemsize != itemsize:
        return x
    if not isinstance(x, Variable):
        return x.astype(target)
    casts = _casts.get()
    if (
        casts is None
        or x.grad_fn is not None
        or not x._requires_grad
        or recorder.get() is not None  # a recorded step casts what it finds at each replay
    ):
        return NAMESPACES[Variable].astype(x, target)
    known = casts.get(id(x))
    if known is not None and known[1] is x.value and known[2].dtype == target:
        # a Node of its own for each use: gradients add up in float32
        return NAMESPACES[Variable].recast(x, known[2])
    y = NAMESPACES[Variable].astype(x, target)
    casts[id(x)] = (x, x.value, y.value)
    return y


def in_float32(function: Callable[P, R]) -> Callable[P, R]:
    """`function` with positional operands of half types cast to float32 under `autocast`."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if casting.get() is not None:
            return function(*widened(args), **kwargs)
        return function(*args, **kwargs)

    return call
