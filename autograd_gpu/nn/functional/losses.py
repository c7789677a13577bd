"""Losses.  They refuse operands whose shapes differ, since a broadcast is nearly always a mistake.

A target of integers or bools is taken in the dtype of what it is compared with.

`reduction` is 'mean', 'sum' or 'none' throughout.
"""

from __future__ import annotations

import math
from typing import Any

from autograd_gpu import ops
from autograd_gpu.nn.functional.arguments import (
    as_raw,
    backend_near,
    check_equal_shapes,
    is_floating,
    shape_of,
)
from autograd_gpu.ops.classification import label_rows
from autograd_gpu.ops.layers import check_indices
from autograd_gpu.ops.losses import binary_cross_entropy as of_each
from autograd_gpu.placement import on_its_device
from autograd_gpu.precision import in_float32
from autograd_gpu.variable import Variable


def cross_entropy(
    logits: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Variable:
    """-log(softmax(logits)) at the labels.

    Parameters
    ----------
    logits
        [N, C], [N, C, ...] or [C].
    target
        Labels, integers with the shape of `logits` without the classes; or probabilities with the
        shape of `logits`.  A Variable, an array or a list.
    weight
        One weight per class, [C].  The mean divides by the weights of the labels.
    ignore_index
        A label whose row does not count.  The mean over nothing but such rows is NaN.
    label_smoothing
        How much of the probability is spread over all classes.

    Raises ValueError for shapes that do not fit and for labels outside [0, C); the latter not on a
    GPU, where it would wait: there such a label gives a wrong number.

    >>> cross_entropy([[0.0, 0.0], [0.0, 0.0]], [1, 0])
    Variable(array(0.6931472, dtype=float32))
    """
    check_reduction("cross_entropy", reduction)
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"cross_entropy: label_smoothing={label_smoothing} is not in [0, 1]")
    shape = shape_of(logits)
    labels = as_raw(target, logits)
    if not shape:
        raise ValueError("cross_entropy: logits must be [N, C], [N, C, ...] or [C], not a scalar")
    if weight is not None:
        weight = as_raw(weight, logits)
        classes = shape[1] if len(shape) > 1 else shape[0]
        if weight.shape != (classes,):
            raise ValueError(f"cross_entropy: weight {list(weight.shape)} must be [{classes}]")
    if is_floating(labels):
        probabilities = target if isinstance(target, Variable) else labels
        return _soft_cross_entropy(logits, probabilities, weight, label_smoothing, reduction)
    _check_labels("cross_entropy", shape, labels)
    if len(shape) != 2:
        logits, labels = _as_rows(logits, labels)
    loss = ops.cross_entropy(logits, labels, weight, ignore_index, label_smoothing, reduction)
    return ops.reshape(loss, _label_shape(shape)) if reduction == "none" else loss


