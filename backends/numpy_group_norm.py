"""Group norm for NumPy, by rows; half types are computed in float32.

Names are those of `autograd_gpu.ops.normalization`; NotImplemented asks for the general form.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from autograd_gpu.backends.numpy_channels import gradients, normalised, statistics
from autograd_gpu.backends.numpy_rows import compute_dtype

Array = np.ndarray[Any, Any]

SHORTEST, SMALL = 4, 8192
"""Elements of a row from which, and of `x` above which, the general form takes more time."""


def groups_normalised(
    x: Array, weight: Array | None, bias: Array | None, *, groups: int, eps: float
) -> Any:
    """The value of `group_norm`, and the groups' means and variances [N, G, 1, 1]."""
    if not _is_known(x):
        return NotImplemented
    dtype = np.result_type(*(v for v in (x, weight, bias) if v is not None))
    wide = x.astype(compute_dtype(dtype), copy=False)
    mean, variance = statistics(wide, groups)
    inverse = 1 / np.sqrt(variance + eps)
    y = normalised(wide, groups, mean, inverse, weight, bias)
    return y.astype(dtype, copy=False), (mean[..., None], variance[..., None])


def group_norm_gradients(
    g: Array,
    x: Array,
    weight: Array | None,
    kept: tuple[Array, Array],
    needs: Sequence[bool],
    *,
    groups: int,
    eps: float,
) -> Any:
    """The gradients of `group_norm` for its operands, where they are needed."""
    if not _is_known(x):
        return NotImplemented
    mean, variance = (v[..., 0] for v in kept)
    wide, g = (v.astype(mean.dtype, copy=False) for v in (x, g))
    grad, *more = gradients(g, wide, groups, mean, 1 / np.sqrt(variance + eps), weight, needs[0])
    return grad if grad is None else grad.astype(x.dtype, copy=False), *more


def _is_known(x: Array) -> bool:
    """Halves always are, which the general form would add up as they are."""
    if x.dtype.itemsize == 2:
        return x.size > 0 and x.dtype.kind not in "iu"
    return x.dtype.char in "fd" and x.size > SMALL and prod(x.shape[2:]) >= SHORTEST
