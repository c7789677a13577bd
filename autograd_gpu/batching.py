"""The namespace and the backend of Batched arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from autograd_gpu.backend import BACKENDS, NAMESPACES, Array, Namespace
from autograd_gpu.batch_rules import RULES
from autograd_gpu.batched import KINDS, Batched, elementwise, one_by_one
from autograd_gpu.symbol_backend import FUNCTIONS

KERNELS: set[str] = set()
"""Fused steps that a namespace may have or lack: for batches their general form runs instead."""

KEEPING = frozenset(
    ("alignment_gradient", "attention_gradients", "sequence_gradients", "softmax_less_picked")
)
"""Those that get what another fused step kept in a form of its own."""

MORE_ELEMENTWISE = frozenset(("fmod", "heaviside", "nextafter"))


def each(function: Callable[..., Any], *args: Any, **kw: Any) -> Any:
    """`function(*args)`, of each element of the batch where an argument is Batched."""
    for x in args:
        for v in x if isinstance(x, (list, tuple)) else (x,):
            if isinstance(v, Batched):
                return one_by_one(type(v), function, *args, **kw)
    return function(*args, **kw)


class BatchedNamespace:
    """The namespace `xp` for Batched arrays of type `kind`; without any among the arguments it is
    `xp` itself."""

    def __init__(self, xp: Namespace, kind: type[Batched], inner: str = "") -> None:
        self.plain, self._kind, self._inner = xp, kind, inner

    def __getattr__(self, name: str) -> Any:
        if name in KERNELS and name not in KEEPING:
            raise AttributeError(f"{name} has no form of its own for batches")
        plain = getattr(self.plain, name, None)
        made: Any
        if name in ("linalg", "fft", "special") and not self._inner:
            made = BatchedNamespace(plain, self._kind, name)
        elif name in RULES:
            made = _dispatch(plain, partial(RULES[name], self._kind, plain))
        elif plain is None:
            raise AttributeError(f"there is no function {name}")
        elif not callable(plain) or isinstance(plain, type):
            return plain
        elif name in FUNCTIONS or name in MORE_ELEMENTWISE or self._inner == "special":
            made = _dispatch(plain, partial(elementwise, self._kind, plain))
        else:
            made = _dispatch(plain, partial(one_by_one, self._kind, plain))
        setattr(self, name, made)  # found without __getattr__ from now on
        return made


def _dispatch(plain: Any, rule: Callable[..., Any]) -> Callable[..., Any]:
    def function(*args: Any, **kw: Any) -> Any:
        for x in args:
            if isinstance(x, Batched) or (
                isinstance(x, (list, tuple)) and any(isinstance(v, Batched) for v in x)
            ):
                return rule(*args, **kw)
        return plain(*args, **kw)

    return function


class _Backend:
    """As much of a backend as the engine and the ops ask for."""

    def __init__(self, plain: Any, kind: type[Batched], xp: Namespace) -> None:
        self.name, self.array_type, self.xp, self.plain = plain.name, kind, xp, plain

    def asarray(self, data: Any, dtype: Any = None) -> Any:
        """`data` in that dtype."""
        if not isinstance(data, Batched):
            return self.plain.asarray(data, dtype)
        return data if dtype is None or data.dtype == dtype else data.astype(dtype)

    def constant(self, data: Any, dtype: Any = None) -> Array:
        """One for the whole batch."""
        return self.plain.constant(data, dtype)

    def is_shared(self, x: Any) -> bool:
        """True: an update in place makes a copy."""
        return True

    def device(self, x: Batched) -> Any:
        """Where the memory is."""
        return self.plain.device(x.data)


def batched(data: Array) -> Batched:
    """A batch of the arrays along the first axis of `data`."""
    kind = KINDS.get(type(data))
    if kind is None:
        plain = BACKENDS[type(data)]
        kind = KINDS[type(data)] = type("Batched", (Batched,), {"__slots__": ()})
        made: Any = _Backend(plain, kind, BatchedNamespace(plain.xp, kind))
        NAMESPACES[kind] = made.xp
        BACKENDS[kind] = made
    return kind(data)
