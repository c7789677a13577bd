"""Shapes, joining, indexing, casts, matmul and einsum."""

import numpy as np

from samples.sample import Table, draw, integers

TABLE = Table()
add = TABLE.add
I = np.array  # noqa: E741

x = draw("structure", (2, 3, 4))
complexes = draw("z", (2, 3)) + 1j * draw("zi", (2, 3))
empty = np.zeros((0, 3))


def shapes(name, reference, *statics, **flags):
    """A sample of `x` for each of the statics, and transposed, strided and complex ones."""
    for given in statics:
        add(name, reference, (x,), str(list(given.values())), given, **flags)
        add(name, reference, (draw(name, (4, 3, 2)).T,), f"transposed {given}", given, **flags)
        strided = draw(name, (2, 6, 4))[:, ::-2]
        add(name, reference, (strided,), f"strided {given}", given, **flags)


shapes("reshape", lambda x, shape: x.reshape(shape), {"shape": (4, 6)}, {"shape": (-1,)})
add("reshape", lambda x, shape: x.reshape(shape), (empty,), "empty", {"shape": (3, 0)})
shapes("permute_dims", lambda x, axes: x.transpose(axes), {"axes": (2, 0, 1)}, {"axes": (-1, 1, 0)})
add("permute_dims", lambda x, axes: x.transpose(axes), (empty,), "empty", {"axes": (1, 0)})
shapes("matrix_transpose", np.matrix_transpose, {})
add("matrix_transpose", np.matrix_transpose, (complexes,), "complex")
shapes("swapaxes", np.swapaxes, {"axis1": 0, "axis2": -1})
shapes("moveaxis", np.moveaxis, {"source": 0, "destination": -1},
       {"source": (0, 1), "destination": (2, 0)})  # fmt: skip
shapes("expand_dims", np.expand_dims, {"axis": 0}, {"axis": -1}, {"axis": (0, 2)})
add("expand_dims", np.expand_dims, (draw("e", ()),), "0-d", {"axis": 0})
for axis in (None, 0, (0, -1)):
    add("squeeze", np.squeeze, (draw("squeeze", (1, 3, 1)),), f"axis {axis}", {"axis": axis})
add("squeeze", np.squeeze, (draw("squeeze", (1, 1)),), "to 0-d")
shapes("broadcast_to", np.broadcast_to, {"shape": (2, 2, 3, 4)})
for given, shape in (((3, 1), (2, 3, 4)), ((), (2, 2)), ((1, 3), (0, 3)), ((3,), (3,))):
    add("broadcast_to", np.broadcast_to, (draw("b", given),), f"{given} {shape}", {"shape": shape})
shapes("flip", np.flip, {}, {"axis": 1}, {"axis": (0, -1)})
shapes("roll", np.roll, {"shift": 2}, {"shift": -1, "axis": 1}, {"shift": (1, 2), "axis": (0, -1)})
shapes(
    "tile",
    lambda x, repetitions: np.tile(x, repetitions),
    {"repetitions": (2, 1, 3)},
    {"repetitions": (2, 1, 1, 2)},
)
shapes("repeat", np.repeat, {"repeats": 2, "axis": 1}, {"repeats": 2, "axis": None})


def concat(*arrays, axis=0):
    return np.concatenate([a.reshape(-1) for a in arrays] if axis is None else arrays, axis)


parts = draw("p", (2, 3)), draw("q", (2, 1)), draw("r", (2, 0))
for axis in (1, -1, None):
    add("concat", concat, parts, f"axis {axis}", {"axis": axis})
add("concat", concat, (draw("p", (3, 2)).T, draw("q", (4, 3))[::2]), "strided", {"axis": 0})
add("concat", concat, (draw("p", (2,)), integers("q", (3,))), "integers")


def stack(*arrays, axis=0):
    return np.stack(arrays, axis)


for axis in (0, 1, -1):
    arrays = draw("p", (2, 3)), draw("q", (3, 2)).T
    add("stack", stack, arrays, f"axis {axis}", {"axis": axis})
add("stack", stack, (draw("p", ()), draw("q", ())), "0-d")
shapes("split", np.split, {"indices_or_sections": 2, "axis": 2},
       {"indices_or_sections": [1, 1, 3], "axis": -1})  # fmt: skip
shapes("unstack", lambda x, axis=0: tuple(np.moveaxis(x, axis, 0)), {}, {"axis": -1})
widths = ((1, 2), (0, 0), (0, 1))
shapes("pad", lambda x, pad_width, constant_values=0: np.pad(
    x, pad_width, constant_values=constant_values), {"pad_width": widths},
    {"pad_width": widths, "constant_values": 2})  # fmt: skip


def getitem(x, index):
    return x[index]


INDICES = [
    1, -1, slice(None, None, -2), (slice(None), 1), (..., 0), (None, 1, slice(1, None)), (),
    (1, 2, 3), I([1, 1, 0]), (slice(None), I([[0, 2], [2, -1]])), (I([0, 1]), I([2, 2])),
    (I([1, 1]), slice(None), I([2, 2])), slice(0, 0),
]  # fmt: skip
for index in INDICES:
    add("getitem", getitem, (x,), f"{index}", {"index": index})
