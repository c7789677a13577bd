"""Convolution and pooling over images for CuPy: windows are read in one launch, without padding.

Arguments are those of `convolution` and `pooling`.  What these kernels do not know (volumes,
integers in sums) goes to the general forms there.
"""

from __future__ import annotations

from functools import cache, partial
from math import prod
from typing import Any

import cupy as cp
import numpy as np

from autograd_gpu.backends import convolution, cupy_cudnn_ops, pooling

Array = Any
Pair = tuple[int, int]
Padding = tuple[Pair, Pair]

# Every kernel knows the images [N C, h, w], the windows' output [N C, oh, ow], and how they meet:
# element (i, j) of window (y, x) is at (y sh + i dh - top, x sw + j dw - left).
_SIZES = ["h", "w", "oh", "ow", "kh", "kw", "sh", "sw", "dh", "dw", "top", "left"]
_PARAMETERS = ", ".join(f"int32 {name}" for name in _SIZES)
_PREAMBLE = """
    template <typename T, bool half> struct Wide { typedef T type; };
    template <typename T> struct Wide<T, true> { typedef float type; };
"""
_WIDEN = "typedef typename Wide<T, sizeof(T) == 2>::type C; "

# For the pixel (row, column) of an image: the windows (y, x) that it is element (i, j) of.
_EACH_WINDOW = """
    for (int i = 0; i < kh; i++) {
        const int down = row + top - i * dh;
        if (down < 0 || down % sh || down / sh >= oh) continue;
        const int y = down / sh;
        for (int j = 0; j < kw; j++) {
            const int along = column + left - j * dw;
            if (along < 0 || along % sw || along / sw >= ow) continue;
            const int x = along / sw;
"""
# For the window (y, x): its elements at (row, column), if they are within the image.
_EACH_ELEMENT = """
    for (int i = 0; i < kh; i++) for (int j = 0; j < kw; j++) {
        const int row = y * sh + i * dh - top, column = x * sw + j * dw - left;
        const bool within = row >= 0 && row < h && column >= 0 && column < w;
"""
_OUTPUT = "const I x = i_ % ow, y = i_ / ow % oh, image = i_ / ow / oh;"
_PIXEL = "const I column = i_ % w, row = i_ / w % h, image = i_ / w / h;"

# Where a window has its first maximum, of which the value is known; what equals nothing, a NaN, is
# at the last element.
_FIND = """
    template <typename T, typename A> __device__ inline int first_maximum(
        const A& images, ptrdiff_t start, T top_value, T lowest, int y, int x, int h, int w,
        int kh, int kw, int sh, int sw, int dh, int dw, int top, int left
    ) {
        for (int i = 0; i < kh; i++) for (int j = 0; j < kw; j++) {
            const int row = y * sh + i * dh - top, column = x * sw + j * dw - left;
            const bool within = row >= 0 && row < h && column >= 0 && column < w;
            const T value = within ? T(images[start + (ptrdiff_t)row * w + column]) : lowest;
            if (value == top_value) return i * kw + j;
        }
        return kh * kw - 1;
    }
"""
_CALL = "h, w, kh, kw, sh, sw, dh, dw, top, left)"

