"""Frequencies of the bins, and their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograd_gpu.ops.arguments import axes_of, axis_of
from autograd_gpu.ops.creation import asarray
from autograd_gpu.ops.linalg.common import variable
from autograd_gpu.ops.shape import roll
from autograd_gpu.values import get_default_dtype
from autograd_gpu.variable import Variable

Axes = int | Sequence[int] | None


def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> Variable:
    """The frequencies of the bins of `fft`, for samples `d` apart: 0, 1, ..., -2, -1 over n d.

    >>> fftfreq(4).tolist()
    [0.0, 0.25, -0.5, -0.25]
    """
    return _frequencies([*range((n - 1) // 2 + 1), *range(-(n // 2), 0)], n, d, dtype, device)


def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> Variable:
    """The frequencies of the bins of `rfft`, for samples `d` apart.

    >>> rfftfreq(4).tolist()
    [0.0, 0.25, 0.5]
    """
    return _frequencies(list(range(n // 2 + 1)), n, d, dtype, device)


def _frequencies(bins: list[int], n: int, d: float, dtype: Any, device: Any) -> Variable:
    values = [k / (n * d) for k in bins]
    return asarray(values, dtype=dtype or get_default_dtype(), device=device)


def fftshift(x: Any, axes: Axes = None) -> Variable:
    """The zero frequency moved to the middle of `axes`, by default of all.

    >>> fftshift(fftfreq(4)).tolist()
    [-0.5, -0.25, 0.0, 0.25]
    """
    x = variable(x)
    axes = _axes("fftshift", x, axes)
    return roll(x, tuple([x.shape[axis] // 2 for axis in axes]), axes)


def ifftshift(x: Any, axes: Axes = None) -> Variable:
    """The inverse of `fftshift`."""
    x = variable(x)
    axes = _axes("ifftshift", x, axes)
    return roll(x, tuple([-(x.shape[axis] // 2) for axis in axes]), axes)


def _axes(op: str, x: Variable, axes: Axes) -> tuple[int, ...]:
    if axes is None:
        return tuple(range(x.ndim))
    return tuple([axis_of(op, axis, x.ndim) for axis in axes_of(axes)])
