"""Calls of the standard's functions that are no elementwise ones, with drawn arguments.

`CALLS[name](data)` draws the arguments and returns a function of the namespace that calls it.
"""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from standard.draws import (
    ALL,
    COMPLEX,
    FLOATS,
    NUMERIC,
    REAL,
    arrays,
    axes_of,
    axis_of,
    flag,
    shape_of_same_size,
)  # fmt: skip


def reduction(name, dtypes, axes=axes_of, **options):
    def call(data):
        empty = name in ("max", "min", "argmax", "argmin")
        x = arrays(data, dtypes, min_side=1 if empty else 0)
        keywords = {"axis": axes(data, x), "keepdims": flag(data, "keepdims")}
        keywords |= {key: data.draw(st.sampled_from(v), label=key) for key, v in options.items()}
        return lambda xp: getattr(xp, name)(xp.asarray(x), **keywords)

    return call


def summing(name):
    """Reductions that widen integers, and take a dtype."""

    def call(data):
        x = arrays(data, NUMERIC)
        dtype = data.draw(st.sampled_from([None, "float64"])) if x.dtype.kind == "f" else None
        axis = axes_of(data, x)
        return lambda xp: getattr(xp, name)(
            xp.asarray(x), axis=axis, dtype=dtype and getattr(xp, dtype)
        )

    return call


def cumulative(name):
    def call(data):
        x = arrays(data, NUMERIC, min_dims=1)
        axis = axis_of(data, x, none=False)
        initial = flag(data, "include_initial")
        return lambda xp: getattr(xp, name)(xp.asarray(x), axis=axis, include_initial=initial)

    return call


def sorting(name):
    def call(data):
        x = arrays(data, REAL, min_dims=1)
        keywords = {"axis": axis_of(data, x, none=False), "descending": flag(data, "descending")}
        return lambda xp: getattr(xp, name)(xp.asarray(x), **keywords)

    return call


def on_array(name, *draws, dtypes=ALL, space=None, **limits):
    """`name(x, *arguments)`, where each of `draws` makes an argument of (data, x)."""

    def call(data):
        x = arrays(data, dtypes, **limits)
        arguments = [draw(data, x) for draw in draws]
        return lambda xp: getattr(getattr(xp, space) if space else xp, name)(
            xp.asarray(x), *arguments
        )

    return call


def with_axis(name, *, dtypes=ALL, none=True, key="axis", **limits):
    def call(data):
        x = arrays(data, dtypes, **limits)
        axis = axis_of(data, x, none=none)
        return lambda xp: getattr(xp, name)(xp.asarray(x), **{key: axis})

    return call


def several(name, **options):
    """Of a list of arrays of one shape."""

    def call(data):
        first = arrays(data, ALL, min_dims=1)
        dtypes = ("bool",) if first.dtype == bool else (first.dtype.name, first.dtype.name)
        xs = [first, arrays(data, dtypes, first.shape)]
        axis = axis_of(data, first, none=False)
        return lambda xp: getattr(xp, name)([xp.asarray(x) for x in xs], axis=axis)

    return call


def vecdot(data):
    x = arrays(data, NUMERIC, min_dims=1, min_side=1)
    y = arrays(data, (x.dtype.name,), x.shape)
    axis = data.draw(st.integers(-x.ndim, -1), label="axis")
    return lambda xp: xp.vecdot(xp.asarray(x), xp.asarray(y), axis=axis)


def tensordot(data):
    x = arrays(data, NUMERIC, (2, 3, 4))
    y = arrays(data, (x.dtype.name,), (3, 2, 5))
    axes = data.draw(st.sampled_from([0, ((0,), (1,)), ((1, 0), (0, 1)), ((-2, 0), (0, -2))]))
    return lambda xp: xp.tensordot(xp.asarray(x), xp.asarray(y), axes=axes)


def clip(data):
    x = arrays(data, REAL)
    low, high = sorted(data.draw(st.tuples(st.integers(0, 4), st.integers(0, 4)), label="bounds"))
    bounds = data.draw(st.sampled_from([(low, high), (None, high), (low, None), (None, None)]))
    return lambda xp: xp.clip(xp.asarray(x), *bounds)


