"""Convolutions over signals [N, C, L], images [N, C, H, W] and volumes [N, C, D, H, W]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograd_gpu import ops
from autograd_gpu.nn.functional.arguments import AXES, as_sizes, shape_of
from autograd_gpu.precision import casting, narrowed
from autograd_gpu.variable import Variable

Size = tuple[int, ...]
Padding = tuple[tuple[int, int], ...]
_KERNEL = {1: "k", 2: "kh, kw", 3: "kd, kh, kw"}


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
    return _conv("conv2d", 2, x, weight, bias, stride, padding, dilation, groups)


def conv1d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] | str = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Variable:
    """Correlate signals [N, C, L] (or [C, L]) with kernels [O, C / groups, k]; see `conv2d`."""
    return _conv("conv1d", 1, x, weight, bias, stride, padding, dilation, groups)


def conv3d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] | str = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Variable:
    """Correlate volumes [N, C, D, H, W] (or [C, D, H, W]) with kernels [O, C / groups, kd, kh, kw];
    see `conv2d`."""
    return _conv("conv3d", 3, x, weight, bias, stride, padding, dilation, groups)


def conv_transpose1d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
) -> Variable:
    """The transpose of `conv1d`; see `conv_transpose2d`."""
    return _transposed(
        "conv_transpose1d", 1, x, weight, bias, stride, padding, output_padding, groups, dilation
    )


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

    >>> conv_transpose2d(ones((1, 2, 4, 4)), ones((2, 3, 2, 2)), stride=2).shape
    (1, 3, 8, 8)
    """
    return _transposed(
        "conv_transpose2d", 2, x, weight, bias, stride, padding, output_padding, groups, dilation
    )


def conv_transpose3d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
) -> Variable:
    """The transpose of `conv3d`; see `conv_transpose2d`."""
    return _transposed(
        "conv_transpose3d", 3, x, weight, bias, stride, padding, output_padding, groups, dilation
    )


def _conv(
    op: str,
    d: int,
    x: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Variable:
    shape, kernel = shape_of(x), shape_of(weight)
    if len(shape) == d + 1:
        y = _conv(
            op, d, ops.expand_dims(x, axis=0), weight, bias, stride, padding, dilation, groups
        )
        return ops.squeeze(y, axis=0)
    strides = as_sizes(op, "stride", stride, d)
    dilations = as_sizes(op, "dilation", dilation, d)
    _check(op, d, shape, kernel, shape_of(bias) if bias is not None else None, groups)
    pads = padding_of(op, padding, kernel[2:], strides, dilations)
    _check_fits(op, shape, kernel, pads, dilations)
    return ops.conv(
        x, weight, bias, stride=strides, padding=pads, dilation=dilations, groups=groups
    )


def _transposed(
    op: str,
    d: int,
    x: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> Variable:
    shape, kernel = shape_of(x), shape_of(weight)
    if len(shape) == d + 1:
        y = _transposed(
            op, d, ops.expand_dims(x, axis=0), weight, bias, stride, padding, output_padding,
            groups, dilation,
        )  # fmt: skip
        return ops.squeeze(y, axis=0)
    if (
        not len(shape) == len(kernel) == d + 2
        or groups < 1
        or shape[1] != kernel[0]
        or kernel[0] % groups
    ):
        raise ValueError(
            f"{op}: x {list(shape)} must be [N, C, {AXES[d]}] and weight {list(kernel)} "
            f"[C, O / groups, {_KERNEL[d]}], with C a multiple of groups={groups}"
        )
    outputs = kernel[1] * groups
    if bias is not None and shape_of(bias) != (outputs,):
        raise ValueError(f"{op}: bias {list(shape_of(bias))} must be [{outputs}]")
    strides, dilations = as_sizes(op, "stride", stride, d), as_sizes(op, "dilation", dilation, d)
    pads = as_sizes(op, "padding", padding, d, 0)
    extra = as_sizes(op, "output_padding", output_padding, d, 0)
    size = tuple(
        (n - 1) * s - 2 * p + step * (k - 1) + e + 1
        for n, s, p, step, k, e in zip(
            shape[2:], strides, pads, dilations, kernel[2:], extra, strict=True
        )
    )
    if any(e >= max(s, step) for e, s, step in zip(extra, strides, dilations, strict=True)):
        raise ValueError(f"{op}: output_padding must be smaller than stride or dilation")
    if min(size) < 1:
        raise ValueError(f"{op}: padding {pads} leaves nothing of x {list(shape)}")
    # What output_padding adds is what padding cut off, and beyond that there are zeros.
    ends = [max(p - e, 0) for p, e in zip(pads, extra, strict=True)]
    beyond = [max(e - p, 0) for p, e in zip(pads, extra, strict=True)]
    y = ops.conv_input(
        x,
        weight,
        size=tuple(n - b for n, b in zip(size, beyond, strict=True)),
        stride=strides,
        padding=tuple(zip(pads, ends, strict=True)),
        dilation=dilations,
        groups=groups,
    )
    if any(beyond):
        y = ops.pad(y, ((0, 0), (0, 0), *[(0, b) for b in beyond]))
    if bias is None:
        return y
    if casting.get() is not None:
        (bias,) = narrowed((bias,))
    return y + ops.reshape(bias, (-1, *[1] * d))


def _check(
    op: str,
    d: int,
    shape: tuple[int, ...],
    kernel: tuple[int, ...],
    bias: tuple[int, ...] | None,
    groups: int,
) -> None:
    if not len(shape) == len(kernel) == d + 2:
        raise ValueError(
            f"{op}: x must be [N, C, {AXES[d]}] and weight [O, C / groups, {_KERNEL[d]}], "
            f"not {list(shape)} and {list(kernel)}"
        )
    if groups < 1 or shape[1] != kernel[1] * groups or kernel[0] % groups:
        raise ValueError(
            f"{op}: x {list(shape)} and weight {list(kernel)} do not fit with groups={groups}: "
            f"x must have {kernel[1]} * groups channels, weight a multiple of groups outputs"
        )
    if bias is not None and bias != kernel[:1]:
        raise ValueError(f"{op}: bias {list(bias)} must be [{kernel[0]}], one per output channel")


def padding_of(op: str, padding: Any, kernel: Size, stride: Size, dilation: Size) -> Padding:
    """The widths at both ends of each axis, for a number, one for each axis, or a name."""
    if padding == "valid":
        return ((0, 0),) * len(kernel)
    if padding == "same":
        if set(stride) != {1}:
            raise ValueError(f"{op}: padding='same' needs stride 1, not {stride}")
        # the odd one goes to the end, as in PyTorch
        total = [step * (k - 1) for step, k in zip(dilation, kernel, strict=True)]
        return tuple((n // 2, n - n // 2) for n in total)
    if isinstance(padding, str):
        raise ValueError(
            f"{op}: padding is a number, one for each axis, 'same' or 'valid', not {padding!r}"
        )
    return tuple((p, p) for p in as_sizes(op, "padding", padding, len(kernel), 0))


def _check_fits(
    op: str, shape: tuple[int, ...], kernel: tuple[int, ...], padding: Padding, dilation: Size
) -> None:
    padded = [n + sum(p) for n, p in zip(shape[2:], padding, strict=True)]
    spans = [d * (k - 1) + 1 for d, k in zip(dilation, kernel[2:], strict=True)]
    if any(span > n for span, n in zip(spans, padded, strict=True)):
        raise ValueError(
            f"{op}: a kernel that spans {spans} does not fit into padded images of {padded}"
        )
