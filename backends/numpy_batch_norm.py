"""Batch norm for NumPy, by the compiled core (`numpy_pieces`), or else by rows: long channels
or whole images.

Names are those of `autograd_gpu.ops.normalization`; NotImplemented asks for the general form.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from autograd_gpu.backends import numpy_channels, numpy_pieces, numpy_short_channels

Array = np.ndarray[Any, Any]

SMALL = 16384
"""Elements up to which the general form takes less time."""

LONG = 512
"""Elements of a channel from which a loop over each is no longer too many."""


def channel_statistics(x: Array) -> Any:
    """Mean and variance [C] of the channels of `x` [N, C, ...], over all other axes."""
    if not _is_known(x):
        return NotImplemented
    if numpy_pieces.is_compiled(x):
        return numpy_pieces.channel_statistics(x)
    return _form(x).statistics(x)


def channels_normalised(
    x: Array, mean: Array, inverse: Array, weight: Array | None, bias: Array | None
) -> Any:
    """(x - mean) * inverse * weight + bias, all but `x` [C]."""
    if not _is_known(x):
        return NotImplemented
    if numpy_pieces.is_compiled(x):
        return numpy_pieces.channels_normalised(x, mean, inverse, weight, bias)
    return _form(x).normalised(x, mean, inverse, weight, bias)


def batch_norm_gradients(
    g: Array, x: Array, mean: Array, inverse: Array, weight: Array | None, needs: Sequence[bool]
) -> Any:
    """The gradients of `batch_norm` for its operands, where they are needed."""
    if not _is_known(x) or g.dtype != x.dtype:
        return NotImplemented
    if numpy_pieces.is_compiled(x, g):
        return numpy_pieces.batch_norm_gradients(g, x, mean, inverse, weight, needs[0])
    return _form(x).gradients(g, x, mean, inverse, weight, needs[0])


def _is_known(x: Array) -> bool:
    # of [N, C] NumPy adds up rows as fast, without a call for each step
    return x.dtype.char in "fd" and x.size > SMALL and prod(x.shape[2:]) > 1


def _form(x: Array) -> Any:
    return numpy_channels if prod(x.shape[2:]) >= LONG else numpy_short_channels