def where(data):
    mask = arrays(data, ("bool",))
    x = arrays(data, NUMERIC, mask.shape)
    y = data.draw(st.sampled_from([x, 1, x[..., :1]]), label="y") if x.ndim else x
    return lambda xp: xp.where(
        xp.asarray(mask), xp.asarray(x), xp.asarray(y) if hasattr(y, "dtype") else y
    )


def take(data):
    x = arrays(data, ALL, min_dims=1, min_side=1)
    axis = axis_of(data, x, none=False)
    n = x.shape[axis]
    indices = np.array(data.draw(st.lists(st.integers(0, n - 1)), label="indices"), "int64")
    return lambda xp: xp.take(xp.asarray(x), xp.asarray(indices), axis=axis)


def take_along_axis(data):
    x = arrays(data, ALL, min_dims=1, min_side=1)
    axis = axis_of(data, x, none=False)
    indices = data.draw(hnp.arrays("int64", x.shape, elements=st.integers(0, x.shape[axis] - 1)))
    return lambda xp: xp.take_along_axis(xp.asarray(x), xp.asarray(indices), axis=axis)


def searchsorted(data):
    x = np.sort(arrays(data, REAL, min_dims=1, max_dims=1))
    order = data.draw(st.permutations(range(x.size)), label="order")
    sorter = np.argsort(np.array(order, "int64"))
    side = data.draw(st.sampled_from(["left", "right"]), label="side")
    y = arrays(data, (x.dtype.name,))
    given = x[np.array(order, "int64")]
    return lambda xp: (
        xp.searchsorted(xp.asarray(x), xp.asarray(y), side=side),
        xp.searchsorted(xp.asarray(given), xp.asarray(y), side=side, sorter=xp.asarray(sorter)),
    )


def repeat(data):
    x = arrays(data, ALL, min_dims=1)
    axis = axis_of(data, x, none=False)
    n = x.shape[axis]
    counts = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), "int64")
    one = data.draw(st.integers(0, 3), label="repeats")
    return lambda xp: (
        xp.repeat(xp.asarray(x), one, axis=axis),
        xp.repeat(xp.asarray(x), xp.asarray(counts), axis=axis),
    )


def roll(data):
    x = arrays(data, ALL, min_dims=1)
    axis = axis_of(data, x)
    shift = data.draw(st.integers(-5, 5), label="shift")
    return lambda xp: (
        xp.roll(xp.asarray(x), shift, axis=axis),
        xp.roll(xp.asarray(x), (1, shift), axis=(0, x.ndim - 1)),
    )


def diff(data):
    x = arrays(data, REAL, min_dims=1, min_side=1)
    n = data.draw(st.integers(0, 2), label="n")
    axis = axis_of(data, x, none=False)
    return lambda xp: (
        xp.diff(xp.asarray(x), axis=axis, n=n),
        xp.diff(xp.asarray(x), axis=axis, prepend=xp.asarray(x), append=xp.asarray(x)),
    )


def broadcast_to(data):
    x = arrays(data, ALL, max_dims=2)
    front = data.draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=0), label="front")
    return lambda xp: xp.broadcast_to(xp.asarray(x), front + x.shape)


def broadcast_arrays(data):
    x, y = arrays(data, ALL, (3, 1)), arrays(data, ALL, (1, 2))
    return lambda xp: xp.broadcast_arrays(xp.asarray(x), xp.asarray(y))


def meshgrid(data):
    x = arrays(data, NUMERIC, (3,))
    y = arrays(data, (x.dtype.name,), (2,))
    indexing = data.draw(st.sampled_from(["xy", "ij"]))
    return lambda xp: xp.meshgrid(xp.asarray(x), xp.asarray(y), indexing=indexing)


def permute_dims(data):
    x = arrays(data, ALL)
    axes = tuple(data.draw(st.permutations(range(x.ndim)), label="axes"))
    return lambda xp: xp.permute_dims(xp.asarray(x), axes)


def moveaxis(data):
    x = arrays(data, ALL, min_dims=2)
    return lambda xp: (
        xp.moveaxis(xp.asarray(x), 0, -1),
        xp.moveaxis(xp.asarray(x), (0, 1), (-1, 0)),
    )


