"""SGD's and Adam's steps in the compiled core are those of NumPy's calls, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from autograd_gpu.backends import numpy_steps
from autograd_gpu.extension import extension

pytestmark = pytest.mark.skipif(extension is None, reason="there is no compiled core here")

SGD = {"lr": 0.05, "momentum": 0.0, "dampening": 0.0, "weight_decay": 0.0}
SGD |= {"nesterov": False, "first": False}
ADAM = {"lr": 0.05, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.0}
ADAM |= {"decoupled": False, "step": 3}
STEPS = [
    ("sgd", SGD),
    ("sgd", SGD | {"weight_decay": 0.1}),
    ("sgd", SGD | {"momentum": 0.9}),
    ("sgd", SGD | {"momentum": 0.9, "first": True}),
    ("sgd", SGD | {"momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    ("sgd", SGD | {"momentum": 0.7, "nesterov": True, "weight_decay": 0.1}),
    ("adam", ADAM),
    ("adam", ADAM | {"weight_decay": 0.1}),
    ("adam", ADAM | {"weight_decay": 0.1, "decoupled": True}),
]


def numbers(shape, dtype, seed):
    """Of all sizes, with zeros of both signs, infinities and NaN among them."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) * 10.0 ** rng.integers(-20, 15, shape)
    x = np.asarray(x, dtype)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-42, np.finfo(dtype).max]
    for i, y in enumerate(special):
        x.reshape(-1)[(i + 1) * (seed + 2) : x.size : 101] = y
    return x


def rows(name, options, dtype, sizes):
    made = []
    for i, size in enumerate(sizes):
        row = [numbers(size, dtype, 7 * i + k) for k in range(4 if name == "adam" else 3)]
        if name == "adam":
            np.abs(row[3], row[3])
        elif not options["momentum"]:
            row[2] = None
        made.append(tuple(row))
    return made


def changed(name, given, options):
    with np.errstate(all="ignore"):
        getattr(numpy_steps, f"{name}_steps")(given, **options)
    found = [x for row in given for x in row if x is not None]
    for x in found:
        x[np.isnan(x)] = np.nan  # of which there are several, equal to nobody
    return [x.tobytes() for x in found]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "options"), STEPS)
def test_bits(monkeypatch, name, options, dtype):
    sizes = [(), (1,), (3, 5), (1000,), (33, 1001), (2 * 32_768 + 3,), (3 * 131_072 + 1,)]
    got = changed(name, rows(name, options, dtype, sizes), options)
    calls = []
    monkeypatch.setattr(numpy_steps, "extension", None)
    monkeypatch.setattr(np, "subtract", lambda *a, f=np.subtract: calls.append(0) or f(*a))
    want = changed(name, rows(name, options, dtype, sizes), options)
    assert calls
    for i, (a, b) in enumerate(zip(got, want, strict=True)):
        assert a == b, i


@pytest.mark.parametrize("dtype", ["float16", "complex64", "complex128"])
@pytest.mark.parametrize(("name", "options"), STEPS)
def test_dtypes_that_are_computed_in_others(monkeypatch, name, options, dtype):
    def made():
        given = [np.linspace(1, 2, 30 * 4).astype(dtype)[i::4].copy() for i in range(4)]
        if name == "sgd":
            given = [*given[:2], given[2] if options["momentum"] else None]
        return [tuple(given)]

    got = changed(name, made(), options)
    monkeypatch.setattr(numpy_steps, "extension", None)
    assert got == changed(name, made(), options)


def plain(size=6):
    return [np.linspace(1, 2, size, dtype="float32") + i for i in range(4)]


def call(row):
    """What is left of the row, and what became of its parameter."""
    before = row[0].copy() if isinstance(row[0], np.ndarray) else None
    left = extension.adam_steps([row], 0.9, 0.1, 0.99, 0.01, 1e-8, 0.1, 0.0, 1.0)
    is_changed = before is not None and before.tobytes() != row[0].tobytes()
    return left, is_changed


def test_usual_rows_are_taken():
    left, is_changed = call(tuple(plain()))
    assert left == []
    assert is_changed


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize(
    "other",
    [
        lambda x: np.repeat(x, 2)[::2],
        lambda x: x.astype("float64"),
        lambda x: x.astype(">f4"),
        lambda x: x[:5].copy(),
        lambda x: np.frombuffer(b"\0" + x.tobytes(), "u1")[1:].view("f4"),
        lambda x: x.view(type("Other", (np.ndarray,), {})),
        lambda x: x.tolist(),
        lambda x: None,
    ],
    ids=["strided", "double", "swapped", "shorter", "unaligned", "subclass", "list", "none"],
)
def test_other_rows_are_left(place, other):
    given = plain()
    given[place] = other(given[place])
    row = tuple(given)
    left, is_changed = call(row)
    assert left[0] is row
    assert len(left) == 1
    assert not is_changed


@pytest.mark.parametrize(("i", "k"), [(0, 1), (0, 3), (2, 1), (2, 3)])
def test_rows_that_share_memory_are_left(i, k):
    given, memory = plain(), np.arange(8, dtype="float32")
    given[i], given[k] = memory[:6], memory[2:]
    assert call(tuple(given)) == ([tuple(given)], False)
    given[i], given[k] = memory[:4], memory[4:]
    assert call(tuple(x[:4] for x in given))[0] == []


@pytest.mark.parametrize("place", [0, 2, 3])
def test_rows_that_are_read_only_are_left(place):
    given = plain()
    given[place].flags.writeable = False
    assert call(tuple(given)) == ([tuple(given)], False)


def test_large_rows_are_left_to_blocks():
    given = tuple(plain(2**17 + 1))
    left, is_changed = call(given)
    assert left[0] is given
    assert not is_changed


def test_wrong_calls():
    for step, count in ((extension.sgd_steps, 6), (extension.adam_steps, 8)):
        for args in ((), ([],), ([], *[1.0] * (count - 1)), (tuple(plain()), *[1.0] * count)):
            with pytest.raises(TypeError, match=f"a list of rows and {count} numbers"):
                step(*args)
        with pytest.raises(TypeError):
            step([], *["x"] * count)
        odd = [3, (), tuple(plain())[:1], tuple(plain()) * 2]
        assert step(odd, *[1.0] * count) == odd
