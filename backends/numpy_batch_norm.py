"""Batch norm for NumPy, by rows.

Names are those of `autograd_gpu.ops.normalization`; NotImplemented asks for the general form.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from autograd_gpu.backends.numpy_channels import gradients, normalised, statistics

Array = np.ndarray[Any, Any]

SHORTEST = 32
"""Elements of a row from which this takes less time than the general form."""


def channel_statistics(x: Array) -> Any:
    """Mean and variance [C] of the channels of `x` [N, C, ...], over all other axes."""
    if not _is_known(x):
        return NotImplemented
    return statistics(x)


def channels_normalised(
    x: Array, mean: Array, inverse: Array, weight: Array | None, bias: Array | None
) -> Any:
    """(x - mean) * inverse * weight + bias, all but `x` [C]."""
    if not _is_known(x):
        return NotImplemented
    return normalised(x, mean, inverse, weight, bias)


def batch_norm_gradients(
    g: Array, x: Array, mean: Array, inverse: Array, weight: Array | None, needs: Sequence[bool]
) -> Any:
    """The gradients of `batch_norm` for its operands, where they are needed."""
    if not _is_known(x) or g.dtype != x.dtype:
        return NotImplemented
    return gradients(g, x, mean, inverse, weight, needs[0])


def _is_known(x: Array) -> bool:
    return x.dtype.char in "fd" and x.size > 0 and prod(x.shape[2:]) >= SHORTEST
