"""Reductions, running sums, softmax and triangles."""

import numpy as np

from samples.sample import Table, draw

TABLE = Table()
add = TABLE.add
I = np.array  # noqa: E741


def reduction(
    name, reference, low=-2.0, high=2.0, *, empty=True, complexes=False, axes=True, **flags
):
    """Samples over axes; `axes` says whether tuples of them are allowed."""
    x = draw(name, (2, 3, 2), low, high)
    for axis in (None, 0, -1, *(((0, 2), (-1, 1)) if axes else ())):
        for keepdims in (False, True):
            label = f"axis {axis}{', kept' if keepdims else ''}"
            add(name, reference, (x,), label, {"axis": axis, "keepdims": keepdims}, **flags)
    add(name, reference, (draw(name, (), low, high),), "0-d", **flags)
    add(name, reference, (draw(name, (1, 3), low, high),), "size 1", {"axis": 0}, **flags)
    add(name, reference, (x.transpose(2, 0, 1),), "transposed", {"axis": 1}, **flags)
    add(name, reference, (draw(name, (2, 6), low, high)[:, ::-2],), "strided", {"axis": 1}, **flags)
    add(name, reference, (np.zeros((0, 3)),), "empty result", {"axis": 1}, **flags)
    if empty:
        add(name, reference, (np.zeros((0, 3)),), "empty", **flags)
        add(name, reference, (np.zeros((0, 3)),), "empty axis", {"axis": 0}, **flags)
    if complexes:
        z = draw(name, (2, 3), 0.2, 1) + 1j * draw(name + "i", (2, 3), 0.2, 1)
        add(name, reference, (z,), "complex", {"axis": 1}, **flags)


reduction("sum", np.sum, complexes=True)
add("sum", np.sum, (draw("s", (3,)),), "dtype", {"dtype": np.complex128}, dtypes=())
add("sum", np.sum, (np.arange(6),), "integers")
reduction("mean", np.mean, complexes=True, empty=False)
reduction("prod", np.prod, complexes=True)
for label, x, gradient in (
    ("one zero", [2.0, 0, 3], [0.0, 6, 0]),
    ("two zeros", [0.0, 2, 0], [0.0, 0, 0]),
):
    add("prod", np.prod, (I(x),), label, gradients=(I(gradient),))
add("prod", np.prod, (I([[2.0, 0, 3], [0, 0, 4], [1, 2, 3]]),), "zeros", {"axis": 1})
reduction("max", np.max, empty=False)
reduction("min", np.min, empty=False)
ties = I([[1.0, 1, 0], [2, 2, 2], [0, 1, 0]])
add("max", np.max, (ties,), "ties", {"axis": 1}, check=False,
    gradients=(I([[0.5, 0.5, 0], [1 / 3] * 3, [0, 1, 0]]),))  # fmt: skip
add("min", np.min, (ties,), "ties of all", check=False,
    gradients=(I([[0, 0, 1 / 3], [0, 0, 0], [1 / 3, 0, 1 / 3]]),))  # fmt: skip
add("max", np.max, (I([0.0, np.inf, np.inf]),), "infinite ties", check=False,
    gradients=(I([0, 0.5, 0.5]),))  # fmt: skip
for name in ("argmax", "argmin"):
    reduction(name, getattr(np, name), empty=False, axes=False)
for name in ("any", "all"):
    reduction(name, getattr(np, name))
    add(name, getattr(np, name), (I([[True, False], [True, True]]),), "bools", {"axis": 1})
reduction("count_nonzero", np.count_nonzero, -1, 1)


def variance(x, axis=None, correction=0, keepdims=False):
    return np.var(x, axis=axis, ddof=correction, keepdims=keepdims)


def deviation(x, axis=None, correction=0, keepdims=False):
    return np.std(x, axis=axis, ddof=correction, keepdims=keepdims)


reduction("var", variance, empty=False, complexes=True)
add("var", variance, (draw("v", (2, 3)),), "correction", {"axis": 1, "correction": 1})
add("var", variance, (draw("v", (2, 3)),), "correction of all", {"correction": 1.5})
add("std", deviation, (draw("v", (2, 3)),), "correction", {"axis": 1, "correction": 1})
for axis in (None, 1, (0, 2)):
    for keepdims in (False, True):
        add("std", deviation, (draw("std", (2, 3, 2)),), f"axis {axis}, {keepdims}",
            {"axis": axis, "keepdims": keepdims})  # fmt: skip
