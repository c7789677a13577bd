"""Arrays, axes and shapes that hypothesis draws for calls of the standard's functions."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
REAL = INTEGERS + FLOATS
NUMERIC = REAL + COMPLEX
ALL = ("bool", *NUMERIC)


def elements(dtype):
    kind = np.dtype(dtype).kind
    if kind == "b":
        return st.booleans()
    if kind in "iu":
        return st.integers(-5 * (kind == "i"), 5)
    # Quarters: no rounding that depends on the order of summation.
    real = st.integers(-20, 20).map(lambda n: n / 4)
    return real if kind == "f" else st.builds(complex, real, real)


def arrays(data, dtypes, shape=None, **limits):
    if shape is None:
        shape = hnp.array_shapes(**{"min_dims": 0, "max_dims": 3, "min_side": 0, **limits})
    dtype = data.draw(st.sampled_from(dtypes), label="dtype")
    return data.draw(hnp.arrays(dtype, shape, elements=elements(dtype)), label="x")


def axis_of(data, x, *, none=True):
    if not x.ndim:
        return None
    axis = st.integers(-x.ndim, x.ndim - 1)
    return data.draw(st.none() | axis if none else axis, label="axis")


def axes_of(data, x):
    """None, one axis or several."""
    if not x.ndim:
        return data.draw(st.sampled_from([None, ()]), label="axis")
    several = st.lists(st.integers(0, x.ndim - 1), unique=True).map(tuple)
    return data.draw(st.none() | st.integers(-x.ndim, x.ndim - 1) | several, label="axis")


def shape_of_same_size(data, x):
    shape = data.draw(st.permutations(x.shape), label="shape")
    return data.draw(st.sampled_from([tuple(shape), (-1,), (1, *shape)])) if x.size else (*shape, 1)


def matrices(data, dtypes=(*FLOATS, *COMPLEX), square=False):
    """Stacks of matrices, well away from singular ones if they are square."""
    m, n = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 4)), label="(m, n)")
    n = m if square else n
    batch = data.draw(hnp.array_shapes(min_dims=0, max_dims=1, max_side=3), label="batch")
    x = arrays(data, dtypes, (*batch, m, n))
    return x + 25 * np.eye(m, dtype=x.dtype) if square else x


def hermitian(data):
    x = matrices(data, square=True)
    return (x + x.conj().swapaxes(-1, -2)) / 2


def flag(data, label):
    return data.draw(st.booleans(), label=label)
