"""Linear layers, embeddings, normalisation, dropout and attention."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from autograd_gpu import ops
from autograd_gpu.nn.functional.arguments import as_raw, as_shape, backend_near, raw, shape_of
from autograd_gpu.ops.normalization import channel_statistics
from autograd_gpu.placement import on_its_device
from autograd_gpu.precision import casting
from autograd_gpu.random import Generator, default_generator
from autograd_gpu.variable import Variable


def linear(x: Any, weight: Any, bias: Any = None) -> Variable:
    """`x` [..., inputs] times `weight` [outputs, inputs] transposed, plus `bias` [outputs].

    >>> linear([1.0, 2.0], [[1.0, 1.0]], [0.5])
    Variable(array([3.5], dtype=float32))
    """
    shape, kernel = shape_of(x), shape_of(weight)
    if len(kernel) != 2 or not shape or shape[-1] != kernel[1]:
        raise ValueError(
            f"linear: x {list(shape)} must be [..., inputs] and weight {list(kernel)} "
            f"[outputs, inputs]"
        )
    if bias is not None and shape_of(bias) != kernel[:1]:
        raise ValueError(f"linear: bias {list(shape_of(bias))} must be [{kernel[0]}]")
    return ops.linear(x, weight, bias)


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


@on_its_device
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


def layer_norm(
    x: Any,
    normalized_shape: int | Sequence[int],
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
) -> Variable:
    """`x` less its mean, over its standard deviation, both over the last axes; times `weight`,
    plus `bias`, which have the shape of these axes, `normalized_shape`.

    >>> layer_norm([[1.0, 3.0]], 2, eps=0.0).tolist()
    [[-1.0, 1.0]]
    """
    normal = as_shape(normalized_shape)
    shape = shape_of(x)
    if not normal or shape[len(shape) - len(normal) :] != normal or len(shape) < len(normal):
        raise ValueError(f"layer_norm: x {list(shape)} must end in {list(normal)}")
    for name, operand in (("weight", weight), ("bias", bias)):
        if operand is not None and shape_of(operand) != normal:
            raise ValueError(f"layer_norm: {name} {list(shape_of(operand))} must be {list(normal)}")
    if weight is None and bias is not None:
        return ops.add(ops.layer_norm([x], len(normal), eps), bias)
    operands = [operand for operand in (x, weight, bias) if operand is not None]
    return ops.layer_norm(operands, len(normal), eps)


def group_norm(
    x: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Variable:
    """Layer norm over groups of the channels of `x` [N, C, ...]; `weight` and `bias` are [C]."""
    shape = shape_of(x)
    if len(shape) < 2 or num_groups < 1 or shape[1] % num_groups:
        raise ValueError(
            f"group_norm: x {list(shape)} must have a multiple of {num_groups} channels"
        )
    for name, operand in (("weight", weight), ("bias", bias)):
        if operand is not None and shape_of(operand) != shape[1:2]:
            raise ValueError(f"group_norm: {name} {list(shape_of(operand))} must be [{shape[1]}]")
    y = ops.layer_norm([ops.reshape(x, (shape[0], num_groups, -1))], 1, eps)
    return _per_channel(ops.reshape(y, shape), weight, bias)


def rms_norm(
    x: Any, normalized_shape: int | Sequence[int], weight: Any = None, eps: float | None = None
) -> Variable:
    """`x` over the root of the mean of its squares over the last axes, times `weight`."""
    normal = as_shape(normalized_shape)
    shape = shape_of(x)
    if not normal or shape[len(shape) - len(normal) :] != normal:
        raise ValueError(f"rms_norm: x {list(shape)} must end in {list(normal)}")
    if weight is not None and shape_of(weight) != normal:
        raise ValueError(f"rms_norm: weight {list(shape_of(weight))} must be {list(normal)}")
    if eps is None:
        eps = float(backend_near(x).xp.finfo(ops.asarray(x).dtype).eps)
    return ops.rms_norm([x] if weight is None else [x, weight], len(normal), eps)


@on_its_device
def batch_norm(
    x: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Variable:
    """`x` [N, C, ...] normalised for each channel, times `weight` [C], plus `bias` [C].

    In training by the batch's own mean and variance, which also move the running ones by
    `momentum` (in place where these are arrays); otherwise by the running ones.
    """
    shape = shape_of(x)
    if len(shape) < 2:
        raise ValueError(f"batch_norm: x must be [N, C, ...], not {list(shape)}")
    for name, operand in (
        ("running_mean", running_mean), ("running_var", running_var), ("weight", weight),
        ("bias", bias),
    ):  # fmt: skip
        if operand is not None and shape_of(operand) != shape[1:2]:
            raise ValueError(
                f"batch_norm: {name} {list(shape_of(operand))} must be [{shape[1]}] for x "
                f"{list(shape)}"
            )
    if not training and running_mean is not None:
        columns = (-1, *[1] * (len(shape) - 2))
        scale: Any = 1 / backend_near(x).xp.sqrt(raw(running_var) + eps)
        shift = -raw(running_mean)
        if weight is None:
            shift = shift * scale
        else:
            scale = ops.multiply(weight, scale)
            shift = shift * scale
        if bias is not None:
            shift = shift + bias
        return ops.add(ops.reshape(scale, columns) * x, ops.reshape(shift, columns))
    x = ops.asarray(x)
    if x.dtype.itemsize == 2:  # sums of squares need more
        wide = ops.astype(x, "float32")
        y = batch_norm(wide, running_mean, running_var, weight, bias, training, momentum, eps)
        return y if casting.get() is not None else ops.astype(y, x.dtype)
    n = prod(shape) // max(1, shape[1])
    if n < 1 or (training and n < 2):
        raise ValueError(f"batch_norm: x {list(shape)} has {n} values per channel, no variance")
    mean, variance = channel_statistics(backend_near(x).xp, x.value)
    if training and running_mean is not None:
        _move(running_mean, mean, momentum)
        _move(running_var, variance * (n / (n - 1)), momentum)
    if weight is None and bias is not None:
        return _per_channel(ops.batch_norm([x], mean, variance, eps), None, bias)
    operands = [operand for operand in (x, weight, bias) if operand is not None]
    return ops.batch_norm(operands, mean, variance, eps)


def instance_norm(
    x: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Variable:
    """Every channel of every element of a batch [N, C, ...] normalised by itself.

    Running statistics, as `batch_norm` has them, are not kept: ValueError where they are given.
    """
    shape = shape_of(x)
    if running_mean is not None or running_var is not None or not use_input_stats:
        raise ValueError("instance_norm: running statistics are not supported; use batch_norm")
    if len(shape) < 3 or prod(shape[2:]) < 2:
        raise ValueError(f"instance_norm: x {list(shape)} must be [N, C, ...], more than one each")
    return group_norm(x, shape[1], weight, bias, eps)


def _move(running: Any, new: Any, momentum: float) -> None:
    buffer = running.writable() if isinstance(running, Variable) else running
    buffer *= 1 - momentum
    buffer += (new * momentum).astype(buffer.dtype, copy=False)


def _per_channel(y: Variable, weight: Any, bias: Any) -> Variable:
    columns = (-1, *[1] * (y.ndim - 2))
    if weight is not None:
        y = y * ops.reshape(weight, columns)
    return y if bias is None else y + ops.reshape(bias, columns)


def dropout(
    x: Any, p: float = 0.5, training: bool = True, *, generator: Generator | None = None
) -> Variable:
    """In training `x` with elements set to 0 with probability `p` and the others over 1 - p.

    The mask comes from `generator`, or the one that `manual_seed` seeds, and is the same on every
    backend.
    """
    return _dropped("dropout", x, p, training, None, generator)


def dropout2d(
    x: Any, p: float = 0.5, training: bool = True, *, generator: Generator | None = None
) -> Variable:
    """Dropout of whole channels of `x` [N, C, H, W]."""
    shape = shape_of(x)
    if len(shape) < 2:
        raise ValueError(f"dropout2d: x must be [N, C, ...], not {list(shape)}")
    mask_shape = (*shape[:2], *[1] * (len(shape) - 2))
    return _dropped("dropout2d", x, p, training, mask_shape, generator)


def _dropped(
    op: str,
    x: Any,
    p: float,
    training: bool,
    mask_shape: tuple[int, ...] | None,
    generator: Generator | None,
) -> Variable:
    if not 0 <= p <= 1:
        raise ValueError(f"{op}: p={p} must be a probability")
    if not training or p == 0:
        return ops.positive(x)
    if p == 1:
        return ops.multiply(x, 0.0)
    seed, offset = (generator or default_generator()).next_key()
    return ops.dropout(x, mask_shape, p, seed, offset)


@on_its_device
def scaled_dot_product_attention(
    q: Any,
    k: Any,
    v: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> Variable:
    """softmax(q kᵀ · scale) v for `q` [..., L, E], `k` [..., S, E] and `v` [..., S, D].

    Parameters
    ----------
    attn_mask
        Broadcasts to [..., L, S]: bools, True where a query may look, or numbers, which are added.
    is_causal
        Whether a query sees only the keys up to its own position.
    scale
        1 / sqrt(E) unless given.

    A query that sees no key gets zeros.
    """
    shapes = shape_of(q), shape_of(k), shape_of(v)
    if (
        min(map(len, shapes)) < 2
        or shapes[0][-1] != shapes[1][-1]
        or shapes[1][-2] != shapes[2][-2]
    ):
        raise ValueError(
            f"scaled_dot_product_attention: q {list(shapes[0])}, k {list(shapes[1])} and "
            f"v {list(shapes[2])} must be [..., L, E], [..., S, E] and [..., S, D]"
        )
    scale = shapes[0][-1] ** -0.5 if scale is None else scale
    scores = ops.matmul(q * scale, ops.matrix_transpose(k))
    seen = _seen(scores, is_causal)
    if attn_mask is not None:
        mask = as_raw(attn_mask, q)
        if not _broadcasts(mask.shape, scores.shape):
            raise ValueError(
                f"scaled_dot_product_attention: attn_mask {list(mask.shape)} does not broadcast to "
                f"the scores {list(scores.shape)}"
            )
        if mask.dtype.kind == "b":
            seen = mask if seen is None else seen & mask
        else:
            scores = scores + (attn_mask if isinstance(attn_mask, Variable) else mask)
            open_ = mask > -float("inf")
            seen = open_ if seen is None else seen & open_
    p = ops.softmax(scores, axis=-1) if seen is None else ops.masked_softmax(scores, seen)
    return ops.matmul(dropout(p, dropout_p) if dropout_p else p, v)


def _broadcasts(shape: tuple[int, ...], onto: tuple[int, ...]) -> bool:
    n = len(onto) - len(shape)
    return n >= 0 and all(a in (1, b) for a, b in zip(shape, onto[n:], strict=True))


def _seen(scores: Variable, is_causal: bool) -> Any:
    if not is_causal:
        return None
    xp = backend_near(scores).xp
    return xp.tril(xp.ones(scores.shape[-2:], dtype=bool))
