"""dtypes: their names in this namespace, and the array API's functions about them.

The dtypes are NumPy's on every backend.  They are looked up when first asked for, since nothing
here imports NumPy.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from autograd_gpu.backend import Namespace, load_backend
from autograd_gpu.values import get_default_dtype

KINDS: dict[str, tuple[str, ...]] = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
KINDS["integral"] = KINDS["signed integer"] + KINDS["unsigned integer"]
KINDS["numeric"] = KINDS["integral"] + KINDS["real floating"] + KINDS["complex floating"]

NAMES = frozenset(("bool", "float16", *KINDS["numeric"]))
"""The dtypes that are attributes of the namespace: the standard's, and float16."""


def _numpy() -> Namespace:
    return load_backend("numpy").xp


@functools.cache
def lookup(name: str) -> Any:
    """The dtype of that name."""
    return _numpy().dtype(name)


def dtype_of(x: Any) -> Any:
    """The dtype of an array or Variable; what is none is a dtype (or a number) itself."""
    return getattr(x, "dtype", x) if not isinstance(x, type) else x


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether `dtype` is of a kind: a name as 'real floating', another dtype, or a tuple of these.

    >>> isdtype(ag.float32, "real floating"), isdtype(ag.int64, (ag.bool, "numeric"))
    (True, True)
    """
    if getattr(dtype, "name", None) == "bfloat16":
        kinds = kind if isinstance(kind, tuple) else (kind,)
        return any(k == dtype or k in ("real floating", "numeric") for k in kinds)
    return bool(_numpy().isdtype(dtype, kind))


def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype of a result of these arrays, dtypes and Python numbers.

    >>> result_type(Variable([1.0]), ag.float64, 2)
    dtype('float64')
    """
    if not arrays_and_dtypes:
        raise ValueError("result_type: at least one array or dtype is needed")
    given = [dtype_of(x) for x in arrays_and_dtypes]
    if all(isinstance(x, (bool, int, float, complex)) for x in given):
        given.append("int8" if not isinstance(sum(given), (float, complex)) else default_real())
    return _numpy().result_type(*given)


def default_real() -> Any:
    """The default dtype of real numbers."""
    return lookup(get_default_dtype())


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether a dtype, or that of an array, can become `to` without loss."""
    return bool(_numpy().can_cast(dtype_of(from_), to))


@dataclass(frozen=True)
class FloatInfo:
    """The limits of a floating-point dtype, as Python numbers."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: Any

    @property
    def tiny(self) -> float:
        """NumPy's name for `smallest_normal`."""
        return self.smallest_normal


@dataclass(frozen=True)
class IntegerInfo:
    """The limits of an integer dtype, as Python numbers."""

    bits: int
    max: int
    min: int
    dtype: Any


def finfo(type: Any, /) -> FloatInfo:
    """The limits of a floating-point dtype, or of that of an array.

    >>> finfo(ag.float32).bits
    32
    """
    dtype = _numpy().dtype(dtype_of(type))
    # ml_dtypes is there where a bfloat16 is
    module = import_module("ml_dtypes") if dtype.name == "bfloat16" else _numpy()
    info = module.finfo(dtype)
    return FloatInfo(
        int(info.bits),
        float(info.eps),
        float(info.max),
        float(info.min),
        float(info.smallest_normal),
        _numpy().dtype(info.dtype),
    )


def iinfo(type: Any, /) -> IntegerInfo:
    """The limits of an integer dtype, or of that of an array.

    >>> iinfo(ag.int8).max
    127
    """
    info = _numpy().iinfo(dtype_of(type))
    return IntegerInfo(int(info.bits), int(info.max), int(info.min), _numpy().dtype(info.dtype))
