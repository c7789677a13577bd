"""The transforms.

Every one is linear, so its derivative is its adjoint: the transform the other way, scaled by the
other norm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.arguments import axes_of
from autograd_gpu.ops.complexes import conj
from autograd_gpu.ops.elementwise import add
from autograd_gpu.ops.linalg.common import arrays_of, raw, variable
from autograd_gpu.primitive import primitive
from autograd_gpu.variable import Variable

Axes = int | Sequence[int] | None

# A transform with one norm has the adjoint with the other: 1 and 1/n change places.
_ADJOINT = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _resized(xp: Namespace, x: Any, axes: Sequence[int], shape: Sequence[int]) -> Any:
    """`x` cut or padded with zeros at the end of `axes` to the sizes that these have in `shape`."""
    cut, widths = [slice(None)] * x.ndim, [(0, 0)] * x.ndim
    for axis in axes:
        cut[axis] = slice(shape[axis])
        widths[axis] = (0, max(0, shape[axis] - x.shape[axis]))
    x = x[tuple(cut)]
    return xp.pad(x, tuple(widths)) if any(after for _, after in widths) else x


def _bins(xp: Namespace, x: Any, axis: int, n: int, inner: float) -> Any:
    """`x` with the bins that stand for two of a real transform of size `n` multiplied by `inner`.

    The first one stands for itself alone, and so does the last if `n` is even.
    """
    k = arrays_of(x).arange(n // 2 + 1)
    weight = arrays_of(x).where((k == 0) | (2 * k == n), 1.0, inner)
    weight = weight.astype(raw(x).real.dtype)
    return x * weight.reshape((-1,) + (1,) * (x.ndim - 1 - axis % x.ndim))


@primitive(
    x=lambda xp, g, x_shape, axes, norm: _resized(
        xp, xp.fft.ifftn(g, axes=axes, norm=_ADJOINT[norm]), axes, x_shape
    ),
    tangent=lambda xp, t, axes, norm, y_shape: xp.fft.fftn(
        t, s=[y_shape[i] for i in axes], axes=axes, norm=norm
    ),
)
def fftn_(xp: Namespace, x: Array, *, s: Sequence[int], axes: Sequence[int], norm: str) -> Array:
    """`fftn` with everything given."""
    return xp.fft.fftn(x, s=s, axes=axes, norm=norm)


@primitive(
    x=lambda xp, g, x_shape, axes, norm: _resized(
        xp, xp.fft.fftn(g, axes=axes, norm=_ADJOINT[norm]), axes, x_shape
    ),
    tangent=lambda xp, t, axes, norm, y_shape: xp.fft.ifftn(
        t, s=[y_shape[i] for i in axes], axes=axes, norm=norm
    ),
)
def ifftn_(xp: Namespace, x: Array, *, s: Sequence[int], axes: Sequence[int], norm: str) -> Array:
    """`ifftn` with everything given."""
    return xp.fft.ifftn(x, s=s, axes=axes, norm=norm)


def _rfftn(
    xp: Namespace,
    g: Any,
    x_shape: tuple[int, ...],
    s: Sequence[int],
    axes: Sequence[int],
    norm: str,
) -> Any:
    # Bins that a real transform leaves out get no gradient, so those inside count half.
    g = _bins(xp, g, axes[-1], s[-1], 0.5)
    if len(axes) > 1:
        g = xp.fft.ifftn(g, axes=axes[:-1], norm=_ADJOINT[norm])
    g = xp.fft.irfft(g, n=s[-1], axis=axes[-1], norm=_ADJOINT[norm])
    return _resized(xp, g, axes, x_shape)


@primitive(x=_rfftn, tangent="linear")
def rfftn_(xp: Namespace, x: Array, *, s: Sequence[int], axes: Sequence[int], norm: str) -> Array:
    """`rfftn` with everything given."""
    return xp.fft.rfftn(x, s=s, axes=axes, norm=norm)


def _irfftn(
    xp: Namespace,
    g: Any,
    x_shape: tuple[int, ...],
    s: Sequence[int],
    axes: Sequence[int],
    norm: str,
) -> Any:
    g = xp.fft.rfftn(g, axes=axes, norm=_ADJOINT[norm])
    return _resized(xp, _bins(xp, g, axes[-1], s[-1], 2.0), axes, x_shape)


@primitive(x=_irfftn, tangent="linear")
def irfftn_(xp: Namespace, x: Array, *, s: Sequence[int], axes: Sequence[int], norm: str) -> Array:
    """`irfftn` with everything given."""
    # cuFFT takes for granted that the input of a real transform over many axes is symmetric.
    if len(axes) > 1:
        x = xp.fft.ifftn(x, s=s[:-1], axes=axes[:-1], norm=norm)
    return xp.fft.irfft(x, n=s[-1], axis=axes[-1], norm=norm)


_TRANSFORMS = {"fft": fftn_, "ifft": ifftn_, "rfft": rfftn_, "irfft": irfftn_}


def _transform(
    kind: str, op: str, x: Any, s: Any, axes: Axes, norm: str | None, one: bool = False
) -> Variable:
    """Fill in what is left out, and check."""
    x = variable(x)
    norm = norm or "backward"
    if norm not in _ADJOINT:
        raise ValueError(f"{op}: norm is one of {', '.join(_ADJOINT)}, not {norm!r}")
    if kind == "rfft" and x.dtype.kind == "c":
        raise TypeError(f"{op}: x must be real, got {x.dtype}{list(x.shape)}")
    if axes is None:
        axes = range(x.ndim) if s is None else range(-len(s), 0)
    axes = axes_of(axes)
    if any(not -x.ndim <= axis < x.ndim for axis in axes):
        raise IndexError(f"{op}: axes {axes} of {x.dtype}{list(x.shape)} are out of range")
    if s is not None and len(s) != len(axes):
        raise ValueError(f"{op}: s={tuple(s)} and axes={axes} differ in length")
    if not axes:
        if one or kind in ("rfft", "irfft"):
            raise ValueError(f"{op}: at least one axis is needed")
        return add(x, 0j)
    own = [x.shape[axis] for axis in axes]
    sizes = [*own[:-1], 2 * (own[-1] - 1)] if kind == "irfft" else own
    if s is not None:  # as in NumPy, None is the size of the signal and -1 that of the axis
        given = zip(s, sizes, own, strict=True)
        sizes = [n if m is None else k if m == -1 and not one else int(m) for m, n, k in given]
    if min(sizes) < 1:
        raise ValueError(f"{op}: {x.dtype}{list(x.shape)} cannot be transformed to sizes {sizes}")
    if len({axis % x.ndim for axis in axes}) < len(axes):
        return _repeated(kind, op, x, sizes, axes, norm)
    return _TRANSFORMS[kind](x, tuple(sizes), axes, norm)


def _repeated(
    kind: str, op: str, x: Variable, sizes: Sequence[int], axes: Sequence[int], norm: str
) -> Variable:
    """One axis after the other, for those that come more than once."""
    *rest, last = zip(sizes, axes, strict=True)
    if kind == "rfft":
        x = rfftn_(x, (last[0],), (last[1],), norm)
    elif kind == "fft" or kind == "ifft":
        rest = [*rest, last]
    for n, axis in reversed(rest):
        forwards = kind in ("fft", "rfft")
        x = (fftn_ if forwards else ifftn_)(x, (n,), (axis,), norm)
    return irfftn_(x, (last[0],), (last[1],), norm) if kind == "irfft" else x


def fft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> Variable:
    """The Fourier transform along `axis`, cut or padded with zeros to size `n` first.

    `norm` says what is divided by: "backward" nothing here and n in the inverse, "forward" the
    other way round, "ortho" sqrt(n) in both.

    >>> fft(Variable([1.0, 2.0])).real.tolist()
    [3.0, -1.0]
    """
    return _transform("fft", "fft", x, _one(n), axis, norm, one=True)


def ifft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> Variable:
    """The inverse of `fft`."""
    return _transform("ifft", "ifft", x, _one(n), axis, norm, one=True)


def rfft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> Variable:
    """The first n // 2 + 1 bins of `fft` for real x; the others are their conjugates.

    >>> rfft(Variable([1.0, 2.0, 3.0])).shape
    (2,)
    """
    return _transform("rfft", "rfft", x, _one(n), axis, norm, one=True)


def irfft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> Variable:
    """The inverse of `rfft`, real and of size `n`, by default 2 (m - 1) for m bins."""
    return _transform("irfft", "irfft", x, _one(n), axis, norm, one=True)


def hfft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> Variable:
    """`fft` of a signal that is its own conjugate mirrored, of which x is the first half; real."""
    norm = norm or "backward"
    return _transform("irfft", "hfft", conj(x), _one(n), axis, _ADJOINT.get(norm, norm), one=True)


def ihfft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> Variable:
    """The inverse of `hfft`: the first half of `ifft` of real x."""
    norm = norm or "backward"
    y = _transform("rfft", "ihfft", x, _one(n), axis, _ADJOINT.get(norm, norm), one=True)
    result: Variable = conj(y)
    return result


def fftn(x: Any, s: Any = None, axes: Axes = None, norm: str | None = "backward") -> Variable:
    """`fft` over `axes`, by default all, or the last ones of sizes `s`."""
    return _transform("fft", "fftn", x, s, axes, norm)


def ifftn(x: Any, s: Any = None, axes: Axes = None, norm: str | None = "backward") -> Variable:
    """The inverse of `fftn`."""
    return _transform("ifft", "ifftn", x, s, axes, norm)


def rfftn(x: Any, s: Any = None, axes: Axes = None, norm: str | None = "backward") -> Variable:
    """`rfft` over the last of `axes` and `fft` over the others."""
    return _transform("rfft", "rfftn", x, s, axes, norm)


def irfftn(x: Any, s: Any = None, axes: Axes = None, norm: str | None = "backward") -> Variable:
    """The inverse of `rfftn`."""
    return _transform("irfft", "irfftn", x, s, axes, norm)


def fft2(x: Any, s: Any = None, axes: Axes = (-2, -1), norm: str | None = "backward") -> Variable:
    """`fftn` over two axes."""
    return _transform("fft", "fft2", x, s, axes, norm)


def ifft2(x: Any, s: Any = None, axes: Axes = (-2, -1), norm: str | None = "backward") -> Variable:
    """`ifftn` over two axes."""
    return _transform("ifft", "ifft2", x, s, axes, norm)


def rfft2(x: Any, s: Any = None, axes: Axes = (-2, -1), norm: str | None = "backward") -> Variable:
    """`rfftn` over two axes."""
    return _transform("rfft", "rfft2", x, s, axes, norm)


def irfft2(x: Any, s: Any = None, axes: Axes = (-2, -1), norm: str | None = "backward") -> Variable:
    """`irfftn` over two axes."""
    return _transform("irfft", "irfft2", x, s, axes, norm)


def _one(n: int | None) -> tuple[int] | None:
    return None if n is None else (n,)