def squeeze(data):
    x = arrays(data, ALL)
    return lambda xp: xp.squeeze(xp.asarray(x)[None, ..., None], axis=(0, -1))


def getitem(data):
    x = arrays(data, ALL, min_dims=1)
    index = data.draw(hnp.basic_indices(x.shape, allow_newaxis=True), label="index")
    items = index if isinstance(index, tuple) else (index,)
    # The standard wants every axis spoken for.
    if sum(i is not None and i is not Ellipsis for i in items) < x.ndim and Ellipsis not in items:
        index = (*items, Ellipsis)
    return lambda xp: xp.asarray(x)[index]


def mask(data):
    x = arrays(data, ALL, min_dims=1)
    chosen = arrays(data, ("bool",), x.shape)
    return lambda xp: xp.asarray(x)[xp.asarray(chosen)]


def setitem(data):
    x = arrays(data, ALL, min_dims=1)
    index = (
        *data.draw(
            hnp.basic_indices(x.shape, allow_ellipsis=False).map(
                lambda i: i if isinstance(i, tuple) else (i,)
            )
        ),
        ...,
    )

    def run(xp):
        y = xp.asarray(x, copy=True)
        y[index] = xp.asarray(x[index] == x[index], dtype=y.dtype)
        return y

    return run


def astype(data):
    x = arrays(data, ALL)
    dtype = data.draw(st.sampled_from(COMPLEX if x.dtype.kind == "c" else ALL), label="dtype")
    if x.dtype.kind in "if" and np.dtype(dtype).kind == "u":
        x = abs(x)
    return lambda xp: xp.astype(xp.asarray(x), getattr(xp, dtype))


CALLS = {
    **{name: reduction(name, REAL) for name in ("max", "min")},
    **{name: reduction(name, ALL) for name in ("all", "any")},
    **{name: reduction(name, REAL, axis_of) for name in ("argmax", "argmin")},
    "count_nonzero": reduction("count_nonzero", ALL),
    "mean": reduction("mean", FLOATS),
    "std": reduction("std", FLOATS, correction=[0.0, 0.5]),
    "var": reduction("var", FLOATS, correction=[0.0, 0.5]),
    "sum": summing("sum"),
    "prod": summing("prod"),
    "cumulative_sum": cumulative("cumulative_sum"),
    "cumulative_prod": cumulative("cumulative_prod"),
    "diff": diff,
    "sort": sorting("sort"),
    "argsort": sorting("argsort"),
    "searchsorted": searchsorted,
    "nonzero": on_array("nonzero", min_dims=1),
    "where": where,
    "take": take,
    "take_along_axis": take_along_axis,
    "unique_all": on_array("unique_all"),
    "unique_counts": on_array("unique_counts"),
    "unique_inverse": on_array("unique_inverse"),
    "unique_values": on_array("unique_values"),
    "clip": clip,
    "astype": astype,
    "concat": several("concat"),
    "stack": several("stack"),
    "unstack": with_axis("unstack", none=False, min_dims=1),
    "flip": with_axis("flip"),
    "expand_dims": with_axis("expand_dims", none=False, min_dims=1),
    "permute_dims": permute_dims,
    "reshape": on_array("reshape", shape_of_same_size),
    "repeat": repeat,
    "roll": roll,
    "tile": on_array("tile", lambda d, x: d.draw(hnp.array_shapes(min_dims=0, max_dims=3))),
    "broadcast_to": broadcast_to,
    "broadcast_arrays": broadcast_arrays,
    "meshgrid": meshgrid,
    "moveaxis": moveaxis,
    "squeeze": squeeze,
    "tril": on_array("tril", dtypes=NUMERIC, min_dims=2),
    "triu": on_array("triu", dtypes=NUMERIC, min_dims=2),
    "matrix_transpose": on_array("matrix_transpose", min_dims=2),
    "vecdot": vecdot,
    "tensordot": tensordot,
    "x[index]": getitem,
    "x[mask]": mask,
    "x[index] = v": setitem,
}
