"""Rows of tables, and classes as rows."""

from __future__ import annotations

from typing import Any

from autograd_gpu import ops
from autograd_gpu.nn.functional.arguments import as_raw, backend_near, shape_of
from autograd_gpu.variable import Variable


def embedding(indices: Any, weight: Any, padding_idx: int | None = None) -> Variable:
    """The rows of `weight` [rows, width] at `indices`, integers of any shape.

    The row `padding_idx` gets no gradient.  Raises IndexError for an index outside [0, rows), but
    not on a GPU, where that would wait: there it wraps around.

    >>> embedding([[2, 0]], [[0.0], [1.0], [2.0]]).tolist()
    [[[2.0], [0.0]]]
    """
    at = as_raw(indices, weight)
    if at.dtype.kind not in "iu":
        raise TypeError(f"embedding: indices are integers, not {at.dtype}")
    rows = shape_of(weight)[0]
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise IndexError(f"embedding: padding_idx {padding_idx} is outside the {rows} rows")
        padding_idx %= rows
    return ops.embedding(at, weight, padding_idx)


def one_hot(indices: Any, num_classes: int) -> Variable:
    """Integers as rows [..., num_classes] of zeros with a one at each index, in the default dtype.

    >>> one_hot([0, 2], 3).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    at = as_raw(indices, indices)
    if at.dtype.kind not in "iu":
        raise TypeError(f"one_hot: indices are integers, not {at.dtype}")
    backend = backend_near(at)
    if backend.name == "numpy" and at.size and not 0 <= at.min() <= at.max() < num_classes:
        wrong = at.min() if at.min() < 0 else at.max()
        raise IndexError(f"one_hot: {wrong} is outside [0, {num_classes})")
    classes = backend.xp.arange(num_classes, dtype=at.dtype)
    hot = at[..., None] == classes
    return Variable(backend.asarray(hot, ops.zeros(()).dtype))
