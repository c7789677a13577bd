"""Convolution in array operations that NumPy and CuPy share: unfold, multiply, fold.

NumPy has a faster form of its own, in numpy_convolution.
"""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

Array = Any
Namespace = Any
Pair = tuple[int, int]
Padding = tuple[Pair, Pair]


def conv2d(
    xp: Namespace,
    x: Array,
    weight: Array,
    bias: Array | None = None,
    *,
    stride: Pair,
    padding: Padding,
    dilation: Pair,
    groups: int,
) -> Array:
    """`x` [N, C, H, W] correlated with `weight` [O, C / groups, kh, kw], plus `bias` [O]."""
    columns, out = _columns(xp, x, weight.shape[2:], stride, padding, dilation, groups)
    o = weight.shape[0]
    kernels = xp.reshape(weight, (groups, o // groups, -1))
    y = xp.reshape(xp.matmul(kernels, columns), (x.shape[0], o, *out))
    return y if bias is None else y + xp.reshape(bias, (o, 1, 1))


def conv2d_input(
    xp: Namespace,
    g: Array,
    weight: Array,
    *,
    size: Pair,
    stride: Pair,
    padding: Padding,
    dilation: Pair,
    groups: int,
) -> Array:
    """The gradient for `x` [N, C, *size] of `conv2d`, from that of its output, `g`."""
    n, o, *out = g.shape
    (out_h, out_w), (kh, kw) = out, weight.shape[2:]
    c = weight.shape[1] * groups
    kernels = xp.reshape(weight, (groups, o // groups, -1))
    results = xp.reshape(g, (n, groups, o // groups, out_h * out_w))
    columns = xp.matmul(xp.matrix_transpose(kernels), results)
    columns = xp.reshape(columns, (n, c, kh, kw, out_h, out_w))
    (top, bottom), (left, right) = padding
    h, w = size
    padded = xp.zeros((n, c, h + top + bottom, w + left + right), dtype=columns.dtype)
    (sh, sw), (dh, dw) = stride, dilation
    for i in range(kh):
        for j in range(kw):
            rows = slice(i * dh, i * dh + sh * (out_h - 1) + 1, sh)
            padded[:, :, rows, j * dw : j * dw + sw * (out_w - 1) + 1 : sw] += columns[:, :, i, j]
    return padded[:, :, top : top + h, left : left + w]


def conv2d_weight(
    xp: Namespace,
    x: Array,
    g: Array,
    *,
    size: Pair,
    stride: Pair,
    padding: Padding,
    dilation: Pair,
    groups: int,
) -> Array:
    """The gradient for `weight` [O, C / groups, *size] of `conv2d`, from that of its output."""
    columns, out = _columns(xp, x, size, stride, padding, dilation, groups)
    n, o = g.shape[:2]
    results = xp.reshape(g, (n, groups, o // groups, prod(out)))
    # one product over images and positions instead of a product each and their sum
    results = xp.reshape(xp.permute_dims(results, (1, 2, 0, 3)), (groups, o // groups, -1))
    columns = xp.reshape(xp.permute_dims(columns, (1, 0, 3, 2)), (groups, n * prod(out), -1))
    return xp.reshape(xp.matmul(results, columns), (o, x.shape[1] // groups, *size))


def _columns(
    xp: Namespace,
    x: Array,
    size: Pair,
    stride: Pair,
    padding: Padding,
    dilation: Pair,
    groups: int,
) -> tuple[Array, Pair]:
    """Unfolded images [N, groups, C / groups * kh * kw, positions], and the output's extent."""
    n, c, h, w = x.shape
    (top, bottom), (left, right) = padding
    if any(map(any, padding)):
        padded = xp.zeros((n, c, h + top + bottom, w + left + right), dtype=x.dtype)
        padded[:, :, top : top + h, left : left + w] = x
        x = padded
    windows = xp.windows(x, size, stride, dilation)  # [N, C, out_h, out_w, kh, kw]
    out: Pair = windows.shape[2:4]
    columns = xp.permute_dims(windows, (0, 1, 4, 5, 2, 3))
    rows = c // groups * prod(size)
    return xp.reshape(columns, (n, groups, rows, prod(out))), out


def bound(xp: Namespace) -> dict[str, Any]:
    """The functions above for one namespace, by name."""
    functions = (conv2d, conv2d_input, conv2d_weight)
    return {function.__name__: partial(function, xp) for function in functions}