@on_its_device
@in_float32
def nll_loss(
    log_probabilities: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Variable:
    """Minus the log-probabilities at the labels; arguments as in `cross_entropy`."""
    check_reduction("nll_loss", reduction)
    shape = shape_of(log_probabilities)
    labels = as_raw(target, log_probabilities)
    _check_labels("nll_loss", shape, labels)
    rows, labels = _as_rows(log_probabilities, labels)
    if weight is not None:
        weight = as_raw(weight, log_probabilities)
    xp = backend_near(rows).xp
    labels, _, factor = label_rows(xp, rows, labels, weight, ignore_index)
    check_labels("nll_loss", xp, labels, rows.shape[1])
    loss = ops.take_along_axis(rows, labels[:, None], axis=1)[:, 0] * -factor
    loss = ops.reshape(loss, _label_shape(shape)) if reduction == "none" else ops.sum_(loss)
    if reduction == "mean":
        count = xp.sum(factor)
        # NaN where all are ignored, whose gradient is 0 and leaves the parameters as they are
        mean = ops.divide(loss, xp.where(count == 0, 1, count))
        loss = ops.where(count == 0, math.nan, mean)
    return ops.astype(loss, rows.dtype) if rows.dtype.itemsize == 2 else loss


@on_its_device
@in_float32
def _soft_cross_entropy(
    logits: Any, target: Any, weight: Any, label_smoothing: float, reduction: str
) -> Variable:
    shape = shape_of(logits)
    check_equal_shapes("cross_entropy", logits=logits, target=target)
    axis = 1 if len(shape) > 1 else 0
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / shape[axis]
    log_p = ops.log_softmax(logits, axis=axis)
    if weight is not None:
        log_p = log_p * weight.reshape((-1, *[1] * (len(shape) - 1 - axis)))
    loss = -ops.sum_(log_p * target, axis=axis)
    return reduced(loss, reduction)


@on_its_device
@in_float32
def binary_cross_entropy_with_logits(
    logits: Any,
    target: Any,
    weight: Any = None,
    pos_weight: Any = None,
    reduction: str = "mean",
) -> Variable:
    """Cross-entropy of sigmoid(logits) with probabilities `target`, without overflow.

    `weight` multiplies each element's loss, `pos_weight` what belongs to target 1; both broadcast.
    """
    op = "binary_cross_entropy_with_logits"
    check_reduction(op, reduction)
    check_equal_shapes(op, logits=logits, target=target)
    target = numbers(target, logits)
    # -log(sigmoid(x)) = softplus(-x), and -log(1 - sigmoid(x)) = softplus(-x) + x
    softplus = ops.softplus(ops.negative(logits))
    if pos_weight is None:
        loss = softplus + logits * (1 - target)
    else:
        factor = 1 + (operand(pos_weight, logits) - 1) * target
        loss = softplus * factor + logits * (1 - target)
    return reduced(loss if weight is None else loss * operand(weight, logits), reduction)


@on_its_device
@in_float32
def binary_cross_entropy(
    probabilities: Any, target: Any, weight: Any = None, reduction: str = "mean"
) -> Variable:
    """Cross-entropy of probabilities; as in PyTorch logarithms are bounded at -100, and the
    denominator of the gradient (p - target) / (p · (1 - p)) at 1e-12.

    Raises ValueError for probabilities outside [0, 1], but not on a GPU.
    """
    check_reduction("binary_cross_entropy", reduction)
    check_equal_shapes("binary_cross_entropy", probabilities=probabilities, target=target)
    target = numbers(target, probabilities)
    loss = of_each(probabilities, target)
    return reduced(loss if weight is None else loss * operand(weight, probabilities), reduction)


@on_its_device
def mse_loss(x: Any, target: Any, reduction: str = "mean", weight: Any = None) -> Variable:
    """The mean of (x - target)²; with `weight`, of the same shape, the weighted mean.

    >>> mse_loss([1.0, 2.0], [1.0, 4.0])
    Variable(array(2., dtype=float32))
    """
    check_reduction("mse_loss", reduction)
    check_equal_shapes("mse_loss", x=x, target=target)
    target = numbers(target, x)
    if weight is not None:
        return _weighted("mse_loss", ops.squared_error(x, target, "none"), weight, reduction)
    return ops.squared_error(x, target, reduction)


@on_its_device
@in_float32
def l1_loss(x: Any, target: Any, reduction: str = "mean", weight: Any = None) -> Variable:
    """The mean of abs(x - target), weighted as in `mse_loss`."""
    check_reduction("l1_loss", reduction)
    check_equal_shapes("l1_loss", x=x, target=target)
    d = ops.abs_(ops.subtract(x, numbers(target, x)))
    return _weighted("l1_loss", d, weight, reduction)


@on_its_device
@in_float32
def huber_loss(
    x: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None
) -> Variable:
    """d² / 2 where d = abs(x - target) is at most `delta`, else delta · (d - delta / 2); times
    `weight`, of the same shape, if given."""
    check_reduction("huber_loss", reduction)
    if delta <= 0:
        raise ValueError(f"huber_loss: delta={delta} must be positive")
    check_equal_shapes("huber_loss", x=x, target=target)
    d = ops.abs_(ops.subtract(x, numbers(target, x)))
    bounded = ops.minimum(d, delta)
    loss = bounded * (d - 0.5 * bounded)
    if weight is not None:  # the mean is over all elements, as PyTorch has it
        loss = _weighted("huber_loss", loss, weight, "none")
    return reduced(loss, reduction)


@in_float32
def smooth_l1_loss(x: Any, target: Any, reduction: str = "mean", beta: float = 1.0) -> Variable:
    """The Huber loss over `beta`, its delta; for beta 0 the same as `l1_loss`."""
    if beta == 0:
        return l1_loss(x, target, reduction)
    return ops.divide(huber_loss(x, target, reduction, beta), beta)


@on_its_device
@in_float32
def kl_div(x: Any, target: Any, reduction: str = "mean", log_target: bool = False) -> Variable:
    """target · (log(target) - x) for log-probabilities `x`; 0 where `target` is 0.

    `reduction` may also be 'batchmean': the sum over the length of the first axis.
    """
    check_reduction("kl_div", reduction, "batchmean")
    check_equal_shapes("kl_div", x=x, target=target)
    target = numbers(target, x)
    if log_target:
        loss = ops.exp(target) * (target - x)
    else:
        positive = target > 0
        log_t = ops.log(ops.where(positive, target, 1))
        loss = ops.where(positive, target * (log_t - x), 0)
    if reduction == "batchmean":
        return ops.sum_(loss) / shape_of(x)[0]
    return reduced(loss, reduction)


def reduced(loss: Variable, reduction: str) -> Variable:
    if reduction == "mean":
        return ops.mean(loss)
    return ops.sum_(loss) if reduction == "sum" else loss


def _weighted(op: str, loss: Variable, weight: Any, reduction: str) -> Variable:
    """`loss` reduced, its mean over the sum of `weight`, which has the same shape or is None."""
    if weight is None:
        return reduced(loss, reduction)
    weight = operand(weight, loss)
    if shape_of(weight) != loss.shape:
        raise ValueError(
            f"{op}: weight {list(shape_of(weight))} must have the shape of x, {list(loss.shape)}"
        )
    loss = loss * weight
    return ops.sum_(loss) / ops.sum_(weight) if reduction == "mean" else reduced(loss, reduction)


def check_labels(op: str, xp: Any, labels: Any, classes: int) -> None:
    """ValueError for raw labels outside [0, classes); not on a GPU, where it would wait."""
    try:
        check_indices(xp, labels, classes)
    except IndexError as error:
        raise ValueError(f"{op}: label {error}") from None


def operand(x: Any, like: Any) -> Any:
    """`x` for arithmetic: a Variable as it is, anything else as a raw array."""
    return x if isinstance(x, (Variable, int, float)) else as_raw(x, like)


def numbers(target: Any, like: Any) -> Any:
    """`target` for arithmetic with `like`: integers and bools, which would make float64 of float32,
    in the dtype of that."""
    target = operand(target, like)
    kind = getattr(getattr(target, "dtype", None), "kind", None)
    if kind not in ("b", "i", "u") or not hasattr(like, "dtype") or like.dtype.kind not in "fV":
        return target
    return ops.astype(target, like.dtype)


def check_reduction(op: str, reduction: str, *more: str) -> None:
    allowed = ("none", "mean", "sum", *more)
    if reduction not in allowed:
        raise ValueError(f"{op}: reduction is one of {allowed}, not {reduction!r}")


def _label_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (shape[0], *shape[2:]) if len(shape) > 1 else ()


def _check_labels(op: str, shape: tuple[int, ...], labels: Any) -> None:
    if labels.dtype.kind not in "iu":
        raise TypeError(f"{op}: labels are integers, not {labels.dtype}")
    if labels.shape != _label_shape(shape):
        raise ValueError(
            f"{op}: target {list(labels.shape)} must be {list(_label_shape(shape))} "
            f"for logits {list(shape)}"
        )


def _as_rows(logits: Any, labels: Any) -> tuple[Any, Any]:
    """Logits [rows, classes] and labels [rows]."""
    shape = shape_of(logits)
    if len(shape) > 2:
        logits = ops.moveaxis(logits, 1, -1)
    classes = shape[1] if len(shape) > 1 else shape[0]
    return ops.reshape(logits, (-1, classes)), labels.reshape(-1)
