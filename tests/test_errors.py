"""Errors name the function that the user called, with the shapes, dtypes and values at fault."""

import inspect
import re

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu.nn import functional as F

v = ag.Variable(np.ones((3, 3)), requires_grad=True)
SPACES = {"": ag, "linalg.": ag.linalg, "fft.": ag.fft, "special.": ag.special, "nn.": F}
ARGUMENTS = {
    "arrays": [v, v],
    "operands": [v, v],
    **dict.fromkeys(("indices", "index"), np.array([0])),
    **dict.fromkeys(("repeats", "repetitions", "shift", "k", "kth", "n", "obj", "axis2"), 1),
    "q": 0.5,
    "indices_or_sections": 3,
    "condition": [True, False, True],
}
"""What the functions below take beside arrays."""


def functions_with_axes():
    for prefix, space in SPACES.items():
        for name in dir(space):
            function = getattr(space, name)
            if not inspect.isroutine(function) or name.startswith(("_", "tensor")):
                continue
            parameters = inspect.signature(function).parameters
            for key in ("axis", "axes", "axis1", "dim"):
                if key in parameters:
                    yield pytest.param(function, parameters, key, id=f"{prefix}{name}")
                    break


@pytest.mark.parametrize("axis", [7, -8])
@pytest.mark.parametrize(("function", "parameters", "key"), list(functions_with_axes()))
def test_axes_out_of_range(function, parameters, key, axis):
    positional, named = [], {}
    for p in parameters.values():
        if p.name == key:
            value = (axis,) if key == "axes" else axis
        elif p.default is p.empty and p.kind is not p.VAR_KEYWORD:
            value = ARGUMENTS.get(p.name, v)
        else:
            continue
        if p.kind is p.KEYWORD_ONLY or (p.name == key and p.kind is not p.POSITIONAL_ONLY):
            named[p.name] = value
        else:
            positional.append(value)
    if key == "axis1":
        positional, named = [v], {"axis1": axis, "axis2": 0}
    with pytest.raises((IndexError, ValueError), match=rf"^{function.__name__}\b") as caught:
        function(*positional, **named)
    assert re.search("axis|axes|dim", str(caught.value))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ag.sort(v, axis=4), r"^sort\(x: float64\[3, 3\], axis=4, .*: argsort\("),
        (lambda: np.average(v, axis=4), r"^average\(x: float64\[3, 3\], axis=4.*: mean\("),
        (lambda: np.cumsum(v, axis=4), r"^cumsum\(a: float64\[3, 3\], axis=4\): cumulative_sum"),
        (lambda: ag.hstack([v, v[0]]), r"^hstack\(arrays: \[float64\[3, 3\], float64\[3\]\]\)"),
        (lambda: F.softplus(None), r"^softplus"),
        (lambda: ag.dot(v, np.ones((2, 4, 5))), r"^dot\(a: float64\[3, 3\].*: tensordot: "),
        (lambda: F.prelu(v, v), r"^prelu: weight \[3, 3\] is neither"),
        (lambda: F.smooth_l1_loss(v, v[0]), r"^smooth_l1_loss\(.*: huber_loss: shapes differ"),
        (lambda: F.cosine_similarity(v, np.ones(4)), r"^cosine_similarity\(.*: broadcast_shapes: "),
        (lambda: ag.sum(v, axis=4), r"^sum\(x: float64\[3, 3\], axis=4"),
        (lambda: v + np.ones(4), r"^add\(a: float64\[3, 3\], b: float64\[4\]\)"),
        (
            lambda: ag.grad(lambda x: ag.ptp(x, axis=9))(np.ones(2)),
            r"^ptp\(x: float64\[2\], axis=9",
        ),
    ],
)
def test_composed_functions_name_what_was_called(call, message):
    with pytest.raises((IndexError, ValueError, TypeError), match=message):
        call()


def test_many_arrays_are_not_all_listed():
    with pytest.raises(ValueError, match=r"^vstack\(arrays: \[(float64\[3, 3\], ){4}\.\.\.\]\)"):
        ag.vstack([v] * 5 + [np.ones(2)])


def test_a_layer():
    bias = np.array(["a", "b", "c"])
    message = r"^batch_norm\(x: float64\[3, 3\], .*training=True.*dtype <U1"
    with pytest.raises(TypeError, match=message):
        F.batch_norm(v, None, None, bias=bias, training=True)


OTHER_DTYPES = {
    "object": np.array([1, 2, 3], object),
    "<U1": np.array(["a", "b", "c"]),
    "datetime64[D]": np.array(["2020-01-01"] * 3, "M8[D]"),
    "timedelta64[s]": np.array([1, 2, 3], "m8[s]"),
}


@pytest.mark.parametrize("dtype", OTHER_DTYPES)
@pytest.mark.parametrize(
    "use",
    [
        ag.Variable,
        ag.asarray,
        lambda x: v + x,
        lambda x: x * v,
        lambda x: np.maximum(v, x),
        lambda x: ag.stack([v[0], x]),
        lambda x: ag.where(v > 0, v, x),
        lambda x: v @ x,
    ],
)
def test_arrays_of_other_things_than_numbers(use, dtype):
    with pytest.raises(TypeError, match=re.escape(f"dtype {dtype}")):
        use(OTHER_DTYPES[dtype])


@pytest.mark.parametrize("dtype", [object, str, "M8[s]"])
def test_dtypes_of_other_things_than_numbers(dtype):
    for make in (lambda: v.astype(dtype), lambda: ag.zeros(2, dtype=dtype)):
        with pytest.raises(TypeError, match="expected numbers"):
            make()


def test_masked_arrays():
    masked = np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False])
    for use in (ag.Variable, lambda x: v + x):
        with pytest.raises(TypeError, match="would lose its mask"):
            use(masked)


@pytest.mark.parametrize(
    ("subscripts", "shapes", "message"),
    [
        ("ij,jk->ik", [(2, 3), (2, 3)], r"the label 'j' has the sizes 3 and 2"),
        ("ij", [(3,)], r"'ij' does not fit an operand with 1 axes"),
        ("i,j", [(3,)], "the subscripts are for 2 operands, 1 are given"),
        ("i->ii", [(3,)], "the result 'ii' has unknown or repeated labels"),
        ("i->j", [(3,)], "the result 'j' has unknown or repeated labels"),
        ("i?", [(3,)], "other characters than letters"),
        ("i.j", [(3, 3)], "other characters than letters"),
        ("ii->i", [(2, 3)], "the label 'i' has the sizes 2 and 3"),
        ("i...j->i", [(3,)], "fewer axes than labels"),
    ],
)
def test_einsum(subscripts, shapes, message):
    operands = [ag.ones(shape) for shape in shapes]
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        ag.einsum(subscripts, *operands)
    assert str(caught.value).startswith(f"einsum({subscripts!r}, float32{list(shapes[0])}")
