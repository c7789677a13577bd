"""Several devices: which one is current, and that the operands of an op share theirs.

CUDA runs a kernel on the thread's current device, whatever its arguments live on.  So an op makes
the device of its operands the current one while it runs, and so do the engine and whatever else
computes with arrays that it was handed.  Where every backend sees one device only,
`SEVERAL_DEVICES` is empty and nothing here is called but for that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from types import TracebackType
from typing import Any, ParamSpec, TypeVar, cast

from autograd_gpu.backend import BACKENDS, SEVERAL_DEVICES, Array, Backend, backend_of

P = ParamSpec("P")
R = TypeVar("R")

_HERE: AbstractContextManager[None] = nullcontext()


class Elsewhere:
    """A device that is not the current one, and is for the length of a with statement."""

    __slots__ = ("backend", "before", "number")

    def __init__(self, backend: Backend, number: int) -> None:
        self.backend, self.number, self.before = backend, number, number

    def __enter__(self) -> None:
        self.before = self.backend.use_device(self.number)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.backend.use_device(self.before)


def elsewhere(op: str, backend: Backend, operands: Sequence[Any]) -> Elsewhere | None:
    """The device of the operands of `op`, or None if that is the current one.

    TypeError where they live on several: nothing is moved silently.
    """
    numbers = {backend.device_number(x) for x in operands if type(x) is backend.array_type}
    if len(numbers) > 1:
        raise device_mismatch(op, backend, operands)
    number = numbers.pop() if numbers else None
    if number is None or number == backend.current_device():
        return None
    return Elsewhere(backend, number)


def device_mismatch(op: str, backend: Backend, operands: Sequence[Any]) -> TypeError:
    """The error for an op whose operands live on different devices."""
    arrays: list[Any] = [x for x in operands if type(x) is backend.array_type]
    kinds = ", ".join(f"{x.dtype}{list(x.shape)} on {backend.device(x)}" for x in arrays)
    return TypeError(
        f"{op}: operands live on different devices ({kinds}); nothing is moved silently, use "
        f"x.to_device(y.device) or .to('cuda:{backend.device_number(arrays[0])}') on one of them"
    )


def require_together(op: str, *arrays: Array) -> None:
    """TypeError if raw arrays of one backend live on different devices."""
    backend = backend_of(arrays[0])
    if backend in SEVERAL_DEVICES and len({backend.device_number(x) for x in arrays}) > 1:
        raise device_mismatch(op, backend, arrays)


def near(x: Array) -> AbstractContextManager[None]:
    """Within it the device of the raw array `x` is the current one."""
    if SEVERAL_DEVICES:
        backend = BACKENDS.get(type(x))
        if backend in SEVERAL_DEVICES:
            number = backend.device_number(x)
            if number != backend.current_device():
                return Elsewhere(backend, number)
    return _HERE


def place_of(x: Array) -> tuple[type, int]:
    """The kind of the raw array `x` and the number of its device: equal for arrays that one call
    of a backend can take."""
    backend = BACKENDS.get(type(x))
    number = backend.device_number(x) if backend in SEVERAL_DEVICES else 0
    return type(x), number


def copied(x: Array) -> Array:
    """A copy of the raw array `x` where it lives; CuPy's own lands on the current device."""
    if SEVERAL_DEVICES:
        with near(x):
            return x.copy()
    return x.copy()


def backend_beside(x: Array) -> Backend:
    """The backend of the raw array `x`, as seen from its device: new arrays are made there."""
    backend = BACKENDS.get(type(x)) or backend_of(x)
    if backend in SEVERAL_DEVICES:
        number = backend.device_number(x)
        if number != backend.current_device():
            return cast(Backend, _View(backend, Elsewhere(backend, number)))
    return backend


def on_its_device(function: Callable[P, R]) -> Callable[P, R]:
    """`function`, run on the device of the first array or Variable among its arguments: for
    functions that compute with raw arrays."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if SEVERAL_DEVICES:
            for x in (*args, *kwargs.values()):
                value = getattr(x, "value", x)
                if type(value) in BACKENDS:
                    with near(value):
                        return function(*args, **kwargs)
        return function(*args, **kwargs)

    return call


class _View:
    """A namespace whose functions run on one device."""

    def __init__(self, target: Any, place: Elsewhere) -> None:
        self._target, self._place = target, place

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        if name == "xp":
            return _View(value, self._place)
        if not callable(value) or isinstance(value, type):
            return value
        place = self._place

        @wraps(value)
        def there(*args: Any, **kwargs: Any) -> Any:
            with place:
                return value(*args, **kwargs)

        return there


class Follower:
    """Called with a gradient, it makes its device the current one; on leaving, the one before is.

    Cheaper than a with statement for each of many gradients, which mostly live on one device.
    """

    __slots__ = ("before",)

    def __enter__(self) -> Follower:
        self.before = [(backend, backend.current_device()) for backend in SEVERAL_DEVICES]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for backend, number in self.before:
            backend.use_device(number)

    def __call__(self, g: Any) -> None:
        if g.__class__ is tuple:
            g = next(x for x in g if x is not None)
        x = getattr(g, "value", g)  # NumPy's scalars, which are none of ours, may come by too
        backend = BACKENDS.get(x.__class__)
        if backend in SEVERAL_DEVICES:
            backend.use_device(backend.device_number(x))
