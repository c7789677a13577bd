"""Shapes, joining, indexing, order, casts and products."""

import numpy as np

from samples.sample import Table, draw

TABLE = Table()
add = TABLE.add
I = np.array  # noqa: E741


def complexes(name, shape):
    return np.asarray(draw(name, shape) + 1j * draw(name + "i", shape))


def unary(name, reference, *calls, dtypes=("float32", "float16")):
    """A call is a shape and static parameters; each is tried with real and complex numbers."""
    for shape, statics in calls:
        label = f"{shape}" + "".join(f" {k}={v!r:.20}" for k, v in statics.items())
        add(name, reference, (draw(name, shape),), label, statics, dtypes=dtypes)
    shape, statics = calls[0]
    add(name, reference, (complexes(name, shape),), "complex", statics)
    view = np.swapaxes(draw(name, shape[::-1]), 0, -1) if len(shape) == 2 else None
    if view is not None:
        add(name, reference, (view,), "transposed", statics)


unary(
    "reshape",
    lambda x, shape, copy=None: np.reshape(x, shape),
    ((2, 3), {"shape": (3, -1)}),
    ((), {"shape": (1, 1)}),
    ((0, 3), {"shape": (3, 0, 2)}),
    ((2, 3), {"shape": 6, "copy": True}),
)
unary(
    "permute_dims",
    lambda x, axes=None: np.transpose(x, axes),
    ((2, 3), {}),
    ((2, 3, 4), {"axes": (2, 0, -2)}),
    ((0, 3), {"axes": (1, 0)}),
    ((), {}),
)
unary("matrix_transpose", lambda x: np.swapaxes(x, -1, -2), ((2, 3), {}), ((2, 0, 3), {}))
unary(
    "swapaxes",
    np.swapaxes,
    ((2, 3), {"axis1": 0, "axis2": -1}),
    ((2, 1, 0), {"axis1": 1, "axis2": 2}),
)
unary(
    "moveaxis",
    np.moveaxis,
    ((2, 3), {"source": 0, "destination": -1}),
    ((2, 3, 4), {"source": (0, -1), "destination": (1, 0)}),
)
unary(
    "expand_dims",
    np.expand_dims,
    ((2, 3), {"axis": -2}),
    ((), {"axis": 0}),
    ((2, 3), {"axis": (0, -1)}),
)
unary(
    "squeeze",
    np.squeeze,
    ((2, 1), {"axis": -1}),
    ((1, 2, 1), {}),
    ((1, 2, 1), {"axis": (0, 2)}),
    ((1, 0), {"axis": 0}),
)
unary(
    "broadcast_to",
    np.broadcast_to,
    ((3, 1), {"shape": (2, 3, 4)}),
    ((), {"shape": (2,)}),
    ((1, 3), {"shape": (0, 3)}),
    ((3,), {"shape": (3,)}),
)
unary(
    "flip",
    np.flip,
    ((2, 3), {}),
    ((2, 3), {"axis": -1}),
    ((2, 3, 4), {"axis": (0, 2)}),
    ((0, 3), {"axis": 0}),
)
unary(
    "roll",
    np.roll,
    ((2, 3), {"shift": 2}),
    ((2, 3), {"shift": -1, "axis": -1}),
    ((2, 3), {"shift": (1, 5), "axis": (0, 1)}),
    ((0, 3), {"shift": 1, "axis": 0}),
    ((2, 3), {"shift": -4, "axis": 1}),
    ((2, 3, 4), {"shift": 4, "axis": 2}),
)
unary(
    "tile",
    lambda x, repetitions: np.tile(x, repetitions),
    ((2, 3), {"repetitions": 2}),
    ((), {"repetitions": (2, 3)}),
    ((3,), {"repetitions": (2, 2)}),
    ((2, 3, 1), {"repetitions": (2,)}),
    ((2, 3), {"repetitions": 0}),
    dtypes=("float32",),
)
unary(
    "repeat",
    np.repeat,
    ((2, 3), {"repeats": 2}),
    ((2, 3), {"repeats": 3, "axis": -1}),
    ((0, 3), {"repeats": 2, "axis": 0}),
    ((2, 3), {"repeats": 0, "axis": 1}),
    dtypes=("float32",),
)


def concat(*arrays, axis=0):
    return np.concat(arrays, axis=axis)


def stack(*arrays, axis=0):
    return np.stack(arrays, axis=axis)


for name, reference, shapes, statics in [
    ("concat", concat, ((2, 3), (1, 3), (0, 3)), {}),
    ("concat", concat, ((2, 3), (2, 1)), {"axis": -1}),
    ("concat", concat, ((2, 3), (), (4,)), {"axis": None}),
    ("stack", stack, ((2, 3), (2, 3)), {}),
    ("stack", stack, ((2, 3), (2, 3), (2, 3)), {"axis": -1}),
    ("stack", stack, ((), ()), {}),
    ("stack", stack, ((0, 2),), {"axis": 1}),
]:
    operands = tuple([draw(f"{name}{i}", shape) for i, shape in enumerate(shapes)])
    add(name, reference, operands, f"{shapes} {statics}", statics)
    operands = (complexes(name, shapes[0]), *operands[1:])
    add(name, reference, operands, f"complex first {shapes} {statics}", statics)

unary(
    "split",
    np.split,
    ((4, 3), {"indices_or_sections": 2}),
    ((2, 6), {"indices_or_sections": (1, 4), "axis": -1}),
    ((2, 6), {"indices_or_sections": (0, 3, 3), "axis": 1}),
)
unary("unstack", lambda x, axis=0: np.unstack(x, axis=axis), ((2, 3), {}), ((2, 3), {"axis": -1}))
unary(
    "pad",
    lambda x, pad_width, constant_values=0: np.pad(x, pad_width, constant_values=constant_values),
    ((2, 3), {"pad_width": ((1, 0), (0, 2))}),
    ((2, 3), {"pad_width": ((1, 1), (2, 0)), "constant_values": 3.0}),
    ((0,), {"pad_width": ((1, 2),)}),
)

