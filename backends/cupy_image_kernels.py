"""The kernels of convolution and pooling over images: windows are read in one launch, unpadded."""

from __future__ import annotations

from functools import cache
from typing import Any

import cupy as cp

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

KERNELS = {
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
    inputs, output, operation = KERNELS[name]
    return cp.ElementwiseKernel(
        f"{inputs}, {_PARAMETERS}",
        output,
        f"const I i_ = i;\n{{{operation}}}",
        f"autograd_gpu_{name}",
        preamble=f"{_PREAMBLE}{_FIND}typedef {index} I;",
    )


def run(name: str, out: Array, *inputs: Any, sizes: tuple[int, ...]) -> Array:
    """Launch a kernel that fills `out`, unless there is nothing to fill; returns `out`."""
    if out.size:
        kernel(name, "int" if out.size < 2**31 else "ptrdiff_t")(*inputs, *sizes, out)
    return out


def sizes_of(
    image: Pair, out: Pair, size: Pair, stride: Pair, dilation: Pair, padding: Padding
) -> tuple[int, ...]:
    """What every kernel is told of the windows, in the order of its parameters."""
    return (*image, *out, *size, *stride, *dilation, padding[0][0], padding[1][0])


def extent_of(image: Pair, size: Pair, stride: Pair, dilation: Pair, padding: Padding) -> Pair:
    """Rows and columns of windows."""
    rows, columns = (
        (n + sum(p) - d * (k - 1) - 1) // s + 1
        for n, p, d, k, s in zip(image, padding, dilation, size, stride, strict=True)
    )
    return rows, columns
