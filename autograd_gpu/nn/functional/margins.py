"""Losses on margins between scores or distances; arguments as in `losses`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograd_gpu import ops
from autograd_gpu.nn.functional.arguments import (
    as_raw,
    backend_near,
    check_equal_shapes,
    shape_of,
)
from autograd_gpu.nn.functional.distances import pairwise_distance
from autograd_gpu.nn.functional.losses import (
    binary_cross_entropy_with_logits,
    check_labels,
    check_reduction,
    numbers,
    reduced,
)
from autograd_gpu.placement import on_its_device
from autograd_gpu.precision import in_float32
from autograd_gpu.variable import Variable


@on_its_device
@in_float32
def cosine_embedding_loss(
    x1: Any, x2: Any, target: Any, margin: float = 0.0, reduction: str = "mean"
) -> Variable:
    """1 - cos(x1, x2) for target 1, max(0, cos(x1, x2) - margin) for target -1.

    `x1` and `x2` are [N, D] with target [N], or [D] with a single target.
    """
    op = "cosine_embedding_loss"
    check_reduction(op, reduction)
    check_equal_shapes(op, x1=x1, x2=x2)
    shape = shape_of(x1)
    target = as_raw(target, x1)
    if len(shape) not in (1, 2) or tuple(target.shape) != shape[:-1]:
        raise ValueError(
            f"{op}: x1 {list(shape)} and target {list(target.shape)} must be [N, D] and [N]"
        )
    x1, x2 = ops.asarray(x1), ops.asarray(x2)
    # PyTorch's definition, which adds to the squares instead of bounding the norms
    tiny = 1e-12
    squares = (ops.sum_(x1 * x1, axis=-1) + tiny) * (ops.sum_(x2 * x2, axis=-1) + tiny)
    cosine = ops.sum_(x1 * x2, axis=-1) / ops.sqrt(squares)
    apart = ops.relu(cosine - margin)
    return reduced(ops.where(target == 1, 1 - cosine, ops.where(target == -1, apart, 0)), reduction)


@on_its_device
@in_float32
def hinge_embedding_loss(
    x: Any, target: Any, margin: float = 1.0, reduction: str = "mean"
) -> Variable:
    """`x` for target 1, max(0, margin - x) for target -1."""
    check_reduction("hinge_embedding_loss", reduction)
    check_equal_shapes("hinge_embedding_loss", x=x, target=target)
    x, target = ops.asarray(x), as_raw(target, x)
    apart = ops.relu(margin - x)
    return reduced(
        ops.where(target == 1, x, 0) + ops.where(target == -1, apart, 0), reduction
    )  # fmt: skip


@on_its_device
@in_float32
def margin_ranking_loss(
    x1: Any, x2: Any, target: Any, margin: float = 0.0, reduction: str = "mean"
) -> Variable:
    """max(0, margin - target · (x1 - x2)): `x1` ranks higher for target 1, lower for -1."""
    check_reduction("margin_ranking_loss", reduction)
    check_equal_shapes("margin_ranking_loss", x1=x1, x2=x2, target=target)
    return reduced(
        ops.relu(margin - ops.subtract(x1, x2) * numbers(target, x1)), reduction
    )  # fmt: skip


@on_its_device
@in_float32
def soft_margin_loss(x: Any, target: Any, reduction: str = "mean") -> Variable:
    """log(1 + exp(-target · x)), for targets 1 and -1."""
    check_reduction("soft_margin_loss", reduction)
    check_equal_shapes("soft_margin_loss", x=x, target=target)
    return reduced(ops.softplus(-(ops.asarray(x) * numbers(target, x))), reduction)


@on_its_device
@in_float32
def multi_margin_loss(
    x: Any,
    target: Any,
    p: int = 1,
    margin: float = 1.0,
    weight: Any = None,
    reduction: str = "mean",
) -> Variable:
    """The hinge loss of classes: the mean over the other classes of
    max(0, margin - x[target] + x)ᵖ, for `x` [N, C] and labels [N], or [C] and one label.

    `weight` [C] multiplies by the weight of the label.  Raises ValueError for labels outside
    [0, C), but not on a GPU.
    """
    op = "multi_margin_loss"
    check_reduction(op, reduction)
    if p not in (1, 2):
        raise ValueError(f"{op}: p is 1 or 2, not {p}")
    x = ops.asarray(x)
    labels = as_raw(target, x)
    if labels.dtype.kind not in "iu":
        raise TypeError(f"{op}: labels are integers, not {labels.dtype}")
    if x.ndim not in (1, 2) or tuple(labels.shape) != x.shape[:-1]:
        raise ValueError(f"{op}: x {list(x.shape)} and target {list(labels.shape)} must be [N, C] "
                         f"and [N], or [C] and []")  # fmt: skip
    xp, classes = backend_near(x).xp, x.shape[-1]
    check_labels(op, xp, labels, classes)
    own = ops.take_along_axis(x, labels[..., None], axis=-1)
    loss = ops.relu(margin - own + x) ** p
    # the term of the class itself is margin ** p
    loss = (ops.sum_(loss, axis=-1) - margin**p) / classes
    if weight is not None:
        weight = as_raw(weight, x)
        if weight.shape != (classes,):
            raise ValueError(f"{op}: weight {list(weight.shape)} must be [{classes}]")
        loss = loss * weight[labels]
    return reduced(loss, reduction)


@on_its_device
@in_float32
def multilabel_margin_loss(x: Any, target: Any, reduction: str = "mean") -> Variable:
    """The hinge loss of several labels: the sum of max(0, 1 - x[label] + x[other]) over all labels
    and all other classes, over C.

    `x` is [N, C] or [C], and `target`, integers of the same shape, has the labels in front of the
    first -1.  Raises ValueError for labels outside [0, C), but not on a GPU.

    >>> multilabel_margin_loss([[0.1, 0.2, 0.4, 0.8]], [[3, 0, -1, 1]]).item()
    0.8500000238418579
    """
    op = "multilabel_margin_loss"
    check_reduction(op, reduction)
    check_equal_shapes(op, x=x, target=target)
    x = ops.asarray(x)
    labels = as_raw(target, x)
    if labels.dtype.kind not in "iu":
        raise TypeError(f"{op}: labels are integers, not {labels.dtype}")
    if x.ndim not in (1, 2):
        raise ValueError(f"{op}: x must be [N, C] or [C], not {list(x.shape)}")
    xp, classes = backend_near(x).xp, x.shape[-1]
    is_label = xp.cumprod(labels >= 0, axis=-1) > 0
    labels = xp.where(is_label, labels, 0)
    check_labels(op, xp, labels, classes)
    hot = labels[..., None] == xp.arange(classes)
    is_other = ~(hot & is_label[..., None]).any(axis=-2)
    own = ops.expand_dims(ops.take_along_axis(x, labels, axis=-1), axis=-1)
    hinge = ops.relu(1 - own + ops.expand_dims(x, axis=-2))
    counted = is_label[..., None] & is_other[..., None, :]
    return reduced(ops.sum_(ops.where(counted, hinge, 0), axis=(-2, -1)) / classes, reduction)


@on_its_device
@in_float32
def multilabel_soft_margin_loss(
    x: Any, target: Any, weight: Any = None, reduction: str = "mean"
) -> Variable:
    """The mean over the classes, the last axis, of the binary cross-entropy of sigmoid(x) with
    `target`, 0 or 1 for each class; `weight` [C] multiplies each class's."""
    op = "multilabel_soft_margin_loss"
    check_reduction(op, reduction)
    loss = binary_cross_entropy_with_logits(x, target, weight, reduction="none")
    return reduced(ops.mean(loss, axis=-1), reduction)