add("std", deviation, (draw("std", (2, 3)) + 1j * draw("stdi", (2, 3)),), "complex", {"axis": 1})
add("std", deviation, (draw("std", (3, 2)).T,), "transposed", {"axis": 1})
add("std", deviation, (np.zeros((0, 3)),), "empty result", {"axis": 1})
add("std", deviation, (I([[2.0, 2, 2], [1, 1, 1]]),), "at 0", {"axis": 1}, check=False,
    gradients=(np.zeros((2, 3)),))  # fmt: skip

for include_initial in (False, True):
    for axis in (0, 1, -1):
        statics = {"axis": axis, "include_initial": include_initial}
        label = f"axis {axis}, {include_initial}"
        for name, reference in (
            ("cumulative_sum", np.cumulative_sum), ("cumulative_prod", np.cumulative_prod)
        ):  # fmt: skip
            add(name, reference, (draw(name, (2, 5, 2)),), label, statics)
for name, reference in (
    ("cumulative_sum", np.cumulative_sum), ("cumulative_prod", np.cumulative_prod)
):  # fmt: skip
    z = draw(name, (4,)) + 1j * draw(name + "i", (4,))
    add(name, reference, (z,), "complex")
    add(name, reference, (draw(name, (4,)),), "vector")
    add(name, reference, (draw(name, (3, 2)).T,), "transposed", {"axis": 1})
    add(name, reference, (np.zeros((2, 0)),), "empty axis", {"axis": 1})
    add(name, reference, (np.zeros((2, 0)),), "empty axis and initial",
        {"axis": 1, "include_initial": True})  # fmt: skip
    add(name, reference, (draw(name, (2, 1)),), "size 1", {"axis": 1})
zeros = I([[2.0, 0, 3, 4], [0, 2, 0, 5], [1, 2, 3, 0]])
add("cumulative_prod", np.cumulative_prod, (zeros,), "zeros", {"axis": 1})


def softmax(x, axis=-1):
    y = np.exp(x - x.max(axis=axis, keepdims=True))
    return y / y.sum(axis=axis, keepdims=True)


def log_softmax(x, axis=-1):
    return x - np.log(np.exp(x).sum(axis=axis, keepdims=True))


def logsumexp(x, axis=None, keepdims=False):
    with np.errstate(divide="ignore"):
        return np.log(np.exp(x).sum(axis=axis, keepdims=keepdims))


for name, reference in (("softmax", softmax), ("log_softmax", log_softmax)):
    for axis in (-1, 0, 1, (0, 2)):
        add(name, reference, (draw(name, (2, 3, 2)),), f"axis {axis}", {"axis": axis})
    add(name, reference, (draw(name, (4,)),), "vector")
    add(name, reference, (draw(name, (3, 2)).T,), "transposed", {"axis": 1})
    add(name, reference, (draw(name, (2, 6))[:, ::-2],), "strided")
    add(name, reference, (draw(name, (2, 1)),), "size 1")
    add(name, reference, (np.zeros((0, 3)),), "empty result")
add("softmax", softmax, (I([0.0, -np.inf, 0]),), "masked", check=False, gradients=(np.zeros(3),))
add("softmax", softmax, (I([1e4, 0, -1e4]),), "large", check=False, gradients=(np.zeros(3),))
reduction("logsumexp", logsumexp, empty=False)
add("logsumexp", logsumexp, (I([[-np.inf, -np.inf], [0, -np.inf]]),), "masked", {"axis": 1},
    check=False, gradients=(I([[0.0, 0], [1, 0]]),))  # fmt: skip
add("logsumexp", lambda x: x.max(), (I([1e4, 0, -1e4]),), "large", check=False,
    gradients=(I([1.0, 0, 0]),))  # fmt: skip

for name, reference in (("tril", np.tril), ("triu", np.triu)):
    for k in (0, 1, -1):
        add(name, reference, (draw(name, (3, 4)),), f"k {k}", {"k": k})
    add(name, reference, (draw(name, (2, 3, 3)),), "stack")
    add(name, reference, (draw(name, (3, 2)).T,), "transposed")
    add(name, reference, (np.zeros((0, 3)),), "empty")
    add(name, reference, (draw(name, (2, 2)) + 1j,), "complex")
