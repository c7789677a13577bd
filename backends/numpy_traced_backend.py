"""The backend of the arrays of a step that is being recorded."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from autograd_gpu.backend import BACKENDS
from autograd_gpu.backends import numpy_backend, numpy_functions, numpy_matmul
from autograd_gpu.backends.numpy_known import is_known, words
from autograd_gpu.backends.numpy_values import LiveFloat, LiveInt
from autograd_gpu.backends.traced import Traced, TracedScalar
from autograd_gpu.recorder import recorder
from autograd_gpu.threads import get_num_threads

Array = Any

FOLLOWED = words("clip expm1 maximum mean minimum std sum take var")
"""Our own functions that are recorded call by call.

Any other is one call of the recording: they use scratch memory, look at values, or are C code.
"""


class TracedBackend(numpy_backend.NumpyBackend):
    """NumPy with everything written down."""

    array_type: type = Traced

    def __init__(self, is_held: Callable[[Traced], bool]) -> None:
        self.stands_for = BACKENDS[np.ndarray]
        self.xp = _namespace()
        self._is_held = is_held

    def asarray(self, data: Any, dtype: Any = None) -> Array:
        """A stand-in for an array from outside; numbers and lists become arrays."""
        return _asarray(data, dtype)

    def constant(self, data: Any, dtype: Any = None) -> Array:
        """An array of every replay, which need not be found again."""
        return np.asarray(data, dtype) if isinstance(data, np.ndarray) else _asarray(data, dtype)

    def to_host(self, x: Any) -> Any:
        """A copy, which ends the recording: what becomes of it can't be seen."""
        x.tape.refuse(f"it copies an array of shape {x.shape} to the host")
        return np.array(x.array)

    def is_shared(self, x: Any) -> bool:
        """Whether an eager step would write into a copy."""
        return x.base is not None or not x.flags.writeable or self._is_held(x)


def _tape(*args: Any) -> Any:
    watcher: Any = recorder.get()
    if watcher is not None:
        return watcher.tape
    return next((x.tape for x in args if isinstance(x, Traced)), None)


