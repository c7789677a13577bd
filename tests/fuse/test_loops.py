"""fuse on NumPy: the compiled core runs the loops of NumPy, and leaves warnings to NumPy."""

import numpy as np
import pytest
from fused import close, numbers

import autograd_gpu as ag
from autograd_gpu.backends import numpy_fuse
from autograd_gpu.extension import extension

pytestmark = pytest.mark.skipif(extension is None, reason="there is no compiled core")

FUNCTIONS = {
    "arithmetic": lambda x, y: (x + y) * x - y / (2 + x * x),
    "exponentials": lambda x, y: ag.exp(-ag.abs(x)) + ag.log1p(y * y) + ag.tanh(x) * ag.exp2(y),
    "choices": lambda x, y: ag.where(x > y, x, 2.0) * ag.where(x <= 0.1, -1.0, y),
    "masks": lambda x, y: (x > 0) * y + ag.where((x < 0) | (y > 0.5), x, y),
    "bounds": lambda x, y: ag.clip(x, -0.5, 0.7) + ag.maximum(x, y) - ag.minimum(y, 0.25),
    "fills": lambda x, y: ag.ones_like(x) * y + ag.full_like(x, 2.5) - ag.zeros_like(y) * x,
    "powers": lambda x, y: ag.square(x) + ag.sqrt(1 + y * y) + (2 + ag.abs(x)) ** 1.5,
    "sigmoid": lambda x, y: ag.sigmoid(3 * x) * y,
    "casts": lambda x, y: ag.astype(x, "float64") * 0.1 + ag.astype(x > y, "float64"),
}


@pytest.fixture
def calls(monkeypatch):
    """Whether each tile was run by the core."""
    done = []

    class Spy:
        def __getattr__(self, name):
            return getattr(extension, name)

        def loops_run(self, *args):
            done.append(extension.loops_run(*args))
            return done[-1]

    monkeypatch.setattr(numpy_fuse, "extension", Spy())
    return done


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_those_of_numpy_to_the_last_bit(name, dtype, calls, monkeypatch):
    function = FUNCTIONS[name]
    for shape, others in (((5, 7001), (5, 7001)), ((300, 1000), (1000,)), ((40, 300), (40, 1))):
        x, y = (ag.Variable(numbers(s, i).astype(dtype)) for i, s in enumerate((shape, others)))
        fused = ag.fuse(function)
        calls.clear()
        got = fused(x, y)
        assert fused.reason is None
        assert calls
        assert all(calls)
        plain = ag.fuse(function)
        with monkeypatch.context() as patch:
            patch.setattr(numpy_fuse, "loops", lambda *args: None)
            calls.clear()
            want = plain(x, y)
            assert not calls
        np.testing.assert_array_equal(got.value, want.value)


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_and_gradients(axis, dtype, calls):
    function = lambda x, r: ag.sum(ag.exp(-x * x) * r, axis=axis)  # noqa: E731
    x = ag.Variable(numbers((700, 600)).astype(dtype), requires_grad=True)
    r = ag.Variable(numbers(600, 1).astype(dtype), requires_grad=True)
    fused = ag.fuse(function)
    results = []
    for f in (fused, function):
        y = f(x, r)
        g = ag.Variable(numbers(y.shape, 2).astype(dtype))
        results.append([y, *ag.gradients(y, [x, r], g)])
    assert all(calls)
    for got, want in zip(*results, strict=True):
        close(got, want, dtype)


def test_what_is_to_be_warned_of_is_left_to_numpy(calls):
    fused = ag.fuse(lambda x: ag.sum(ag.exp(x) - 1 / x))
    good, large, zero = np.ones(5000), np.full(5000, 1000.0), np.zeros(5000)
    for value, message in ((good, None), (large, "overflow"), (zero, "divide by zero")):
        x = ag.Variable(value)
        calls.clear()
        if message is None:
            fused(x)
        else:
            with pytest.warns(RuntimeWarning, match=message):
                fused(x)
            with np.errstate(all="raise"), pytest.raises(FloatingPointError, match=message):
                fused(x)
            with np.errstate(all="ignore"):
                assert not np.isfinite(fused(x).item())
        assert all(call is (message is None) for call in calls)
        assert calls
    tiny = ag.fuse(lambda x: ag.exp(x) * 2)(ag.Variable(np.full(5000, -745.0)))
    assert (tiny.value > 0).all()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: ag.astype(x, "float16") * x,
        lambda x: ag.round(x * 10, 1) + x,
        lambda x: x * np.float64(2),
        lambda x: ag.erf(x) * x,
    ],
)
def test_what_the_core_has_no_form_of(function):
    x = ag.Variable(numbers(5000).astype("f4"))
    fused = ag.fuse(function)
    close(fused(x).astype("float32"), function(x).astype("float32"), "float16")
    assert fused.reason is None


def test_layouts(calls):
    fused = ag.fuse(lambda x, y: ag.sin(x) * y)
    a = numbers((600, 800))
    for x in (a.T, a[::-1, ::2], a[:, 3:], a.astype(">f8"), a[:1], a[:, :1]):
        y = numbers(x.shape, 1)
        np.testing.assert_array_equal(fused(ag.Variable(x), ag.Variable(y)).value, np.sin(x) * y)
        assert fused.reason is None
    packed = np.zeros(5000, np.dtype([("pad", "u1"), ("x", "f8")]))
    packed["x"] = numbers(5000)
    x = packed["x"]  # not aligned
    np.testing.assert_array_equal(fused(ag.Variable(x), ag.Variable(x)).value, np.sin(x) * x)


def test_arguments_of_the_cores_functions_are_checked():
    with pytest.raises(TypeError, match="loops_program"):
        extension.loops_program(1)
    with pytest.raises((TypeError, ValueError)):
        extension.loops_run(None, [], [], [], 1, 1)
    assert (
        extension.loops_program(np.add, 1, (), (8, 8), 1, ((0, np.add, 999, 0, 0, 1),), ()) is None
    )
    add = np.add
    for op in ((0, add, 999, 0, 0, 1), (0, add, 0, 0, 0, 7), (0, add, 0, 0, 1), (9, add, 0, 0, 1)):
        assert extension.loops_program(add, 1, (), (8, 8), 1, (op,), ()) is None
