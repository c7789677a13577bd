"""What a recording knows of NumPy's functions: that the shapes of their results follow from shapes.

A function that is not listed here ends a recording.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


class Reduction(NamedTuple):
    """A method of arrays that is a ufunc's `reduce`."""

    reduce: Any
    parameters: tuple[str, ...]


_SUM = ("axis", "dtype", "out", "keepdims", "initial", "where")
_MAX = ("axis", "out", "keepdims", "initial", "where")

REDUCTIONS = {
    "sum": Reduction(np.add.reduce, _SUM),
    "prod": Reduction(np.multiply.reduce, _SUM),
    "max": Reduction(np.maximum.reduce, _MAX),
    "min": Reduction(np.minimum.reduce, _MAX),
}

METADATA = words(
    """can_cast common_type iscomplexobj isrealobj may_share_memory ndim result_type shape size"""
)
"""They look at no element."""

FILLED = frozenset(("empty_like", "full_like", "ones_like", "zeros_like"))

WRITING = frozenset(("copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"))
"""They change their first argument."""

JOINING = frozenset(("concatenate", "stack"))

METHODS = words(
    """conj conjugate max min prod ravel repeat reshape squeeze sum swapaxes transpose"""
)
"""They are the methods of the same name, whose calls are spelled with `out`."""

_KNOWN = words(
    """all amax amin angle any append argmax argmin argpartition argsort around array_split astype
    atleast_1d atleast_2d atleast_3d average block broadcast_arrays broadcast_to choose clip
    column_stack concat concatenate conj conjugate convolve copy corrcoef correlate count_nonzero
    cov cross cumprod cumsum cumulative_prod cumulative_sum diag diagflat diagonal diff digitize
    dot dsplit dstack ediff1d einsum expand_dims fft fftshift fix flip fliplr flipud gradient
    hsplit hstack hypot i0 ifftshift imag inner interp isclose isin isneginf isposinf kron lexsort
    matrix_transpose max mean median min moveaxis nan_to_num nanargmax nanargmin nancumprod
    nancumsum nanmax nanmean nanmedian nanmin nanpercentile nanprod nanquantile nanstd nansum
    nanvar outer pad partition percentile permute_dims polyval prod ptp quantile ravel real repeat
    reshape resize roll rollaxis rot90 round searchsorted select sinc sort sort_complex split
    squeeze stack std sum swapaxes take take_along_axis tensordot tile trace transpose trapezoid
    tril triu unstack unwrap vander var vdot vsplit vstack where"""
)


def name_of(function: Any) -> str:
    """'sum', 'linalg.solve' and so on."""
    module = getattr(function, "__module__", "") or ""
    name = getattr(function, "__name__", repr(function))
    for part in ("linalg", "fft"):
        if module.startswith(f"numpy.{part}"):
            return f"{part}.{name}"
    return name


def is_known(name: str) -> bool:
    """Whether a result's shape depends on shapes only, and elements are read by NumPy alone."""
    # the residuals of lstsq depend on the rank
    return name in _KNOWN or (name != "linalg.lstsq" and name.startswith(("linalg.", "fft.")))


@cache
def scalar_method(name: str) -> Any:
    """The function `x.name(*args)` for NumPy's scalars, of which each type has its own."""

    def method(x: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(x, name)(*args, **kwargs)

    method.__qualname__ = name
    return method