add(
    "getitem", getitem, (draw("g", (4, 3, 2)).T,), "transposed", {"index": (slice(None), I([0, 0]))}
)


def scatter_add(x, index, shape):
    out = np.zeros(shape, x.dtype)
    np.add.at(out, index, x)
    return out


for index, shape in (
    (I([1, 1, 0]), (3,)),
    ((slice(None), 1), (3, 2)),
    ((I([0, 0, 1]), I([1, 1, 0])), (2, 2)),
):
    add(
        "scatter_add", scatter_add, (draw("s", (3,)),), f"{index}", {"index": index, "shape": shape}
    )


def set_at(x, v, index):
    out = np.array(x)
    out[index] = v
    return out


for index in (1, slice(None), (slice(None), 1), (0, I([2, 0]))):
    v = draw("v", np.zeros((2, 3, 4))[index].shape)
    add("set_at", set_at, (x, v), f"{index}", {"index": index})
    add("set_at", set_at, (x, draw("v", v.shape[-1:])), f"{index} row", {"index": index})
    add("set_at", set_at, (x, 0.5), f"{index} number", {"index": index})
add("set_at", set_at, (draw("s", (3,)), I([1.0, 2, 3])), "repeated", {"index": I([0, 0, 2])},
    check=False, gradients=(I([0.0, 1, 0]), I([0.0, 1, 1])))  # fmt: skip

indices = I([[0, 2], [1, 0]])
for axis in (0, 1, -1, None):
    small = integers("t", (2, 2), 0, 2)
    add("take", np.take, (x, small), f"axis {axis}", {"axis": axis})
add("take", np.take, (x.T, indices), "transposed", {"axis": 0})


def sort(x, axis=-1, descending=False, stable=True):
    y = np.sort(x, axis=axis)
    return np.flip(y, axis=axis) if descending else y


def argsort(x, axis=-1, descending=False, stable=True):
    return np.argsort(-x if descending else x, axis=axis, stable=True)


for statics in ({}, {"axis": 0}, {"descending": True}):
    add("sort", sort, (x,), f"{statics}", statics)
    add("argsort", argsort, (x,), f"{statics}", statics)
ties = I([2.0, 1, 2, 0, 1])
add("nonzero", np.nonzero, (I([[0, 1], [2, 0]]),))
add("searchsorted", np.searchsorted, (I([1.0, 2, 3]), I([0.5, 2, 9])))
add("searchsorted", np.searchsorted, (I([1.0, 2, 3]), I([2.0])), "right", {"side": "right"})
add("unique_values", np.unique, (ties,))
add("unique_counts", lambda x: np.unique(x, return_counts=True), (ties,))
add("unique_inverse", lambda x: np.unique(x, return_inverse=True), (ties,))
add("unique_all", lambda x: np.unique(x, True, True, True), (ties,))
for dtype in ("float32", "float64", "complex128"):
    add("astype", lambda x, dtype, copy=True: x.astype(dtype), (x,), dtype, {"dtype": dtype},
        check=dtype != "float32", dtypes=())  # fmt: skip
add("astype", lambda x, dtype: x.astype(dtype), (integers("i", (3,)),), "integers", {"dtype": "f8"})

for a, b in (
    ((2, 3), (3, 4)), ((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((2, 2, 3), (3, 2)),
    ((2, 3), (2, 3, 2)), ((2, 1, 2, 3), (3, 3, 1)), ((2, 2, 3), (3,)), ((0, 3), (3, 2)),
    ((2, 0), (0, 2)),
):  # fmt: skip
    add("matmul", np.matmul, (draw("a", a), draw("b", b)), f"{a} {b}")
add("matmul", np.matmul, (draw("a", (3, 2)).T, draw("b", (6, 2))[::-2]), "strided")
add("matmul", np.matmul, (complexes, complexes.T * 1j), "complex")
add("matmul", np.matmul, (complexes, draw("b", (3, 2))), "complex and real")
add("matmul", np.matmul, (integers("a", (2, 3)), integers("b", (3, 2))), "integers")


def einsum(a, b, la, lb, out):
    return np.einsum(f"{la},{lb}->{out}", a, b)


for la, lb, out, a, b in (
    ("ij", "jk", "ik", (2, 3), (3, 2)), ("bij", "bjk", "kbi", (2, 2, 3), (2, 3, 2)),
    ("i", "j", "ji", (2,), (3,)), ("ij", "ij", "", (2, 3), (2, 3)),
    ("ijk", "jk", "ij", (2, 3, 2), (3, 2)),
):  # fmt: skip
    statics = {"la": la, "lb": lb, "out": out}
    add("einsum", einsum, (draw("a", a), draw("b", b)), f"{la},{lb}->{out}", statics)
