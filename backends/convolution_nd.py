"""Convolutions over one, two and three axes, by those of a backend over two.

A signal is an image of height 1.  A volume becomes a batch of images: for each output along the
first axis, the slices that its kernel meets are stacked as channels.
"""

from __future__ import annotations

from functools import partial
from typing import Any

Array = Any
Namespace = Any
Size = tuple[int, ...]
Padding = tuple[tuple[int, int], ...]


def conv(
    xp: Namespace,
    x: Array,
    weight: Array,
    bias: Array | None = None,
    *,
    stride: Size,
    padding: Padding,
    dilation: Size,
    groups: int,
) -> Array:
    """`x` [N, C, ...] correlated with `weight` [O, C / groups, ...], plus `bias` [O]."""
    if len(stride) == 1:
        x, weight = x[:, :, None], weight[:, :, None]
        stride, padding, dilation = (1, *stride), ((0, 0), *padding), (1, *dilation)
        y = xp.conv2d(
            x, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups
        )
        return y[:, :, 0]
    if len(stride) == 2:
        return xp.conv2d(
            x, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups
        )
    images = _images(xp, x, weight.shape[2], stride[0], padding[0], dilation[0])
    kernels = xp.reshape(weight, (weight.shape[0], -1, *weight.shape[3:]))
    y = xp.conv2d(
        images, kernels, bias, stride=stride[1:], padding=padding[1:], dilation=dilation[1:],
        groups=groups,
    )  # fmt: skip
    y = xp.reshape(y, (x.shape[0], -1, *y.shape[1:]))
    return xp.permute_dims(y, (0, 2, 1, 3, 4))


def conv_input(
    xp: Namespace,
    g: Array,
    weight: Array,
    *,
    size: Size,
    stride: Size,
    padding: Padding,
    dilation: Size,
    groups: int,
) -> Array:
    """The gradient for `x` [N, C, *size] of `conv`, from that of its output, `g`."""
    if len(size) == 1:
        g, weight = g[:, :, None], weight[:, :, None]
        stride, padding, dilation = (1, *stride), ((0, 0), *padding), (1, *dilation)
        return xp.conv2d_input(
            g, weight, size=(1, *size), stride=stride, padding=padding, dilation=dilation,
            groups=groups,
        )[:, :, 0]  # fmt: skip
    if len(size) == 2:
        return xp.conv2d_input(
            g, weight, size=size, stride=stride, padding=padding, dilation=dilation, groups=groups
        )
    n, outputs, k = g.shape[0], g.shape[2], weight.shape[2]
    c = weight.shape[1] * groups
    kernels = xp.reshape(weight, (weight.shape[0], -1, *weight.shape[3:]))
    images = xp.conv2d_input(
        _merged(xp, g), kernels, size=size[1:], stride=stride[1:], padding=padding[1:],
        dilation=dilation[1:], groups=groups,
    )  # fmt: skip
    images = xp.reshape(images, (n, outputs, c, k, *size[1:]))
    before, after = padding[0]
    # each slice is a sum that has been rounded already; their sum is rounded once
    is_half = images.dtype.itemsize == 2 and images.dtype.kind in "fV"
    wide = "float32" if is_half else images.dtype
    volume = xp.zeros((n, c, size[0] + before + after, *size[1:]), dtype=wide)
    by_depth = xp.permute_dims(volume, (0, 2, 1, 3, 4))
    for i in range(k):
        start = i * dilation[0]
        by_depth[:, start : start + stride[0] * (outputs - 1) + 1 : stride[0]] += images[:, :, :, i]
    return volume[:, :, before : before + size[0]].astype(images.dtype, copy=False)


def conv_weight(
    xp: Namespace,
    x: Array,
    g: Array,
    *,
    size: Size,
    stride: Size,
    padding: Padding,
    dilation: Size,
    groups: int,
) -> Array:
    """The gradient for `weight` [O, C / groups, *size] of `conv`, from that of its output."""
    if len(size) == 1:
        stride, padding, dilation = (1, *stride), ((0, 0), *padding), (1, *dilation)
        return xp.conv2d_weight(
            x[:, :, None], g[:, :, None], size=(1, *size), stride=stride, padding=padding,
            dilation=dilation, groups=groups,
        )[:, :, 0]  # fmt: skip
    if len(size) == 2:
        return xp.conv2d_weight(
            x, g, size=size, stride=stride, padding=padding, dilation=dilation, groups=groups
        )
    weight = xp.conv2d_weight(
        _images(xp, x, size[0], stride[0], padding[0], dilation[0]), _merged(xp, g),
        size=size[1:], stride=stride[1:], padding=padding[1:], dilation=dilation[1:],
        groups=groups,
    )  # fmt: skip
    return xp.reshape(weight, (g.shape[1], x.shape[1] // groups, *size))


def _images(
    xp: Namespace, x: Array, k: int, stride: int, padding: tuple[int, int], dilation: int
) -> Array:
    """Volumes [N, C, D, H, W] as images [N * outputs, C * k, H, W]."""
    if any(padding):
        shape = (*x.shape[:2], x.shape[2] + sum(padding), *x.shape[3:])
        padded = xp.zeros(shape, dtype=x.dtype)
        padded[:, :, padding[0] : padding[0] + x.shape[2]] = x
        x = padded
    rows = xp.permute_dims(x, (0, 1, 3, 4, 2))
    windows = xp.windows(rows, (k,), (stride,), (dilation,))  # [N, C, H, W, outputs, k]
    images = xp.permute_dims(windows, (0, 4, 1, 5, 2, 3))
    n, outputs, c, _, h, w = images.shape
    return xp.reshape(images, (n * outputs, c * k, h, w))


def _merged(xp: Namespace, g: Array) -> Array:
    """Volumes [N, C, D, H, W] as images [N * D, C, H, W]."""
    n, c, d, h, w = g.shape
    return xp.reshape(xp.permute_dims(g, (0, 2, 1, 3, 4)), (n * d, c, h, w))


def bound(xp: Namespace) -> dict[str, Any]:
    """The functions above for one namespace, by name; it has `conv2d` and its derivatives."""
    functions = (conv, conv_input, conv_weight)
    return {function.__name__: partial(function, xp) for function in functions}