_KERNELS = {
    # columns [N, G, C/G kh kw, oh ow], or [G, N oh ow, C/G kh kw] for the gradient of the weight
    "unfold": (
        "raw T images",
        "T column_",
        """
        const I x = i_ % ow, y = i_ / ow % oh; I rest = i_ / ow / oh;
        const int j = rest % kw; rest /= kw;
        const int i = rest % kh; const I image = rest / kh;
        const int row = y * sh + i * dh - top, column = x * sw + j * dw - left;
        const bool within = row >= 0 && row < h && column >= 0 && column < w;
        column_ = within ? T(images[((ptrdiff_t)image * h + row) * w + column]) : T(0);
        """,
    ),
    "unfold_rows": (
        "raw T images, int32 channels, int32 count",
        "T column_",
        """
        const int j = i_ % kw; I rest = i_ / kw;
        const int i = rest % kh; rest /= kh;
        const int channel = rest % channels; rest /= channels;
        const int x = rest % ow; rest /= ow;
        const int y = rest % oh; rest /= oh;
        const I n = rest % count, group = rest / count, groups = _ind.size() / ((ptrdiff_t)kw * kh
            * channels * ow * oh * count);
        const ptrdiff_t image = (ptrdiff_t)n * groups * channels + group * channels + channel;
        const int row = y * sh + i * dh - top, column = x * sw + j * dw - left;
        const bool within = row >= 0 && row < h && column >= 0 && column < w;
        column_ = within ? T(images[(image * h + row) * w + column]) : T(0);
        """,
    ),
    # columns of half types come in float32, so that they are added up as they are
    "fold": (
        "raw S columns",
        "T pixel",
        f"""
        typedef typename Wide<S, sizeof(S) == 2>::type C;
        {_PIXEL}
        C sum = C(0);
        {_EACH_WINDOW}
            sum = C(sum + C(columns[((((ptrdiff_t)image * kh + i) * kw + j) * oh + y) * ow + x]));
        }}}}
        pixel = T(sum);
        """,
    ),
    "max_pool": (
        "raw T images, float64 lowest",
        "T out",
        f"""
        {_OUTPUT}
        T best = T(lowest);
        {_EACH_ELEMENT}
            if (!within) continue;
            const T value = images[((ptrdiff_t)image * h + row) * w + column];
            if (value > best || value != value) best = value;
            if (best != best) break;
        }}
        out = best;
        """,
    ),
    "max_pool_spread": (
        "raw G g, raw T images, raw T maxima, float64 lowest",
        "G pixel",
        f"""
        typedef typename Wide<G, sizeof(G) == 2>::type C;
        {_PIXEL}
        const ptrdiff_t start = (ptrdiff_t)image * h * w;
        C sum = C(0);
        {_EACH_WINDOW}
            const ptrdiff_t at = ((ptrdiff_t)image * oh + y) * ow + x;
            const T most = maxima[at];
            const int hit = first_maximum<T>(images, start, most, T(lowest), y, x, {_CALL};
            if (hit == i * kw + j) sum += C(g[at]);
        }}}}
        pixel = G(sum);
        """,
    ),
    "max_pool_gather": (
        "raw G g, raw T images, T most, float64 lowest",
        "G out",
        f"""
        {_OUTPUT}
        const ptrdiff_t start = (ptrdiff_t)image * h * w;
        const int hit = first_maximum<T>(images, start, most, T(lowest), y, x, {_CALL};
        const int row = y * sh + hit / kw * dh - top, column = x * sw + hit % kw * dw - left;
        const bool within = row >= 0 && row < h && column >= 0 && column < w;
        out = within ? G(g[start + (ptrdiff_t)row * w + column]) : G(0);
        """,
    ),
    "sum_pool": (
        "raw T images",
        "T out",
        f"""
        {_WIDEN}{_OUTPUT}
        C sum = C(0);
        {_EACH_ELEMENT}
            if (within) sum += C(images[((ptrdiff_t)image * h + row) * w + column]);
        }}
        out = T(sum);
        """,
    ),
    "sum_pool_spread": (
        "raw T g",
        "T pixel",
        f"""
        {_WIDEN}{_PIXEL}
        C sum = C(0);
        {_EACH_WINDOW}
            sum += C(g[((ptrdiff_t)image * oh + y) * ow + x]);
        }}}}
        pixel = T(sum);
        """,
    ),
}


@cache
def kernel(name: str, index: str = "int") -> Any:
    """The ElementwiseKernel; `index` counts its elements: int, or ptrdiff_t for more than that."""
    inputs, output, operation = _KERNELS[name]
    return cp.ElementwiseKernel(
        f"{inputs}, {_PARAMETERS}",
        output,
        f"const I i_ = i;\n{{{operation}}}",
        f"autograd_gpu_{name}",
        preamble=f"{_PREAMBLE}{_FIND}typedef {index} I;",
    )


