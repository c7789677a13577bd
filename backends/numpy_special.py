"""Special functions that NumPy lacks."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_BLOCK = 16_384

# erf(x) = x N(x^2) / D(x^2) for |x| <= 3.92, beyond which float32 cannot tell erf from 1.  Fitted
# by reweighted least squares to a relative error of 2e-8; rounding makes it 4e-7.  The last
# coefficient is raised by 4e-6, so that it rounds to 1 at the limit and not to one less.
_LIMIT = 3.92
_N = (1.12837915, 0.190407094, 0.0527488094, 0.00376564443, 0.000284883399, 2.05009129e-06)
_D = (1.0, 0.502076634, 0.114109374, 0.0149692721, 0.00116254226, 3.80917074e-05)


def erf(x: Any) -> Any:
    """The error function of real `x`, elementwise: float32 to 4e-7, float64 to the last bits.

    Half types are computed in float32; integers become float64.  float64 takes SciPy's, or, where
    that is not installed, Python's, which takes 50 ns an element.
    """
    dtype = x.dtype
    if dtype == np.float32:
        return _erf32(np.asarray(x))
    if dtype.kind == "c":
        raise TypeError("erf: complex numbers are not supported")
    if dtype.itemsize == 2 and dtype.kind in "fV":
        return _erf32(x.astype(np.float32)).astype(dtype)
    global _erf64
    if _erf64 is None:
        try:
            _erf64 = importlib.import_module("scipy.special").erf
        except ImportError:
            _erf64 = _erf_of_each
    return _erf64(x.astype(np.float64, copy=False))


_erf64: Any = None


def _erf_of_each(x: Any) -> Any:
    return np.fromiter(map(math.erf, x.reshape(-1).tolist()), np.float64, x.size).reshape(x.shape)


def _erf32(x: Array) -> Array:
    flat = np.ascontiguousarray(x).reshape(-1)
    out = np.empty(x.shape, np.float32)
    target = out.reshape(-1)
    scratch = np.empty((3, min(_BLOCK, flat.size)), np.float32)
    for start in range(0, flat.size, _BLOCK):
        block = flat[start : start + _BLOCK]
        c, z, d = scratch[:, : block.size]
        y = target[start : start + _BLOCK]
        np.minimum(block, _LIMIT, out=c)
        np.maximum(c, -_LIMIT, out=c)
        np.multiply(c, c, z)
        _polynomial(_N, z, y)
        _polynomial(_D, z, d)
        np.divide(y, d, y)
        np.multiply(y, c, y)
        np.minimum(y, 1, out=y)
        np.maximum(y, -1, out=y)
    return out


def _polynomial(coefficients: tuple[float, ...], z: Array, out: Array) -> None:
    out[...] = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        np.multiply(out, z, out)
        np.add(out, coefficient, out)