def _whole(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        tape = _tape(*args)
        if tape is None:
            return function(*args, **kwargs)
        return tape.call(function, args, kwargs, whole=True)

    return call


def _from_compat(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of array_api_compat, which looks at the type of arrays."""
    whole = _whole(function)

    def call(*args: Any, **kwargs: Any) -> Any:
        tape = _tape(*args)
        if tape is not None and not is_known(name):
            tape.refuse(f"{name} is not known to depend on shapes only")
        return whole(*args, **kwargs)

    return call


def _astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    return x.astype(dtype, copy=copy)


def _asarray(data: Any, dtype: Any = None, **kwargs: Any) -> Any:
    if isinstance(data, TracedScalar):
        data = data.tape.call(np.asarray, (data,))
    if not isinstance(data, Traced):
        tape = _tape()
        if isinstance(data, (LiveInt, LiveFloat)):
            return tape.call(np.asarray, (data, dtype))
        if tape is None:
            return np.asarray(data, dtype, **kwargs)
        data = tape.adopted(np.asarray(data, dtype))
    if dtype is not None and data.dtype != np.dtype(dtype):
        return data.astype(dtype)
    return data


def _assign(x: Any, index: Any, value: Any) -> None:
    if isinstance(x, Traced):
        x[index] = value
    else:
        _tape(value).call(np.ndarray.__setitem__, (x, index, value), writes=(x,))


def _matmul(a: Any, b: Any) -> Any:
    """`numpy_matmul.matmul`, whose memory is the recording's."""
    if not (isinstance(a, Traced) or isinstance(b, Traced)):
        return numpy_matmul.matmul(a, b)
    if numpy_matmul.is_half(a, b):
        return _matmul(a.astype(np.float32), b.astype(np.float32)).astype(a.dtype)
    if numpy_matmul.is_shared(a, b):
        return _tape(a, b).call(numpy_matmul.shared, (a, b), whole=True)
    if not numpy_matmul.is_folded(a, b):
        return numpy_matmul.matmul(a, b)
    out = _tape(a, b).empty((*a.shape[:-1], b.shape[1]), np.result_type(a.dtype, b.dtype))
    np.matmul(a.reshape(-1, a.shape[-1]), b, out=out.reshape(-1, b.shape[1]))
    return out


def _broadcast_to(x: Any, shape: tuple[int, ...]) -> Any:
    tape = _tape(x)
    if not isinstance(x, Traced):
        return numpy_functions.broadcast_to(x, shape)
    if not numpy_functions.is_copied(x, shape):
        return tape.call(np.broadcast_to, (x, shape))
    y = tape.empty(shape, x.dtype)
    y[...] = x
    return y


def _blockwise(function: Callable[..., Any], *arrays: Any) -> Any:
    """Block after block on one thread, and as one call where several share the blocks."""
    x = arrays[0]
    tape = _tape(*arrays)
    if not numpy_functions.is_cut(arrays):
        return function(*arrays)
    if get_num_threads() > 1 or tape is None:
        return tape.call(numpy_functions.blockwise, (function, *arrays), whole=True)
    out = tape.empty(x.shape, x.dtype)
    flat, result = [y.reshape(-1) for y in arrays], out.reshape(-1)
    for start in range(0, x.size, numpy_functions.BLOCK):
        s = slice(start, start + numpy_functions.BLOCK)
        result[s] = function(*[y[s] for y in flat])
    return out


def _masked(x: Any, mask: Any) -> Any:
    if not isinstance(x, Traced):
        return numpy_functions.masked(x, mask)
    bits = numpy_functions.bits_of(x, mask)
    if mask.dtype.char != "?":
        mask = mask != 0
    if bits is None:
        return np.where(mask, x, x.dtype.type(0))
    y = x.tape.empty(x.shape, x.dtype)
    raw = y.view(bits)
    raw[...] = mask.view(np.int8)
    np.negative(raw, out=raw)
    np.bitwise_and(raw, x.view(bits), out=raw)
    return y


def _created(name: str) -> Callable[..., Any]:
    """A function that makes an array of numbers: a constant of the recording."""
    function = getattr(np, name)

    def create(*args: Any, **kwargs: Any) -> Any:
        tape = _tape(*args)
        if tape is None or any(isinstance(x, Traced) for x in (*args, *kwargs.values())):
            return function(*args, **kwargs)
        return tape.adopted(function(*args, **kwargs))

    return create


def _empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    tape = _tape()
    shape = shape if isinstance(shape, tuple) else (shape,)
    return np.empty(shape, dtype) if tape is None else tape.empty(shape, dtype)


class _Special:
    """scipy.special: its ufuncs as they are, other functions as one call of the recording."""

    def __init__(self, functions: Any) -> None:
        self._functions = functions

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._functions, name)
        if not isinstance(function, np.ufunc):
            function = _whole(function)
        setattr(self, name, function)
        return function


def _namespace() -> ModuleType:
    plain = numpy_backend.namespace()
    xp = ModuleType("autograd_gpu.backends.numpy_traced_backend.xp", plain.__doc__)
    names = {k: v for k, v in vars(plain).items() if not k.startswith("__")}
    vars(xp).update(names)
    for name, function in names.items():
        inner = function.func if isinstance(function, partial) else function
        # where it is written: wrappers go by the name of what they wrap
        module = inner.__globals__["__name__"] if isinstance(inner, FunctionType) else ""
        if module.startswith("autograd_gpu.backends") and name not in FOLLOWED:
            setattr(xp, name, _whole(function))
        elif module.startswith("array_api_compat") and name not in ("finfo", "iinfo"):
            setattr(xp, name, _from_compat(name, function))
    xp.linalg = ModuleType("linalg")
    for name, function in vars(plain.linalg).items():
        if callable(function):
            setattr(xp.linalg, name, _from_compat(f"linalg.{name}", function))
    for name in ("arange", "eye", "full", "linspace", "ones", "zeros"):
        setattr(xp, name, _created(name))

    def fused_kernel(*program: Any) -> Any:
        return _whole(plain.fused_kernel(*program))

    vars(xp).update(
        asarray=_asarray,
        assign=_assign,
        astype=_astype,
        blockwise=_blockwise,
        broadcast_to=_broadcast_to,
        fused_kernel=fused_kernel,
        empty=_empty,
        masked=_masked,
        matmul=_matmul,
        special=_Special(plain.special),
    )
    return xp
