"""Convolution and pooling over images for CuPy, by the kernels of `cupy_image_kernels`.

Arguments are those of `convolution` and `pooling`.  What these kernels do not know (volumes,
integers in sums) goes to the general forms there.
"""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

import cupy as cp
import numpy as np

from autograd_gpu.backends import convolution, cupy_cudnn_ops, pooling
from autograd_gpu.backends.cupy_image_kernels import Array, Padding, Pair, extent_of, run, sizes_of

# --- convolution ---------------------------------------------------------------------------------


def _is_plain(size: Pair, stride: Pair, padding: Padding) -> bool:
    """Whether the columns are the image itself."""
    return size == (1, 1) == stride and not any(map(any, padding))


def conv2d(
    x: Array,
    weight: Array,
    bias: Array | None = None,
    *,
    stride: Pair,
    padding: Padding,
    dilation: Pair,
    groups: int,
) -> Array:
    """As `convolution.conv2d`: by cuDNN, or one launch unfolds, one product follows."""
    (n, c), image, (o, _, *kernel_size) = x.shape[:2], x.shape[2:], weight.shape
    size: Pair = (kernel_size[0], kernel_size[1])
    out = extent_of(image, size, stride, dilation, padding)
    y = cupy_cudnn_ops.conv2d(x, weight, stride=stride, padding=padding, dilation=dilation, out=out)
    if y is not NotImplemented:
        return _with_bias(y, bias)
    x = cp.ascontiguousarray(x)
    columns = x
    if not _is_plain(size, stride, padding):
        columns = cp.empty((n, c, *size, *out), x.dtype)
        run("unfold", columns, x, sizes=sizes_of(image, out, size, stride, dilation, padding))
    columns = columns.reshape(n, groups, c // groups * prod(size), prod(out))
    y = _matmul(weight.reshape(groups, o // groups, -1), columns).reshape(n, o, *out)
    return _with_bias(y, bias)


def _with_bias(y: Array, bias: Array | None) -> Array:
    if bias is None:
        return y
    bias = bias.reshape(-1, 1, 1)
    return cp.add(y, bias, y) if bias.dtype == y.dtype else y + bias


def conv2d_input(
    g: Array,
    weight: Array,
    *,
    size: Pair,
    stride: Pair,
    padding: Padding,
    dilation: Pair,
    groups: int,
) -> Array:
    """As `convolution.conv2d_input`: by cuDNN, or one product, and one launch folds."""
    x = cupy_cudnn_ops.conv2d_input(
        g, weight, size=size, stride=stride, padding=padding, dilation=dilation, groups=groups
    )
    if x is not NotImplemented:
        return x
    n, o, *extent = g.shape
    out: Pair = (extent[0], extent[1])
    window: Pair = weight.shape[2:]
    c = weight.shape[1] * groups
    kernels = weight.reshape(groups, o // groups, -1).swapaxes(1, 2)
    results = g.reshape(n, groups, o // groups, prod(out))
    if _is_plain(window, stride, padding) and out == tuple(size):
        return _matmul(kernels, results).reshape(n, c, *size)
    dtype = np.result_type(g.dtype, weight.dtype)
    wide = np.float32 if dtype.itemsize == 2 else dtype
    columns = cp.empty((n, groups, kernels.shape[1], prod(out)), wide)
    _matmul(kernels, results, columns)
    x = cp.empty((n, c, *size), dtype)
    return run("fold", x, columns, sizes=sizes_of(size, out, window, stride, dilation, padding))


def conv2d_weight(
    x: Array,
    g: Array,
    *,
    size: Pair,
    stride: Pair,
    padding: Padding,
    dilation: Pair,
    groups: int,
) -> Array:
    """As `convolution.conv2d_weight`: by cuDNN, or one product over images and positions."""
    weight = cupy_cudnn_ops.conv2d_weight(
        x, g, size=size, stride=stride, padding=padding, dilation=dilation, groups=groups
    )
    if weight is not NotImplemented:
        return weight
    (n, c), image, o = x.shape[:2], x.shape[2:], g.shape[1]
    out: Pair = g.shape[2:]
    rows = c // groups * prod(size)
    columns = cp.empty((groups, n * prod(out), rows), x.dtype)
    sizes = sizes_of(image, out, size, stride, dilation, padding)
    run("unfold_rows", columns, cp.ascontiguousarray(x), c // groups, n, sizes=sizes)
    results = g.reshape(n, groups, o // groups, prod(out)).transpose(1, 2, 0, 3)
    results = results.reshape(groups, o // groups, n * prod(out))
    return _matmul(results, columns).reshape(o, c // groups, *size)


def _matmul(a: Array, b: Array, out: Array | None = None) -> Array:
    from autograd_gpu.backends.cupy_gemm import matmul

    return matmul(a, b, out)


# --- pooling -------------------------------------------------------------------------------------


def _lowest(x: Array) -> float:
    return float(pooling._lowest(cp, x.dtype))


def max_pool(x: Array, *, size: Pair, stride: Pair, padding: Padding, dilation: Pair) -> Array:
    """As `pooling.max_pool`, one launch."""
    out = extent_of(x.shape[2:], size, stride, dilation, padding)
    sizes = sizes_of(x.shape[2:], out, size, stride, dilation, padding)
    y = cp.empty((*x.shape[:2], *out), x.dtype)
    return run("max_pool", y, cp.ascontiguousarray(x), _lowest(x), sizes=sizes)


def max_pool_spread(
    g: Array, x: Array, y: Array, *, size: Pair, stride: Pair, padding: Padding, dilation: Pair
) -> Array:
    """As `pooling.max_pool_spread`, one launch: each pixel looks at the windows that it is in."""
    sizes = sizes_of(x.shape[2:], y.shape[2:], size, stride, dilation, padding)
    operands = (cp.ascontiguousarray(v) for v in (g, x, y))
    return run("max_pool_spread", cp.empty(x.shape, g.dtype), *operands, _lowest(x), sizes=sizes)


def max_pool_gather(
    g: Array, x: Array, y: Array, *, size: Pair, stride: Pair, padding: Padding, dilation: Pair
) -> Array:
    """As `pooling.max_pool_gather`, one launch."""
    sizes = sizes_of(x.shape[2:], y.shape[2:], size, stride, dilation, padding)
    operands = (cp.ascontiguousarray(v) for v in (g, x, y))
    return run("max_pool_gather", cp.empty(y.shape, g.dtype), *operands, _lowest(x), sizes=sizes)


def sum_pool(x: Array, *, size: Pair, stride: Pair, padding: Padding) -> Array:
    """As `pooling.sum_pool`, one launch."""
    out = extent_of(x.shape[2:], size, stride, (1, 1), padding)
    sizes = sizes_of(x.shape[2:], out, size, stride, (1, 1), padding)
    return run(
        "sum_pool", cp.empty((*x.shape[:2], *out), x.dtype), cp.ascontiguousarray(x), sizes=sizes
    )


def sum_pool_spread(g: Array, *, extent: Pair, size: Pair, stride: Pair, padding: Padding) -> Array:
    """As `pooling.sum_pool_spread`, one launch."""
    sizes = sizes_of(extent, g.shape[2:], size, stride, (1, 1), padding)
    return run(
        "sum_pool_spread",
        cp.empty((*g.shape[:2], *extent), g.dtype),
        cp.ascontiguousarray(g),
        sizes=sizes,
    )


def _for_images(own: Any, general: Any, real: bool) -> Any:
    """`own` for two axes and dtypes that it sums or orders well, else `general`."""

    def function(*arrays: Array, **statics: Any) -> Array:
        kinds = "fV" if real else "fcV"
        shapes = len(statics["stride"]) == 2
        if shapes and all(x is None or x.dtype.kind in kinds for x in arrays):
            return own(*arrays, **statics)
        return general(*arrays, **statics)

    return function


def bound(xp: Any) -> dict[str, Any]:
    """The functions for the namespace `xp`."""
    made = {}
    for own in (conv2d, conv2d_input, conv2d_weight):
        general = partial(getattr(convolution, own.__name__), xp)
        made[own.__name__] = _for_images(own, general, real=False)
    for own in (max_pool, max_pool_spread, max_pool_gather, sum_pool, sum_pool_spread):
        general = partial(getattr(pooling, own.__name__), cp)
        made[own.__name__] = _for_images(own, general, real=own.__name__.startswith("max"))
    return made
