"""Matrices laid out in memory in every way that matters to products."""

import numpy as np
from hypothesis import strategies as st


def memory(x):
    """The buffer behind `x` as a flat array, and where `x` begins in it."""
    base = x
    while isinstance(base.base, np.ndarray):
        base = base.base
    # a copy keeps the order of axes that it found, which may be neither C's nor Fortran's
    flat = base.transpose(np.argsort(base.strides)[::-1]).reshape(-1)
    assert np.shares_memory(flat, base) or not base.size
    start = x.__array_interface__["data"][0] - flat.__array_interface__["data"][0]
    return flat, start // x.itemsize


def numbers(*shape):
    return np.random.default_rng(0).integers(-4, 5, shape).astype("f8")


# Each lays the values of `x` out in another way.  What lies between them is NaN.
def contiguous(x):
    return x.copy()


def transposed(x):
    return x.swapaxes(-1, -2).copy().swapaxes(-1, -2)


def sliced(x):
    wide = np.full((*x.shape[:-1], x.shape[-1] + 3), np.nan)
    wide[..., 1:-2] = x
    return wide[..., 1:-2]


def transposed_slice(x):
    return sliced(x.swapaxes(-1, -2)).swapaxes(-1, -2)


def every_second_matrix(x):
    return np.repeat(x, 2, 0)[::2] if x.ndim > 2 else sliced(x)


def batch_inside(x):
    """Rows outside the last batch axis, as heads within tokens."""
    return np.swapaxes(np.swapaxes(x, -3, -2).copy(), -3, -2) if x.ndim > 2 else x.copy()


def batch_innermost(x):
    return np.moveaxis(np.moveaxis(x, 0, -1).copy(), -1, 0) if x.ndim > 2 else x.copy()


def reversed_rows(x):
    return x[..., ::-1, :].copy()[..., ::-1, :]


def strided_both(x):
    return np.repeat(np.repeat(x, 2, -1), 2, -2)[..., ::2, ::2]


COPY_FREE = [contiguous, transposed, sliced, transposed_slice, every_second_matrix]
LAYOUTS = [*COPY_FREE, batch_inside, batch_innermost, reversed_rows, strided_both]

sizes = st.integers(1, 4)
layouts = st.sampled_from(LAYOUTS)


@st.composite
def problems(draw, layouts=layouts, axes=3):
    """Operands A and B, and room for C, with up to so many batch axes."""
    batch = tuple(draw(st.lists(sizes, max_size=axes)))
    m, k, n = draw(sizes), draw(sizes), draw(sizes)

    def operand(rows, columns):
        kept = batch[draw(st.integers(0, len(batch))) :]
        shape = tuple(size if draw(st.booleans()) else 1 for size in kept)
        return draw(layouts)(numbers(*shape, rows, columns))

    return operand(m, k), operand(k, n), draw(layouts)(numbers(*batch, m, n))
