"""Rows of tables, and classes as rows."""

from __future__ import annotations

import math
from typing import Any

from autograd_gpu import ops
from autograd_gpu.callers import named
from autograd_gpu.nn.functional.arguments import as_raw, backend_near, shape_of
from autograd_gpu.ops.layers import check_indices
from autograd_gpu.placement import on_its_device
from autograd_gpu.variable import Variable


@on_its_device
def embedding(
    indices: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
) -> Variable:
    """The rows of `weight` [rows, width] at `indices`, integers of any shape.

    The row `padding_idx` gets no gradient.  With `max_norm` the rows at `indices` are first scaled,
    in `weight` itself, so that their `norm_type`-norm is at most that.  Raises IndexError for an
    index outside [0, rows), but not on a GPU, where that would wait: there it wraps around.

    >>> embedding([[2, 0]], [[0.0], [1.0], [2.0]]).tolist()
    [[[2.0], [0.0]]]
    """
    at = as_raw(indices, weight)
    if at.dtype.kind not in "iu":
        raise TypeError(named("embedding", f"indices are integers, not {at.dtype}"))
    rows = shape_of(weight)[0]
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise IndexError(f"embedding: padding_idx {padding_idx} is outside the {rows} rows")
        padding_idx %= rows
    if max_norm is not None:
        _bound(at, weight, max_norm, norm_type)
    return ops.embedding(at, weight, padding_idx)


def _bound(at: Any, weight: Any, max_norm: float, norm_type: float) -> None:
    if not isinstance(weight, Variable) or not weight.is_leaf:
        raise TypeError("embedding: max_norm changes the weight, which must be a leaf Variable")
    xp = backend_near(weight).xp
    check_indices(xp, at, weight.shape[0])
    rows = weight.value[at]
    norms = xp.linalg.vector_norm(rows, axis=-1, keepdims=True, ord=norm_type)
    scale = xp.where(norms > max_norm, max_norm / (norms + 1e-7), 1)
    weight.writable()[at] = (rows * scale).astype(rows.dtype)


@on_its_device
def embedding_bag(
    indices: Any,
    weight: Any,
    offsets: Any = None,
    *,
    mode: str = "mean",
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Variable:
    """Sums, means or maxima [B, width] of rows of `weight` [rows, width], one for each bag.

    Parameters
    ----------
    indices
        [B, n]: n rows for each bag; or [N] with `offsets`.
    offsets
        [B], where each bag begins in `indices`, growing from 0 (looked at on NumPy only); with
        `include_last_offset` the last one, [B + 1], is the end of the last bag.
    mode
        'sum', 'mean', or 'max', for indices [B, n] only.
    per_sample_weights
        Like `indices`: factors of the rows, for 'sum'.
    padding_idx
        Indices that do not count.  A bag of none gives zeros.

    Raises IndexError for an index outside [0, rows), but not on a GPU.

    >>> embedding_bag([[0, 2], [1, 1]], [[1.0], [2.0], [3.0]]).tolist()
    [[2.0], [2.0]]
    """
    op = "embedding_bag"
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"{op}: mode is 'sum', 'mean' or 'max', not {mode!r}")
    at = as_raw(indices, weight)
    if at.ndim != (2 if offsets is None else 1) or (offsets is not None and mode == "max"):
        raise ValueError(
            f"{op}: indices {list(at.shape)} must be [B, n], or [N] with offsets and mode 'sum' or "
            f"'mean'"
        )
    if per_sample_weights is not None and (
        mode != "sum" or shape_of(per_sample_weights) != at.shape
    ):
        raise ValueError(f"{op}: per_sample_weights are for mode 'sum' and of the shape of indices")
    xp = backend_near(at).xp
    rows = embedding(at, weight, padding_idx)
    counts: Any = xp.ones(at.shape, dtype=rows.dtype)
    if padding_idx is not None:
        counts = (at != padding_idx % shape_of(weight)[0]).astype(rows.dtype)
    if mode == "max":
        kept = counts[..., None] > 0
        largest = ops.max_(ops.where(kept, rows, -math.inf), axis=1)
        return ops.where(kept.any(axis=1), largest, 0)
    factors = counts if per_sample_weights is None else per_sample_weights * counts
    if padding_idx is not None or per_sample_weights is not None:
        rows = rows * ops.expand_dims(factors, axis=-1)
    if offsets is None:
        y, n = ops.sum_(rows, axis=1), xp.sum(counts, axis=1)
    else:
        starts = as_raw(offsets, weight)
        bags = starts.shape[0] - include_last_offset
        _check_first(op, xp, starts)
        bag = xp.searchsorted(starts[:bags], xp.arange(at.shape[0]), side="right") - 1
        y = ops.scatter_add(rows, (bag,), (bags, rows.shape[-1]))
        n = xp.scatter_add(counts, (bag,), (bags,))
    return y / xp.maximum(n, 1)[:, None] if mode == "mean" else y


def _check_first(op: str, xp: Any, starts: Any) -> None:
    # what stands in front of the first bag would count for the last one
    try:
        check_indices(xp, starts[:1], 1)
    except IndexError:
        raise ValueError(f"{op}: offsets begin at {starts[0]}, not at 0") from None


@on_its_device
def one_hot(indices: Any, num_classes: int = -1) -> Variable:
    """Integers as rows [..., num_classes] of zeros with a one at each index, in the default dtype.

    For -1 there are as many classes as the largest index needs, which waits for the device.

    >>> one_hot([0, 2], 3).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    at = as_raw(indices, indices)
    if at.dtype.kind not in "iu":
        raise TypeError(f"one_hot: indices are integers, not {at.dtype}")
    backend = backend_near(at)
    if num_classes == -1 and at.size:
        num_classes = int(at.max()) + 1
    if num_classes < 1:
        raise ValueError(f"one_hot: num_classes={num_classes} must be positive")
    if backend.name == "numpy" and at.size and not 0 <= at.min() <= at.max() < num_classes:
        wrong = at.min() if at.min() < 0 else at.max()
        raise IndexError(f"one_hot: {wrong} is outside [0, {num_classes})")
    classes = backend.xp.arange(num_classes, dtype=at.dtype)
    hot = at[..., None] == classes
    return Variable(backend.asarray(hot, ops.zeros(()).dtype))
