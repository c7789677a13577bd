"""Stands for the functions of `cupy.linalg` that end in cuSOLVER: to NumPy, computed, and back.

Argument checks and result dtypes are CuPy's.  Composite functions (det, pinv, lstsq, norm, ...)
stay CuPy's own and call these.  A singular matrix gives NaN, where a device gives any numbers;
under `cupyx.errstate(linalg='raise')` both raise LinAlgError.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from . import counters, graphs
from .arrays import to_device, to_host

Function = Callable[..., Any]
_numpy: Any = np.linalg  # its types are by literal arguments, which are not known here


def _checked(name: str, *arrays: Any, square: bool = True) -> Any:
    """Check the arguments as CuPy does, and give the dtype that CuPy computes in."""
    from cupy.linalg import _util

    graphs.refuse(f"linalg.{name}")
    _util._assert_cupy_array(*arrays)
    _util._assert_stacked_2d(arrays[0])
    if square:
        _util._assert_stacked_square(arrays[0])
    counters.replaced(f"linalg.{name}")
    return _util.linalg_common_type(*arrays)[1]


def _apply(f: Function, dtype: Any, *arrays: Any) -> Any:
    """`f` of NumPy copies of CuPy arrays; one matrix at a time if one of them is singular."""
    hosts = [to_host(x).astype(dtype) for x in arrays]
    with np.errstate(all="ignore"):  # a device raises no flags
        try:
            results = f(*hosts)
        except np.linalg.LinAlgError:
            if _errors_raise():
                raise
            results = _one_by_one(f, hosts)
    if isinstance(results, tuple):
        return tuple(to_device(np.asarray(r)) for r in results)
    return to_device(np.asarray(results))


def _errors_raise() -> bool:
    from cupyx._ufunc_config import get_config_linalg

    return bool(get_config_linalg() == "raise")


def _one_by_one(f: Function, hosts: list[Any]) -> Any:
    stack = hosts[0].shape[:-2]
    # a well-behaved matrix of the same size tells what the results look like
    n = hosts[0].shape[-1]
    sample = f(*[np.broadcast_to(np.eye(n, dtype=hosts[0].dtype), hosts[0].shape), *hosts[1:]])
    samples = sample if isinstance(sample, tuple) else (sample,)
    results = [np.full_like(s, np.nan) for s in samples]
    for index in np.ndindex(*stack):
        try:
            single = f(*[h[index] for h in hosts])
        except np.linalg.LinAlgError:
            continue
        for result, value in zip(
            results, single if isinstance(single, tuple) else (single,), strict=True
        ):
            result[index] = value
    return tuple(results) if isinstance(sample, tuple) else results[0]


def solve(a: Any, b: Any) -> Any:
    dtype = _checked("solve", a, b)
    if b.ndim == 0:
        raise ValueError("b must have at least one dimension")
    vector = b.ndim == 1
    if vector:
        if a.shape[-1] != b.size:
            raise ValueError(
                "a must have (..., M, M) shape and b must have (M,) for one-dimensional b"
            )
    elif a.shape[:-1] != b.shape[:-1]:
        # CuPy does not broadcast here, as NumPy does
        raise ValueError(
            "a must have (..., M, M) shape and b must have (..., M, K) for multidimensional b"
        )
    if vector:
        x = _apply(lambda a, b: np.linalg.solve(a, b[..., None]), dtype, a, _stacked(b, a))
        return x[..., 0]
    return _apply(np.linalg.solve, dtype, a, b)


def _stacked(b: Any, a: Any) -> Any:
    import cupy

    return cupy.broadcast_to(b, a.shape[:-1])


def inv(a: Any) -> Any:
    return _apply(np.linalg.inv, _checked("inv", a), a)


def slogdet(a: Any) -> Any:
    return _apply(lambda x: tuple(np.linalg.slogdet(x)), _checked("slogdet", a), a)


def cholesky(a: Any) -> Any:
    return _apply(np.linalg.cholesky, _checked("cholesky", a), a)


def qr(a: Any, mode: str = "reduced") -> Any:
    if mode not in ("reduced", "complete", "r", "raw"):
        raise ValueError(f"Unrecognized mode {mode!r}")
    dtype = _checked("qr", a, square=False)

    def f(x: Any) -> Any:
        result: Any = _numpy.qr(x, mode)
        return tuple(result) if isinstance(result, tuple) else result

    return _apply(f, dtype, a)


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    dtype = _checked("svd", a, square=False)

    def f(x: Any) -> Any:
        result = _numpy.svd(x, full_matrices, compute_uv)
        return tuple(result) if compute_uv else result

    return _apply(f, dtype, a)


def eigh(a: Any, UPLO: str = "L") -> Any:
    return _apply(lambda x: tuple(_numpy.eigh(x, UPLO)), _checked("eigh", a), a)


def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    return _apply(lambda x: _numpy.eigvalsh(x, UPLO), _checked("eigvalsh", a), a)


def eig(a: Any) -> Any:
    dtype = _checked("eig", a)
    complex_ = np.result_type(dtype, np.complex64)
    return _apply(lambda x: tuple(r.astype(complex_) for r in np.linalg.eig(x)), dtype, a)


def eigvals(a: Any) -> Any:
    dtype = _checked("eigvals", a)
    complex_ = np.result_type(dtype, np.complex64)
    return _apply(lambda x: np.linalg.eigvals(x).astype(complex_), dtype, a)


FUNCTIONS = (solve, inv, slogdet, cholesky, qr, svd, eigh, eigvalsh, eig, eigvals)


def install() -> None:
    """Put the functions where CuPy's are, under every name that leads to them."""
    import cupy.linalg

    for function in FUNCTIONS:
        real = getattr(cupy.linalg, function.__name__)
        functools.update_wrapper(function, real)
        for name, module in list(sys.modules.items()):
            if name.split(".")[0] in ("cupy", "cupyx"):
                for key, value in list(vars(module).items()):
                    if value is real:
                        setattr(module, key, function)
