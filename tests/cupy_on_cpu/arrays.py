"""CuPy arrays seen as NumPy arrays on the same memory, and back; this is no transfer."""

from __future__ import annotations

from typing import Any

from . import memory


def host_view(x: Any) -> Any:
    """A NumPy array on the memory of the CuPy array `x`."""
    strides = tuple(0 if n == 1 else s for n, s in zip(x.shape, x.strides, strict=True))
    if any(s < 0 for s in strides):
        raise ValueError("a view with negative strides; copy it first")
    return memory.view(x.data.ptr, x.dtype, x.shape, strides)


def to_host(x: Any) -> Any:
    """A NumPy copy of `x`."""
    import cupy

    return host_view(cupy.ascontiguousarray(x) if min((0, *x.strides)) < 0 else x).copy()


def to_device(x: Any) -> Any:
    """A CuPy copy of the NumPy array `x`."""
    import cupy

    y = cupy.empty(x.shape, x.dtype)
    host_view(y)[...] = x
    return y
