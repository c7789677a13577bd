"""NumPy's matmul, called so that it reaches BLAS."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd_gpu.threads import get_num_threads, share

Array = np.ndarray[Any, Any]

_FLOAT32 = np.dtype(np.float32)


def matmul(a: Array, b: Array) -> Any:
    """The product of `a` [..., M, K] and `b` [..., K, N] by the rules of NumPy's matmul.

    A batch that only `a` has is folded into its rows: one large product runs 10 to 30 % faster
    than many small ones.  Half types are multiplied in float32 and rounded once.
    """
    dtype = a.dtype
    if dtype.itemsize == 2 and is_half(a, b):
        # no BLAS for them: NumPy's own loop took 60 times as long on [8, 128, 128]
        return matmul(a.astype(_FLOAT32), b.astype(_FLOAT32)).astype(dtype)
    if a.ndim > 2 and is_folded(a, b):
        out = np.empty((*a.shape[:-1], b.shape[1]), np.result_type(a, b))
        np.matmul(a.reshape(-1, a.shape[-1]), b, out.reshape(-1, b.shape[1]))
        return out
    if _COPIES_FOR_BLAS and a.ndim > 1 and b.ndim > 1:
        a, b = _for_blas(a), _for_blas(b)
    if a.ndim > 2 and is_shared(a, b):
        return shared(a, b)
    return np.matmul(a, b)


def is_half(a: Array, b: Array) -> bool:
    """Whether the product is computed in float32 and rounded."""
    return a.dtype.itemsize == 2 and a.dtype == b.dtype and a.dtype.kind in "fV"


def is_folded(a: Array, b: Array) -> bool:
    """Whether the batch of `a` becomes rows."""
    return (
        a.ndim > 2
        and b.ndim == 2
        and a.size >= _FOLDED_FROM
        and b.size > 0
        and a.flags.c_contiguous
    )


SINGLE = 1 << 18
"""Multiplications up to which OpenBLAS computes a product in the thread that asked for it."""

SHARED_FROM = 1 << 24
"""Multiplications from which a batch of such products is worth more than one thread.

That is 0.3 ms in one.  At half of it, [32, 64, 64] @ [32, 64, 64], to wake another thread and to
wait for it took all of what it saved."""


def is_shared(a: Array, b: Array) -> bool:
    """Whether a batch of products is to be spread over threads, since BLAS does not do so."""
    return (
        a.ndim == b.ndim > 2
        and a.size * b.shape[-1] >= SHARED_FROM
        and a.shape[-2] * a.shape[-1] * b.shape[-1] <= SINGLE
        and a.shape[0] == b.shape[0]
        and get_num_threads() > 1
    )


def shared(a: Array, b: Array) -> Array:
    """The products of a batch, on several threads."""
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    out = np.empty((*batch, a.shape[-2], b.shape[-1]), np.result_type(a, b))
    n = len(a)
    parts = min(n, 2 * get_num_threads())  # more than threads, in case one of them is late

    def part(i: int) -> None:
        s = slice(i * n // parts, (i + 1) * n // parts)
        np.matmul(a[s], b[s], out[s])

    share(part, parts)
    return out


# The reshaping costs 1.2 us, what four small products cost.
_FOLDED_FROM = 4096

# Before 2.3 NumPy multiplied in a loop of its own, many times slower than BLAS, where neither of
# the last two axes was contiguous.
_COPIES_FOR_BLAS = np.lib.NumpyVersion(np.__version__) < "2.3.0"


def _for_blas(x: Array) -> Array:
    rows, columns = x.shape[-2:]
    down, right = x.strides[-2:]
    width = x.itemsize
    if (right == width and down >= columns * width) or (down == width and right >= rows * width):
        return x
    return np.ascontiguousarray(x)