def _run(name: str, out: Array, *inputs: Any, sizes: tuple[int, ...]) -> Array:
    if out.size:
        kernel(name, "int" if out.size < 2**31 else "ptrdiff_t")(*inputs, *sizes, out)
    return out


def _sizes(
    image: Pair, out: Pair, size: Pair, stride: Pair, dilation: Pair, padding: Padding
) -> tuple[int, ...]:
    return (*image, *out, *size, *stride, *dilation, padding[0][0], padding[1][0])


def _extent(image: Pair, size: Pair, stride: Pair, dilation: Pair, padding: Padding) -> Pair:
    rows, columns = (
        (n + sum(p) - d * (k - 1) - 1) // s + 1
        for n, p, d, k, s in zip(image, padding, dilation, size, stride, strict=True)
    )
    return rows, columns


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
    out = _extent(image, size, stride, dilation, padding)
    y = cupy_cudnn_ops.conv2d(x, weight, stride=stride, padding=padding, dilation=dilation, out=out)
    if y is not NotImplemented:
        return _with_bias(y, bias)
    x = cp.ascontiguousarray(x)
    columns = x
    if not _is_plain(size, stride, padding):
        columns = cp.empty((n, c, *size, *out), x.dtype)
        _run("unfold", columns, x, sizes=_sizes(image, out, size, stride, dilation, padding))
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
    return _run("fold", x, columns, sizes=_sizes(size, out, window, stride, dilation, padding))


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
    sizes = _sizes(image, out, size, stride, dilation, padding)
    _run("unfold_rows", columns, cp.ascontiguousarray(x), c // groups, n, sizes=sizes)
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
    out = _extent(x.shape[2:], size, stride, dilation, padding)
    sizes = _sizes(x.shape[2:], out, size, stride, dilation, padding)
    y = cp.empty((*x.shape[:2], *out), x.dtype)
    return _run("max_pool", y, cp.ascontiguousarray(x), _lowest(x), sizes=sizes)


def max_pool_spread(
    g: Array, x: Array, y: Array, *, size: Pair, stride: Pair, padding: Padding, dilation: Pair
) -> Array:
    """As `pooling.max_pool_spread`, one launch: each pixel looks at the windows that it is in."""
    sizes = _sizes(x.shape[2:], y.shape[2:], size, stride, dilation, padding)
    operands = (cp.ascontiguousarray(v) for v in (g, x, y))
    return _run("max_pool_spread", cp.empty(x.shape, g.dtype), *operands, _lowest(x), sizes=sizes)


def max_pool_gather(
    g: Array, x: Array, y: Array, *, size: Pair, stride: Pair, padding: Padding, dilation: Pair
) -> Array:
    """As `pooling.max_pool_gather`, one launch."""
    sizes = _sizes(x.shape[2:], y.shape[2:], size, stride, dilation, padding)
    operands = (cp.ascontiguousarray(v) for v in (g, x, y))
    return _run("max_pool_gather", cp.empty(y.shape, g.dtype), *operands, _lowest(x), sizes=sizes)


def sum_pool(x: Array, *, size: Pair, stride: Pair, padding: Padding) -> Array:
    """As `pooling.sum_pool`, one launch."""
    out = _extent(x.shape[2:], size, stride, (1, 1), padding)
    sizes = _sizes(x.shape[2:], out, size, stride, (1, 1), padding)
    return _run(
        "sum_pool", cp.empty((*x.shape[:2], *out), x.dtype), cp.ascontiguousarray(x), sizes=sizes
    )


def sum_pool_spread(g: Array, *, extent: Pair, size: Pair, stride: Pair, padding: Padding) -> Array:
    """As `pooling.sum_pool_spread`, one launch."""
    sizes = _sizes(extent, g.shape[2:], size, stride, (1, 1), padding)
    return _run(
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
