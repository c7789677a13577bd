"""Layers that normalise."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from autograd_gpu import ops
from autograd_gpu.dtypes import finfo
from autograd_gpu.nn.functional.arguments import as_shape, backend_near, raw, shape_of
from autograd_gpu.ops.normalization import channel_statistics
from autograd_gpu.placement import on_its_device
from autograd_gpu.precision import casting
from autograd_gpu.variable import Variable


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
    if 0 in normal:
        return _scaled(ops.asarray(x), weight, bias)
    if weight is None and bias is not None:
        return _scaled(ops.layer_norm([x], len(normal), eps), None, bias)
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
    if 0 in shape:  # there are no statistics
        return _per_channel(ops.asarray(x), weight, bias)
    if weight is None and bias is not None:
        return _per_channel(ops.group_norm([x], num_groups, eps), None, bias)
    operands = [operand for operand in (x, weight, bias) if operand is not None]
    return ops.group_norm(operands, num_groups, eps)


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
    if 0 in normal:
        return _scaled(ops.asarray(x), weight, None)
    if eps is None:
        eps = finfo(ops.asarray(x)).eps
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
    x = ops.asarray(x)
    if x.dtype.itemsize == 2 and x.dtype.kind in "fV":  # sums of squares need more
        wide = ops.astype(x, "float32")
        y = batch_norm(wide, running_mean, running_var, weight, bias, training, momentum, eps)
        return y if casting.get() is not None else ops.astype(y, x.dtype)
    if not training and running_mean is not None:
        columns = (-1, *[1] * (len(shape) - 2))
        mean, variance = (_widened(raw(v)) for v in (running_mean, running_var))
        scale: Any = 1 / backend_near(x).xp.sqrt(variance + eps)
        shift = -mean
        if weight is None:
            shift = shift * scale
        else:
            scale = ops.multiply(weight, scale)
            shift = shift * scale
        if bias is not None:
            shift = shift + bias
        return ops.add(ops.reshape(scale, columns) * x, ops.reshape(shift, columns))
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


@on_its_device
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

    With `use_input_stats` by its own mean and variance, whose means over the batch move the running
    ones, [C], by `momentum` if these are given; otherwise by the running ones.
    """
    shape = shape_of(x)
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise ValueError("instance_norm: without use_input_stats it needs running statistics")
        return batch_norm(x, running_mean, running_var, weight, bias, False, momentum, eps)
    n = prod(shape[2:])
    if len(shape) < 3 or n < 2:
        raise ValueError(f"instance_norm: x {list(shape)} must be [N, C, ...], more than one each")
    if running_mean is not None:
        if {shape_of(running_mean), shape_of(running_var)} != {shape[1:2]}:
            raise ValueError(f"instance_norm: running statistics must be [{shape[1]}]")
        rows: Any = raw(ops.asarray(x)).reshape((1, -1, n))
        mean, variance = (
            v.reshape(shape[:2]).mean(axis=0) for v in channel_statistics(backend_near(x).xp, rows)
        )
        _move(running_mean, mean, momentum)
        _move(running_var, variance * (n / (n - 1)), momentum)
    return group_norm(x, shape[1], weight, bias, eps)


@on_its_device
def local_response_norm(
    x: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Variable:
    """x / (k + alpha · mean(x²))ᵝ, the mean over `size` neighbouring channels of `x` [N, C, ...];
    beyond the first and the last there are zeros (Krizhevsky et al., 2012).

    >>> local_response_norm(ones((1, 2, 1)), 2, alpha=2.0, beta=1.0).tolist()
    [[[0.5], [0.3333333432674408]]]
    """
    x = ops.asarray(x)
    if x.ndim < 3 or size < 1:
        raise ValueError(
            f"local_response_norm: x {list(x.shape)} must be [N, C, ...] and size={size} positive"
        )
    rows = ops.reshape(x * x, (x.shape[0], x.shape[1], -1))
    rows = ops.pad(rows, ((0, 0), (size // 2, (size - 1) // 2), (0, 0)))
    # sums over windows of the channels
    total = ops.sum_pool(
        ops.expand_dims(rows, axis=1), size=(size, 1), stride=(1, 1), padding=((0, 0), (0, 0))
    )
    mean = ops.reshape(total, x.shape) / size
    return ops.divide(x, (k + alpha * mean) ** beta)


def _move(running: Any, new: Any, momentum: float) -> None:
    buffer = running.writable() if isinstance(running, Variable) else running
    buffer *= 1 - momentum
    buffer += (new * momentum).astype(buffer.dtype, copy=False)


def _widened(x: Any) -> Any:
    """Half types in float32, in which 1e-5 can be added to them."""
    return x.astype("float32") if x.dtype.itemsize == 2 else x


def _per_channel(y: Variable, weight: Any, bias: Any) -> Variable:
    columns = (-1, *[1] * (y.ndim - 2))
    weight, bias = (v if v is None else ops.reshape(v, columns) for v in (weight, bias))
    return _scaled(y, weight, bias)


def _scaled(y: Variable, weight: Any, bias: Any) -> Variable:
    if weight is not None:
        y = y * weight
    return y if bias is None else y + bias