@in_float32
def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Variable:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), for [N, D] or [D].

    With `swap` the distance of positive and negative counts if it is smaller than that of anchor
    and negative.
    """
    op = "triplet_margin_loss"
    check_reduction(op, reduction)
    check_equal_shapes(op, anchor=anchor, positive=positive, negative=negative)

    def distance(x1: Any, x2: Any) -> Variable:
        return pairwise_distance(x1, x2, p, eps)

    return _triplet(anchor, positive, negative, distance, margin, swap, reduction)


def triplet_margin_with_distance_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    *,
    distance_function: Callable[[Any, Any], Variable] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Variable:
    """`triplet_margin_loss` with a distance of one's own, `pairwise_distance` unless given."""
    op = "triplet_margin_with_distance_loss"
    check_reduction(op, reduction)
    check_equal_shapes(op, anchor=anchor, positive=positive, negative=negative)
    distance = pairwise_distance if distance_function is None else distance_function
    return _triplet(anchor, positive, negative, distance, margin, swap, reduction)


def _triplet(
    anchor: Any,
    positive: Any,
    negative: Any,
    distance: Callable[[Any, Any], Variable],
    margin: float,
    swap: bool,
    reduction: str,
) -> Variable:
    apart = distance(anchor, negative)
    if swap:
        apart = ops.minimum(apart, distance(positive, negative))
    return reduced(ops.relu(distance(anchor, positive) - apart + margin), reduction)
