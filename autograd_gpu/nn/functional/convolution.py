"""Convolutions over images [N, C, H, W] and signals [N, C, L]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograd_gpu import ops
from autograd_gpu.nn.functional.arguments import Padding, Pair, as_pair, shape_of
from autograd_gpu.variable import Variable


def conv2d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] | str = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Variable:
    """Correlate images with kernels.

    Parameters
    ----------
    x
        [N, C, H, W], or one image [C, H, W].
    weight
        [O, C / groups, kh, kw].
    bias
        [O], or None.
    stride, padding, dilation
        One number, or two for height and width.  `padding` adds zeros on both sides, or is
        'valid' (none) or 'same' (the output is as large as the input; for stride 1).

    Returns [N, O, out_h, out_w] with out = (n + 2 padding - dilation (k - 1) - 1) // stride + 1.
    Raises ValueError for shapes that do not fit.

    >>> conv2d(ones((1, 1, 4, 4)), ones((2, 1, 3, 3)), padding=1).shape
    (1, 2, 4, 4)
    """
    shape, kernel = shape_of(x), shape_of(weight)
    if len(shape) == 3:
        y = conv2d(ops.expand_dims(x, axis=0), weight, bias, stride, padding, dilation, groups)
        return ops.squeeze(y, axis=0)
    strides = as_pair("conv2d", "stride", stride)
    dilations = as_pair("conv2d", "dilation", dilation)
    _check("conv2d", shape, kernel, shape_of(bias) if bias is not None else None, groups)
    pads = _padding("conv2d", padding, kernel[2:], strides, dilations)
    _check_fits("conv2d", shape, kernel, pads, dilations)
    return ops.conv2d(
        x, weight, bias, stride=strides, padding=pads, dilation=dilations, groups=groups
    )


def conv1d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: int = 1,
    padding: int | str = 0,
    dilation: int = 1,
    groups: int = 1,
) -> Variable:
    """Correlate signals [N, C, L] (or [C, L]) with kernels [O, C / groups, k]; see `conv2d`."""
    pads = padding if isinstance(padding, str) else (0, _single("padding", padding, 0))
    images = ops.expand_dims(x, axis=-2)
    kernels = ops.expand_dims(weight, axis=-2)
    strides, dilations = (1, _single("stride", stride)), (1, _single("dilation", dilation))
    return ops.squeeze(conv2d(images, kernels, bias, strides, pads, dilations, groups), axis=-2)


def conv_transpose2d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
) -> Variable:
    """The transpose of `conv2d`: of `x` [N, C, H, W] with `weight` [C, O / groups, kh, kw].

    `output_padding` adds to one side of the output, whose size a stride leaves open.
    """
    op = "conv_transpose2d"
    shape, kernel = shape_of(x), shape_of(weight)
    if len(shape) != 4 or len(kernel) != 4 or shape[1] != kernel[0] or kernel[0] % groups:
        raise ValueError(
            f"{op}: x {list(shape)} must be [N, C, H, W] and weight {list(kernel)} "
            f"[C, O / groups, kh, kw], with C a multiple of groups={groups}"
        )
    strides, dilations = as_pair(op, "stride", stride), as_pair(op, "dilation", dilation)
    pads, extra = (
        as_pair(op, "padding", padding, 0),
        as_pair(op, "output_padding", output_padding, 0),
    )
    height, width = (
        (n - 1) * s - 2 * p + d * (k - 1) + e + 1
        for n, s, p, d, k, e in zip(
            shape[2:], strides, pads, dilations, kernel[2:], extra, strict=True
        )
    )
    if any(e >= max(s, d) for e, s, d in zip(extra, strides, dilations, strict=True)):
        raise ValueError(f"{op}: output_padding must be smaller than stride or dilation")
    y = ops.conv2d_input(
        x,
        weight,
        size=(height, width),
        stride=strides,
        padding=((pads[0], pads[0]), (pads[1], pads[1])),
        dilation=dilations,
        groups=groups,
    )
    return y if bias is None else y + ops.reshape(bias, (-1, 1, 1))


def _single(name: str, value: Any, least: int = 1) -> int:
    value = value[0] if isinstance(value, (tuple, list)) and len(value) == 1 else value
    return as_pair("conv1d", name, value, least)[0]


def _check(
    op: str,
    shape: tuple[int, ...],
    kernel: tuple[int, ...],
    bias: tuple[int, ...] | None,
    groups: int,
) -> None:
    if len(shape) != 4 or len(kernel) != 4:
        raise ValueError(
            f"{op}: x must be [N, C, H, W] and weight [O, C / groups, kh, kw], "
            f"not {list(shape)} and {list(kernel)}"
        )
    if groups < 1 or shape[1] != kernel[1] * groups or kernel[0] % groups:
        raise ValueError(
            f"{op}: x {list(shape)} and weight {list(kernel)} do not fit with groups={groups}: "
            f"x must have {kernel[1]} * groups channels, weight a multiple of groups outputs"
        )
    if bias is not None and bias != kernel[:1]:
        raise ValueError(f"{op}: bias {list(bias)} must be [{kernel[0]}], one per output channel")


def _padding(
    op: str, padding: Any, kernel: tuple[int, ...], stride: Pair, dilation: Pair
) -> Padding:
    if padding == "valid":
        return (0, 0), (0, 0)
    if padding == "same":
        if stride != (1, 1):
            raise ValueError(f"{op}: padding='same' needs stride 1, not {stride}")
        # the odd one goes to the end, as in PyTorch
        total = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
        top, left = (n // 2 for n in total)
        return (top, total[0] - top), (left, total[1] - left)
    if isinstance(padding, str):
        raise ValueError(f"{op}: padding is a number, a pair, 'same' or 'valid', not {padding!r}")
    height, width = as_pair(op, "padding", padding, 0)
    return (height, height), (width, width)


def _check_fits(
    op: str, shape: tuple[int, ...], kernel: tuple[int, ...], padding: Padding, dilation: Pair
) -> None:
    padded = [n + sum(p) for n, p in zip(shape[2:], padding, strict=True)]
    spans = [d * (k - 1) + 1 for d, k in zip(dilation, kernel[2:], strict=True)]
    if any(span > n for span, n in zip(spans, padded, strict=True)):
        raise ValueError(
            f"{op}: a kernel that spans {spans} does not fit into padded images of {padded}"
        )
