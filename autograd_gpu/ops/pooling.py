"""Pooling: maxima and sums over windows, and the linear maps that are their derivatives.

The backend has all of them under the same names.  Arguments are as in `convolution`.
"""

from __future__ import annotations

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.primitive import primitive

Size = tuple[int, ...]
Padding = tuple[tuple[int, int], ...]


@primitive(
    x=lambda xp, g, x, y, size, stride, padding, dilation: xp.max_pool_spread(
        g, x, y, size=size, stride=stride, padding=padding, dilation=dilation
    ),
    tangent=lambda xp, t, x, y, size, stride, padding, dilation: xp.max_pool_gather(
        t, x, y, size=size, stride=stride, padding=padding, dilation=dilation
    ),
)
def max_pool(
    xp: Namespace, x: Array, *, size: Size, stride: Size, padding: Padding, dilation: Size
) -> Array:
    """The maxima of the windows of `x` [N, C, ...]; the first of equal ones gets the gradient."""
    return xp.max_pool(x, size=size, stride=stride, padding=padding, dilation=dilation)


@primitive(
    gradient=lambda xp, g, x, pooled, size, stride, padding, dilation: xp.max_pool_gather(
        g, x, pooled, size=size, stride=stride, padding=padding, dilation=dilation
    ),
    tangent="linear",
)
def max_pool_spread(
    xp: Namespace,
    gradient: Array,
    x: Array,
    pooled: Array,
    *,
    size: Size,
    stride: Size,
    padding: Padding,
    dilation: Size,
) -> Array:
    """The elements of `gradient` [like pooled] where the windows of `x` have their maxima."""
    return xp.max_pool_spread(
        gradient, x, pooled, size=size, stride=stride, padding=padding, dilation=dilation
    )


@primitive(
    gradient=lambda xp, g, x, pooled, size, stride, padding, dilation: xp.max_pool_spread(
        g, x, pooled, size=size, stride=stride, padding=padding, dilation=dilation
    ),
    tangent="linear",
)
def max_pool_gather(
    xp: Namespace,
    gradient: Array,
    x: Array,
    pooled: Array,
    *,
    size: Size,
    stride: Size,
    padding: Padding,
    dilation: Size,
) -> Array:
    """The elements of `gradient` [like x] at the maxima of the windows of `x`."""
    return xp.max_pool_gather(
        gradient, x, pooled, size=size, stride=stride, padding=padding, dilation=dilation
    )


@primitive(
    x=lambda xp, g, x_shape, size, stride, padding: xp.sum_pool_spread(
        g, extent=x_shape[2:], size=size, stride=stride, padding=padding
    ),
    tangent="linear",
)
def sum_pool(xp: Namespace, x: Array, *, size: Size, stride: Size, padding: Padding) -> Array:
    """The sums over the windows of `x` [N, C, ...]; padding is 0."""
    return xp.sum_pool(x, size=size, stride=stride, padding=padding)


@primitive(
    gradient=lambda xp, g, size, stride, padding: xp.sum_pool(
        g, size=size, stride=stride, padding=padding
    ),
    tangent=lambda xp, t, size, stride, padding, y_shape: xp.sum_pool_spread(
        t, extent=y_shape[2:], size=size, stride=stride, padding=padding
    ),
)
def sum_pool_spread(
    xp: Namespace, gradient: Array, *, extent: Size, size: Size, stride: Size, padding: Padding
) -> Array:
    """`gradient`, each element added to its whole window of arrays [N, C, *extent]."""
    return xp.sum_pool_spread(gradient, extent=extent, size=size, stride=stride, padding=padding)
