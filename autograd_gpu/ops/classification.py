"""Cross-entropy of labels, and softmax under a mask."""

from __future__ import annotations

import math
from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.kernels import kernel
from autograd_gpu.ops.layers import check_indices
from autograd_gpu.ops.linalg.common import arrays_of
from autograd_gpu.ops.nested import wide
from autograd_gpu.primitive import primitive


@kernel
def softmax_cross_entropy(xp: Namespace, x: Any, target: Any) -> tuple[Any, Any, Any]:
    """Of each row of `x` [rows, width]: log(sum(exp(x))), the element in column `target`, and what
    `softmax_less_picked` gets as `kept`."""
    top = xp.max(x, axis=1, keepdims=True)
    exps = xp.exp(x - top)
    total = xp.sum(exps, axis=1)
    picked = xp.take_along_axis(x, target[:, None], axis=1)[:, 0]
    return xp.log(total) + top[:, 0], picked, (exps, total)


@kernel
def softmax_less_picked(
    xp: Namespace, x: Any, kept: Any, scale: Any, target: Any, picked: Any
) -> Any:
    """softmax of the rows of `x` times `scale`, less `picked` in each row's column `target`."""
    if kept is None:
        probabilities = xp.softmax(x, axis=1) * scale[:, None]
    else:
        exps, total = kept
        probabilities = exps * (scale / total)[:, None]
    columns = arrays_of(x).arange(x.shape[1], dtype=target.dtype)
    return probabilities - xp.where(target[:, None] == columns, picked[:, None], 0)


# The loss of a row that is not ignored, with class weights w and ε the label smoothing, is
#   (1 - ε) * w[target] * (L - x[target]) + ε / classes * sum(w * (L - x)),  L = log(sum(exp(x))),
# and the mean divides by the sum of w[target].  Of half types all that is as large as a row or a
# class is computed in float32: float16 can't count to 70,000, nor bfloat16 to 300.


def _logits(
    xp: Namespace,
    g: Any,
    logits: Any,
    target: Any,
    weight: Any,
    aux: Any,
    ignore_index: int,
    label_smoothing: float,
    reduction: str,
) -> Any:
    if weight is not None:
        weight = wide(xp, weight)
    if aux is None:
        target, keep, factor = label_rows(xp, logits, target, weight, ignore_index)
        kept, count = None, _divisor(xp, factor) if reduction == "mean" else None
    else:
        kept, target, keep, factor, count = aux
    g = wide(xp, g)
    if count is not None:
        g = g / count
    picked = scale = g * factor
    if label_smoothing:
        classes = logits.shape[1]
        smooth = g * keep * (label_smoothing / classes)
        picked = picked * (1 - label_smoothing)
        scale = picked + smooth * (classes if weight is None else xp.sum(weight))
    grad = softmax_less_picked(xp, logits, kept, scale, target, picked)
    if label_smoothing:
        grad = grad - (smooth[:, None] if weight is None else smooth[:, None] * weight)
    return grad


def label_rows(
    xp: Namespace, logits: Any, target: Any, weight: Any, ignore_index: int
) -> tuple[Any, Any, Any]:
    """Labels with 0 for the ignored ones, 0 for these and 1 for others, and that times weight."""
    is_kept = target != ignore_index
    target = xp.where(is_kept, target, 0)
    keep = xp.astype(is_kept, "float32" if logits.dtype.itemsize == 2 else logits.dtype)
    return target, keep, keep if weight is None else keep * xp.take(weight, target, axis=0)


@kernel
def checked_labels(xp: Namespace, logits: Any, target: Any, ignore_index: int) -> tuple[Any, Any]:
    """The first two of `label_rows`; IndexError for a label that is no column of `logits`, where
    to look does not mean to wait."""
    target, keep, _ = label_rows(xp, logits, target, None, ignore_index)
    check_indices(xp, target, logits.shape[1])
    return target, keep


@kernel
def weighted_mean(xp: Namespace, rows: Any, factor: Any) -> tuple[Any, Any]:
    """The sum of `rows` [n] over that of `factor` [n], NaN where there is nothing to divide by, and
    what a gradient is divided by."""
    count = xp.sum(factor)
    mean = xp.sum(rows) / xp.where(count == 0, math.nan, count)
    return mean, xp.where(count == 0, 1, count)


def _divisor(xp: Namespace, factor: Any) -> Any:
    count = xp.sum(factor)
    return xp.where(count == 0, 1, count)


@primitive(aux=True, cast="widened", logits=_logits)
def cross_entropy(
    xp: Namespace,
    logits: Array,
    target: Array,
    weight: Array | None = None,
    *,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> tuple[Array, Any]:
    """-log(softmax(logits)) [rows, classes] at the labels `target` [rows].

    Raises ValueError for a label outside [0, classes), but not on a GPU, where that would wait.
    """
    if weight is not None:
        weight = wide(xp, weight)
    try:
        target, keep = checked_labels(xp, logits, target, ignore_index)
    except IndexError as error:
        raise ValueError(f"label {error}") from None
    factor = keep if weight is None else keep * xp.take(weight, target, axis=0)
    total, picked, kept = softmax_cross_entropy(xp, logits, target)
    total, picked = wide(xp, total), wide(xp, picked)
    loss = (total - picked) * factor
    if label_smoothing:
        classes = logits.shape[1]
        if weight is None:
            smooth = total * classes - xp.sum(wide(xp, logits), axis=1)
        else:
            smooth = total * xp.sum(weight) - xp.matmul(wide(xp, logits), weight)
        loss = loss * (1 - label_smoothing) + smooth * keep * (label_smoothing / classes)
    count = None
    if reduction == "mean":
        loss, count = weighted_mean(xp, loss, factor)
    elif reduction == "sum":
        loss = xp.sum(loss)
    if logits.dtype.itemsize == 2:
        loss = xp.astype(loss, logits.dtype)
    return loss, (kept, target, keep, factor, count)


def _masked_softmax(xp: Namespace, g: Any, y: Any) -> Any:
    return y * (g - xp.sum(g * y, axis=-1, keepdims=True))


@primitive(cast="widened", x=_masked_softmax, tangent="elementwise")
def masked_softmax(xp: Namespace, x: Array, mask: Array) -> Array:
    """softmax over the last axis, of the elements where `mask` is True; the others are 0.

    Where the mask leaves nothing of a row, the row is 0.
    """
    x = xp.where(mask, x, -math.inf)
    top = xp.max(x, axis=-1, keepdims=True)
    y = xp.exp(x - xp.where(top == -math.inf, 0, top))
    total = xp.sum(y, axis=-1, keepdims=True)
    y /= xp.where(total == 0, 1, total)
    return y
