"""The arrays that Variables hold: from arrays, numbers and lists, and in which dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograd_gpu.backend import Array, current_backend, find_backend, load_backend

DIFFERENTIABLE = "fc"
"""The dtype kinds that can require a gradient: real and complex floating point."""

_default_dtype: list[Any] = ["float32"]


def is_differentiable(dtype: Any) -> bool:
    """Whether values of this dtype can have a gradient: real, complex and bfloat16 ones."""
    return dtype.kind in DIFFERENTIABLE or dtype.name == "bfloat16"


def set_default_dtype(dtype: Any) -> None:
    """The dtype that Python floats and lists of them get: 'float32' at first.

    Beside an array in double precision, lists are in double precision too.

    >>> set_default_dtype("float64")
    >>> str(Variable(1.0).dtype)
    'float64'
    >>> set_default_dtype("float32")
    """
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    if name not in ("float16", "bfloat16", "float32", "float64"):
        raise TypeError(f"the default dtype is a real floating-point dtype, not {dtype!r}")
    _default_dtype[0] = name


def get_default_dtype() -> str:
    """The name of the dtype that Python floats and lists of them get."""
    return str(_default_dtype[0])


def as_value(data: Any, dtype: Any = None) -> Array:
    """`data` as an array of its own backend, or of the current one for numbers and lists."""
    backend = find_backend(data)
    if backend is not None:
        if dtype is not None or type(data) is not backend.array_type:
            data = backend.asarray(data, dtype)
        if data.dtype.kind not in "biufcV" or data.dtype.names is not None:
            raise TypeError(f"Variable(data): expected numbers, got an array of dtype {data.dtype}")
        return data
    if not isinstance(data, (bool, int, float, complex, list, tuple, range)):
        memory = _exported(data)
        if memory is None:
            hint = "; use from_dlpack" if hasattr(data, "__dlpack__") else ""
            raise TypeError(
                f"Variable(data): expected a NumPy or CuPy array, a number or a list, "
                f"got {type(data).__name__}{hint}"
            )
        shared = load_backend("numpy").asarray(memory)
        backend = current_backend()
        return as_value(shared if backend.name == "numpy" else backend.from_host(shared), dtype)
    return from_python(data, dtype)


def _exported(data: Any) -> memoryview | None:
    """The memory that `data` hands out by Python's buffer protocol, as array.array does."""
    try:
        return memoryview(data)
    except TypeError:
        return None


def from_python(
    data: Any, dtype: Any = None, backend: Any = None, beside: Sequence[Any] = ()
) -> Array:
    """An array from Python numbers and lists, in the default dtype unless `dtype` says other.

    Where one of the operands `beside` it is in double precision, so are its floats: rounded to the
    default dtype they would spoil the result, and compare as different.
    """
    backend = backend or current_backend()
    default = "float64" if any(map(is_double, beside)) else _default_dtype[0]
    data = _unwrapped(data)
    value = backend.asarray(data, dtype)
    if dtype is None and _only_python_numbers(data):
        if value.dtype.kind == "f":
            value = backend.asarray(value, default)
        elif value.dtype.kind == "c":
            value = backend.asarray(value, "complex128" if default == "float64" else "complex64")
    if value.dtype.kind not in "biufcV":
        raise TypeError(f"expected numbers, got {value.dtype}: {data!r:.80}")
    return value


def is_double(x: Any) -> bool:
    """Whether `x` has floats of 64 bits, or complex numbers of these."""
    dtype: Any = getattr(x, "dtype", None)
    kind = getattr(dtype, "kind", None)
    return bool((kind == "f" and dtype.itemsize >= 8) or (kind == "c" and dtype.itemsize >= 16))


def _unwrapped(data: Any) -> Any:
    if isinstance(data, (list, tuple, range)):
        return [_unwrapped(item) for item in data]
    if hasattr(data, "requires_grad"):  # a Variable
        if data.requires_grad:
            raise TypeError(
                "a list of Variables that require gradients would lose them; use stack or concat"
            )
        return data.value
    return data


def _only_python_numbers(data: Any) -> bool:
    if isinstance(data, list):
        return all(map(_only_python_numbers, data))
    return isinstance(data, (bool, int, float, complex)) and not hasattr(data, "dtype")
