"""Convolution and its two derivatives, which are each other's derivatives.

Each of them is linear in both operands, so that the three are closed under differentiation.  The
backend has the three under the same names, for one to three axes.  Sizes, strides and dilations
have one number for each axis, such as (height, width), and padding a pair of them, such as
((top, bottom), (left, right)).
"""

from __future__ import annotations

from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.primitive import primitive

Size = tuple[int, ...]
Padding = tuple[tuple[int, int], ...]


def _grad_bias(xp: Namespace, g: Any) -> Any:
    return xp.sum(g, axis=(0, *range(2, g.ndim)))


def _bias_tangent(t: Any, y_shape: Size) -> Any:
    return t.reshape((-1, *[1] * (len(y_shape) - 2)))


@primitive(
    cast="narrowed",
    x=lambda xp, g, weight, x_shape, stride, padding, dilation, groups: xp.conv_input(
        g, xp.conj(weight), size=x_shape[2:], stride=stride, padding=padding, dilation=dilation,
        groups=groups,
    ),
    weight=lambda xp, g, x, weight_shape, stride, padding, dilation, groups: xp.conv_weight(
        xp.conj(x), g, size=weight_shape[2:], stride=stride, padding=padding, dilation=dilation,
        groups=groups,
    ),
    bias=_grad_bias,
    tangent={"x": "linear", "weight": "linear", "bias": _bias_tangent},
)  # fmt: skip
def conv(
    xp: Namespace,
    x: Array,
    weight: Array,
    bias: Array | None = None,
    *,
    stride: Size = (1, 1),
    padding: Padding = ((0, 0), (0, 0)),
    dilation: Size = (1, 1),
    groups: int = 1,
) -> Array:
    """`x` [N, C, ...] correlated with `weight` [O, C / groups, ...], plus `bias` [O]."""
    return xp.conv(
        x, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups
    )


@primitive(
    cast="narrowed",
    gradient=lambda xp, g, weight, stride, padding, dilation, groups: xp.conv(
        g, xp.conj(weight), stride=stride, padding=padding, dilation=dilation, groups=groups
    ),
    weight=lambda xp, g, gradient, weight_shape, stride, padding, dilation, groups: (
        xp.conv_weight(
            g, xp.conj(gradient), size=weight_shape[2:], stride=stride, padding=padding,
            dilation=dilation, groups=groups,
        )
    ),
    tangent={
        "gradient": lambda xp, t, weight, y_shape, stride, padding, dilation, groups: xp.conv_input(
            t, weight, size=y_shape[2:], stride=stride, padding=padding, dilation=dilation,
            groups=groups,
        ),
        "weight": lambda xp, t, gradient, y_shape, stride, padding, dilation, groups: xp.conv_input(
            gradient, t, size=y_shape[2:], stride=stride, padding=padding, dilation=dilation,
            groups=groups,
        ),
    },
)  # fmt: skip
def conv_input(
    xp: Namespace,
    gradient: Array,
    weight: Array,
    *,
    size: Size,
    stride: Size,
    padding: Padding,
    dilation: Size,
    groups: int,
) -> Array:
    """The gradient for `x` [N, C, *size] of `conv`, also known as transposed convolution."""
    return xp.conv_input(
        gradient, weight, size=size, stride=stride, padding=padding, dilation=dilation,
        groups=groups,
    )  # fmt: skip


@primitive(
    x=lambda xp, g, gradient, x_shape, stride, padding, dilation, groups: xp.conv_input(
        xp.conj(gradient), g, size=x_shape[2:], stride=stride, padding=padding, dilation=dilation,
        groups=groups,
    ),
    gradient=lambda xp, g, x, stride, padding, dilation, groups: xp.conv(
        xp.conj(x), g, stride=stride, padding=padding, dilation=dilation, groups=groups
    ),
    tangent={
        "x": lambda xp, t, gradient, y_shape, stride, padding, dilation, groups: xp.conv_weight(
            t, gradient, size=y_shape[2:], stride=stride, padding=padding, dilation=dilation,
            groups=groups,
        ),
        "gradient": lambda xp, t, x, y_shape, stride, padding, dilation, groups: xp.conv_weight(
            x, t, size=y_shape[2:], stride=stride, padding=padding, dilation=dilation,
            groups=groups,
        ),
    },
)  # fmt: skip
def conv_weight(
    xp: Namespace,
    x: Array,
    gradient: Array,
    *,
    size: Size,
    stride: Size,
    padding: Padding,
    dilation: Size,
    groups: int,
) -> Array:
    """The gradient for `weight` [O, C / groups, *size] of `conv`."""
    return xp.conv_weight(
        x, gradient, size=size, stride=stride, padding=padding, dilation=dilation, groups=groups
    )