# Other dtypes of the sample itself are astype's business here.
for dtype in ("float32", "float64", "complex128"):
    add("astype", lambda x, dtype: x.astype(dtype), (draw("astype", (2, 3)).astype("float32"),),
        dtype, {"dtype": dtype}, check=False, dtypes=())  # fmt: skip
add("astype", lambda x, dtype: x.astype(dtype), (draw("astype", (2, 3)),), "check",
    {"dtype": "complex128"}, dtypes=("float32",))  # fmt: skip

INDICES = [
    1,
    slice(None, None, -2),
    slice(2, 2),
    (..., 0),
    (None, 1, slice(3, 0, -1)),
    (),
    I([2, 0, 0]),
    I([[0, -1], [1, 1]]),
    (slice(None), I([3, 0, 3])),
    (I([0, 1, 0]), I([1, 2, 1])),
    I(1),
    np.arange(12).reshape(3, 4) % 5 < 2,
    I([True, False, True]),
]


def scatter_add(x, index, shape):
    out = np.zeros(shape, x.dtype)
    np.add.at(out, index, x)
    return out


def set_at(x, v, index):
    out = x.copy()
    out[index] = v
    return out


x = draw("getitem", (3, 4))
for index in INDICES:
    label = repr(index).replace("\n", "")
    few = {"label": label, "dtypes": ("float32",)}
    v = draw("set_at", x[index].shape)
    add("getitem", lambda x, index: x[index], (x,), statics={"index": index}, **few)
    add("scatter_add", scatter_add, (v,), statics={"index": index, "shape": (3, 4)}, **few)
    add("set_at", set_at, (x, v), statics={"index": index}, **few)
z = complexes("getitem", (3, 4))
index = {"index": I([2, 0, 0])}
add("getitem", lambda x, index: x[index], (z,), "complex", index)
add("getitem", lambda x, index: x[index], (draw("x", ()),), "0-d", {"index": (None, ...)})
add("scatter_add", scatter_add, (z,), "complex", {**index, "shape": (5, 4)}, dtypes=())
add("set_at", set_at, (z, x[:1]), "complex and real", index)
add("set_at", set_at, (x, 2.0), "a number", index)

for axis in (None, 0, -1):
    for indices in (I([2, 0, 0]), I([[1], [-1]]), I(1)):
        add("take", lambda x, i, axis: x.take(i, axis), (x, indices),
            f"{indices.shape} {axis}", {"axis": axis}, dtypes=("float32",))  # fmt: skip


def ordered(x, axis=-1, descending=False, stable=True):
    y = np.sort(x, axis)
    return np.flip(y, axis) if descending else y


def order(x, axis=-1, descending=False, stable=True):
    return np.argsort(-x if descending else x, axis, stable=True)


for statics in ({}, {"axis": 0}, {"descending": True}):
    add("sort", ordered, (x,), f"{statics}", statics)
    add("argsort", order, (x,), f"{statics}", statics)
add("argsort", order, (I([1.0, 0, 1, 0]),), "ties", {"descending": True})
counted = I([[3.0, 0, 3], [1, 0, 3]])
add("nonzero", np.nonzero, (counted,))
add("unique_all", lambda x: tuple(np.unique_all(x)), (counted,))
for side in ("left", "right"):
    add("searchsorted", lambda a, v, side, sorter=None: np.searchsorted(a, v, side, sorter),
        (I([1.0, 2, 2, 3]), I([[2.0, 0], [3.5, 2.5]])), side, {"side": side})  # fmt: skip

for a, b in [
    ((2, 3), (3, 4)),
    ((3,), (3,)),
    ((3,), (2, 3, 4)),
    ((2, 4, 3), (3,)),
    ((2, 4, 3), (3, 2)),
    ((4, 3), (2, 3, 2)),
    ((2, 1, 4, 3), (3, 3, 2)),
    ((0, 3), (3, 2)),
    ((2, 0), (0, 3)),
    ((0, 2, 3), (3, 2)),
]:
    operands = draw("matmul", a, -1, 1), draw("matmulb", b, -1, 1)
    add("matmul", np.matmul, operands, f"{a} {b}")
    add("matmul", np.matmul, (complexes("matmul", a), operands[1]), f"complex {a} {b}")
transposed = draw("matmul", (3, 2)).T, draw("matmulb", (4, 6))[:, ::-2].T
add("matmul", np.matmul, transposed, "views")


def einsum(a, b, la, lb, out):
    return np.einsum(f"{la},{lb}->{out}", a, b)


for la, lb, out in [
    ("ab", "bc", "ac"),
    ("ab", "cb", "ca"),
    ("btd", "bsd", "bts"),
    ("abc", "cbd", "ad"),
    ("ab", "ab", ""),
    ("ab", "ab", "ba"),
    ("ab", "b", "a"),
    ("a", "b", "ba"),
    ("", "ab", "ab"),
]:
    size = {"a": 2, "b": 3, "c": 4, "d": 2, "t": 2, "s": 4}
    shapes = [tuple([size[c] for c in labels]) for labels in (la, lb)]
    statics = {"la": la, "lb": lb, "out": out}
    operands = draw("einsum", shapes[0], -1, 1), draw("einsumb", shapes[1], -1, 1)
    add("einsum", einsum, operands, f"{la},{lb}->{out}", statics)
    operands = operands[0], complexes("einsum", shapes[1])
    add("einsum", einsum, operands, f"complex {la},{lb}->{out}", statics)
