"""compile: which calls share a recording, what is refused and why, and what errors leave behind."""

from __future__ import annotations

import gc
import pickle
import threading
import weakref
from collections import namedtuple
from itertools import pairwise

import numpy as np
import pytest
from compiled_steps import bits, mlp, numbers
from operands import leaf

import autograd_gpu as ag
from autograd_gpu import nn, optim
from autograd_gpu.backends.traced import Traced
from autograd_gpu.nn import functional as F

CALLS = 7
X = [numbers(i, 4, 5) for i in range(CALLS)]


def compare(step, calls=None):
    """Call a function eagerly and compiled; the compiled one, after comparing the results."""
    compiled = ag.compile(step)
    for args in [(x,) for x in X] if calls is None else calls:
        expected = bits(step(*args))
        assert bits(compiled(*args)) == expected
    return compiled


def refused(step, words, calls=None):
    compiled = compare(step, calls)
    assert compiled.replays == 0
    assert words in compiled.reason


# Functions of arrays ------------------------------------------------------------------------------

W = numbers(9, 5, 3)


def scalar(x):
    return ag.sum(ag.tanh(x @ W) ** 2)


@pytest.mark.parametrize(
    "function",
    [
        ag.grad(scalar),
        ag.value_and_grad(scalar),
        lambda x: ag.hvp(scalar)(x, x[::-1]),
        lambda x: ag.hessian(lambda z: ag.sum(ag.sin(z) * z))(x[0]),
        lambda x: ag.jacobian(lambda z: ag.tanh(z @ W))(x[0]),
        lambda x: ag.jvp(lambda z: ag.tanh(z @ W), (x,), (x * x,)),
        lambda x: ag.vjp(lambda z: ag.tanh(z @ W), x)[1](x[:, :3]),
        ag.grad(lambda x: ag.sum(ag.checkpoint(lambda z: ag.exp(ag.sin(z)), x))),
        ag.grad(lambda x: ag.sum(ag.fuse(lambda z: ag.exp(ag.sin(z)) * z)(x))),
    ],
)
def test_derivatives_are_replayed(function):
    assert compare(function).replays == CALLS - 3


def test_variables_among_the_arguments_get_their_gradients():
    def step(x, y):
        loss = (x * y).sum()
        loss.backward()
        return loss

    compiled = ag.compile(step)
    for x in X:
        a, b = (ag.Variable(x.copy(), requires_grad=True) for _ in range(2))
        y = ag.Variable(x * 2)
        expected = step(a, y)
        assert bits(compiled(b, y)) == bits(expected)
        assert bits(b.grad) == bits(a.grad)
        assert y.grad is None
    assert compiled.replays == CALLS - 3


def test_arguments_and_results_nest_and_may_be_passed_through():
    pair = namedtuple("pair", "a b")

    def step(tree, *, scale):
        x = tree["x"][0]
        doubled = x * scale
        return {"same": x, "row": x[0], "pair": pair(doubled, doubled), "rest": [None, "name", 3]}

    compiled = ag.compile(step)
    for x in X:
        result = compiled({"x": (x, 1)}, scale=2.0)
    assert compiled.replays == CALLS - 3
    assert result["same"] is X[-1]
    assert result["row"].base is X[-1]
    assert result["pair"].a is result["pair"].b
    assert result["rest"] == [None, "name", 3]
    np.testing.assert_array_equal(result["pair"].a, X[-1] * 2)


def test_results_are_the_callers_own():
    constant = np.ones(3)
    w = ag.Variable([1.0, 2.0])

    def step(x):
        y = ag.Variable(x) + 1
        return y, y[0], ag.zeros(3), constant, w, w.value, w.value[1:]

    compiled = ag.compile(step)
    results = [compiled(x) for x in X]
    assert compiled.replays == CALLS - 3
    for one, other in pairwise(results):
        for a, b in list(zip(one, other, strict=True))[:3]:
            assert not np.shares_memory(a.value, b.value)
    y, first, zeros, same, variable, array, view = results[-1]
    assert np.shares_memory(y.value, first.value)  # as a step's own results do
    zeros.value[0] = 7
    assert compiled(X[0])[2].tolist() == [0, 0, 0]
    assert same is constant
    assert variable is w
    assert array is w.value
    assert view.base is w.value


def test_nothing_is_added_into_arrays_from_outside():
    """A gradient that begins with one is summed in other memory."""

    def cubes(x):
        y = x - ag.mean(x)
        return ag.sum(y * y * y)

    v = np.random.default_rng(0).standard_normal((3, 3))
    before = v.copy()
    compiled = ag.compile(lambda x: ag.hvp(cubes)(x, v))
    given = ag.compile(lambda x, v: ag.hvp(cubes)(x, v))
    for i in range(CALLS):
        x = np.random.default_rng(i).uniform(-1, 1, (3, 3))
        expected = ag.hvp(cubes)(x, before.copy()).tobytes()
        assert compiled(x).tobytes() == given(x, v).tobytes() == expected
        assert v.tobytes() == before.tobytes()
    assert compiled.replays == given.replays == CALLS - 3


def test_an_array_from_outside_is_read_where_it_is():
    scale = np.ones(5, np.float32)
    compiled = ag.compile(lambda x: ag.Variable(x) * scale)
    for i, x in enumerate(X):
        scale[...] = i
        np.testing.assert_array_equal(compiled(x).value, x * i)
    assert compiled.replays == CALLS - 3


@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_that_threads_share(threads):
    x, before = numbers(0, 300, 300), ag.get_num_threads()
    ag.set_num_threads(threads)
    try:
        compiled = compare(ag.grad(lambda z: ag.sum(F.gelu(z))), [(x * i,) for i in range(6)])
    finally:
        ag.set_num_threads(before)
    assert compiled.replays == 3


def test_random_numbers_go_on():
    own = ag.Generator(5)

    def step(x):
        return F.dropout(x, 0.5), F.dropout(x, 0.3, generator=own)

    ag.manual_seed(2)
    expected = [bits(step(X[0])) for _ in range(CALLS)]
    after = own.next_key(), ag.manual_seed(2).next_key()
    own.manual_seed(5)
    ag.manual_seed(2)
    compiled = ag.compile(step)
    assert [bits(compiled(X[0])) for _ in range(CALLS)] == expected
    assert compiled.replays == CALLS - 3
    assert own.next_key() == after[0]
    ag.manual_seed(2)  # and are those of a new seed
    own.manual_seed(5)
    assert bits(compiled(X[0])) == expected[0]


# Signatures ---------------------------------------------------------------------------------------


def test_other_kinds_of_arguments_are_recorded_anew():
    compiled = ag.compile(lambda x, k=1: x * k)
    kinds = [
        (X[0],),
        (X[0][:2],),
        (X[0].T,),
        (X[0].astype("float64"),),
        (X[0], 2),
        (X[0], 2.0),
        (X[0], True),
        (X[0], 0.0),
        (X[0], -0.0),
    ]
    for _ in range(5):
        for args in kinds:
            expected = args[0] * (args[1] if len(args) > 1 else 1)
            assert bits(compiled(*args)) == bits(expected)
    assert compiled.replays == 2 * len(kinds)
    assert repr(compiled).endswith(f"{len(kinds)} recorded, 18 of 45 calls replayed>")


def test_modes_are_part_of_the_signature():
    w = ag.Variable([1.0, 2.0], requires_grad=True)

    def step(x):
        y = ag.matmul(w, x)
        return y.detach(), ag.Variable(1.0) + 1

    compiled = ag.compile(step)
    x = np.ones((2, 3), np.float32)
    dtypes = []
    for _ in range(5):
        with ag.autocast("float16"):
            dtypes.append(str(compiled(x)[0].dtype))
        dtypes.append(str(compiled(x)[0].dtype))
        ag.set_default_dtype("float64")
        try:
            dtypes.append(str(compiled(x)[1].dtype))
        finally:
            ag.set_default_dtype("float32")
    assert dtypes == ["float16", "float32", "float64"] * 5
    assert compiled.replays == 6


def test_anomaly_mode_runs_eagerly():
    compiled = compare(lambda x: x * 2)
    with ag.detect_anomaly():
        compiled(X[0])
    assert "detect_anomaly" in compiled.reason
    compiled(X[0])
    assert compiled.reason is None


def test_reset_forgets_and_many_signatures_are_forgotten():
    compiled = compare(lambda x: x * 2)
    assert compiled.replays == CALLS - 3
    compiled.reset()
    compiled(X[0])
    assert compiled.replays == CALLS - 3
    counting = ag.compile(lambda x, i: x * i)
    for i in range(200):
        counting(X[0], i)
    assert len(counting._programs) <= 64


def test_a_method_is_compiled_for_each_object():
    class Model:
        def __init__(self, factor):
            self.factor = factor

        @ag.compile
        def double(self, x):
            return x * self.factor

    for model in (Model(2), Model(3)):
        for x in X:
            np.testing.assert_array_equal(model.double(x), x * model.factor)
    assert Model.double.replays == 2 * (CALLS - 3)
    assert Model.double.__name__ == "double"


# What can't be replayed ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (lambda x: ag.sum(x).item(), "item()"),
        (lambda x: float(ag.sum(x)), "float()"),
        (lambda x: x * 2 if ag.sum(x) > 0 else x, "bool()"),
        (lambda x: x[: int(ag.argmax(x[0]))], "int()"),
        (lambda x: ag.Variable(x)[ag.Variable(x) > 0], "with a mask"),
        (lambda x: ag.Variable(np.asarray(x)) * 2, "np.asarray"),
        (lambda x: ag.Variable(np.unique(x)), "numpy.unique"),
        (lambda x: ag.Variable(x).numpy(), "to the host"),
        (lambda x: str(ag.Variable(x)), "repr()"),
        (lambda x: x.tolist(), "tolist()"),
        (lambda x: ag.Variable(x, requires_grad=True) * 2, "still to be run backward"),
        (lambda x: x.sort() or x, "that it is given"),
    ],
)  # fmt: skip
def test_what_looks_at_values_runs_eagerly(step, words):
    refused(step, words, [(x.copy(),) for x in X])


def in_another_thread(x):
    found = []
    thread = threading.Thread(target=lambda: found.append((ag.Variable(x) * 2).sum()))
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (lambda x: np.array(ag.Variable(x)) * 2, "np.asarray"),
        (lambda x: np.array(ag.Variable(x), "float64", copy=True), "np.asarray"),
        (lambda x: pickle.loads(pickle.dumps((ag.Variable(x) * 2).value)), "pickles"),
        (lambda x: bytes((ag.Variable(x) * 2).value.data).hex(), "uses .data"),
        (in_another_thread, "another thread"),
        (lambda x: (in_another_thread(X[0]) * x).detach(), "another thread"),
    ],
    ids=["array", "cast", "pickle", "memory", "thread", "thread within"],
)
def test_what_gets_at_arrays_in_other_ways_runs_eagerly(step, words):
    refused(step, words)


def test_an_argument_with_a_graph():
    refused(lambda x: x * 2, "x.detach()", [(ag.Variable(x, requires_grad=True) * 1,) for x in X])


def test_an_unhashable_argument_and_another_kind_of_array():
    refused(lambda x, s: x * len(s), "neither an array nor hashable", [(x, {1, 2}) for x in X])
    refused(lambda x: x, "MaskedArray", [(np.ma.array(x),) for x in X])


def test_numbers_that_change_from_call_to_call():
    count = iter(range(1, 100))
    compiled = ag.compile(lambda x: x * next(count))
    for i in range(12):
        np.testing.assert_array_equal(compiled(X[0]), X[0] * (i + 1))
    assert "gets" in compiled.reason
    assert "in a later one" in compiled.reason


def test_python_values_among_the_results():
    assert compare(lambda x: (x.sum(), x[0, 0], 3, "name", None, (1, 2.5))).replays == CALLS - 3
    count = iter(range(100))
    compiled = ag.compile(lambda x: next(count))
    assert [compiled(X[0]) for _ in range(12)] == list(range(12))
    assert "it returns 8 in one call and 9 in a later one" in compiled.reason
    refused = ag.compile(lambda x: (i for i in range(3)))
    assert [list(refused(X[0])) for _ in range(5)] == [[0, 1, 2]] * 5
    assert "generator" in refused.reason


def test_numpys_random_numbers():
    rng, same = np.random.default_rng(0), np.random.default_rng(0)
    compiled = ag.compile(lambda x: ag.Variable(x) + rng.standard_normal(5))
    for _ in range(12):
        expected = X[0] + same.standard_normal(5)
        np.testing.assert_array_equal(compiled(X[0]).value, expected)
    assert "it changes rng" in compiled.reason


def test_arrays_that_only_numpy_changes():
    def before(x, total):
        total *= 0.5  # no array of the step in it
        total += x[0]
        return x

    def between(x, total):
        total += x[0]
        total *= 0.5
        total += x[1]
        return x

    def after(x, total):
        total += x[0]
        total *= 0.5
        return x

    for step in (before, between, after):
        for variable in (False, True):
            totals = np.zeros(5, np.float32), np.zeros(5, np.float32)
            held = ag.Variable(totals[0])
            used = (lambda held=held: held.value) if variable else (lambda totals=totals: totals[0])

            def run(x, step=step, used=used, total=totals[0]):
                return step(x, total) + used() * 0

            compiled = ag.compile(run)
            for x in X:
                compiled(x)
                step(x, totals[1])
                assert bits(totals[0]) == bits(totals[1])
            assert "NumPy alone" in compiled.reason


def test_arrays_from_outside_that_the_step_changes():
    totals = np.zeros(5, np.float32), np.zeros(5, np.float32)

    def step(x, total):
        np.multiply(total, 0.5 + 0 * x[0], out=total)
        total += x[1]
        total[1:3] = x[2, :2]
        return total.copy()

    compiled = ag.compile(lambda x: step(x, totals[0]))
    for x in X:
        assert bits(compiled(x)) == bits(step(x, totals[1]))
    assert compiled.reason is None or "np.asarray" in compiled.reason
    assert bits(totals[0]) == bits(totals[1])

    def in_place(x, total):
        np.multiply(total, 0.5 + 0 * x[0], out=total)
        total += x[1]
        return x

    compiled = ag.compile(lambda x: in_place(x, totals[0]))
    for x in X:
        compiled(x)
        in_place(x, totals[1])
        assert bits(totals[0]) == bits(totals[1])
    assert compiled.replays == CALLS - 3


def test_what_is_kept_outside_of_the_step():
    for make in (lambda x: ag.Variable(x) * 2, lambda x: x * 2):
        kept = []
        compiled = ag.compile(lambda x, make=make, kept=kept: kept.append(make(x)))
        for x in X:
            compiled(x)
        assert "return it" in compiled.reason
        for x, y in zip(X, kept, strict=True):
            assert not isinstance(y, Traced)
            np.testing.assert_array_equal(np.asarray(getattr(y, "value", y)), x * 2)


def test_a_graph_that_is_left_behind():
    w = ag.Variable([1.0, 2.0], requires_grad=True)
    y = ag.Variable([0.0, 0.0])

    def step(x):
        nonlocal y
        y = ag.Variable([0.0, 0.0])
        y += w * x
        return x

    compiled = ag.compile(step)
    for _ in range(4):
        compiled(np.ones(2, np.float32))
    assert compiled.replays == 0
    assert compiled.reason is not None
    y.sum().backward()
    assert w.grad.tolist() == [1.0, 1.0]


def test_a_seed_that_is_set_within():
    def step(x):
        ag.manual_seed(1)
        return F.dropout(x, 0.5)

    refused(step, "random generator")


# Errors and threads -------------------------------------------------------------------------------


def test_an_error_leaves_what_an_eager_one_leaves():
    states = []
    for compiled in (False, True):
        ag.manual_seed(0)
        model = nn.Sequential(nn.Embedding(5, 4), nn.Flatten(), nn.Linear(12, 1))
        optimiser = optim.Adam(model.parameters())

        def step(tokens, model=model, optimiser=optimiser):
            optimiser.zero_grad()
            loss = model(tokens).sum()
            loss.backward()
            optimiser.step()
            return loss

        run = ag.compile(step) if compiled else step
        good, bad = np.array([[0, 1, 2]]), np.array([[0, 1, 7]])
        found = []
        for i in range(8):
            if i in (0, 2, 5):
                with pytest.raises(IndexError, match="outside"):
                    run(bad)
            found.append(bits([run(good), [p.grad for p in model.parameters()]]))
        found.append(bits([model.state_dict(), optimiser.state_dict()]))
        states.append(found)
    assert states[0] == states[1]
    assert run.replays > 3
    replays = run.replays
    with pytest.raises(IndexError, match=r"embedding\(.*7 is outside"):
        run(bad)
    assert run.replays == replays


def test_an_error_after_the_first_effect_is_raised_in_the_replay():
    w = leaf([1.0, 2.0])

    @ag.compile
    def step(tokens):
        (w * w).sum().backward()
        return F.embedding(tokens, w.detach().reshape((2, 1)))

    for _ in range(5):
        step(np.array([0, 1]))
    with pytest.raises(IndexError, match="2 is outside") as info:
        step(np.array([0, 2]))
    assert "replay" in info.value.__notes__[0]
    np.testing.assert_array_equal(w.grad, [12.0, 24.0])


def test_an_error_that_the_step_goes_on_from():
    def step(x):
        try:
            return ag.linalg.cholesky(x).detach()
        except np.linalg.LinAlgError:
            return (x * 2).detach()

    a = np.eye(2)
    refused(step, "goes on from", [(ag.Variable(x),) for x in (a, -a, -a, -a, a, -a, a)])


def test_an_error_in_the_function_while_it_is_recorded():
    w = ag.Variable(np.ones(3), requires_grad=True)
    fail = [False]

    def step(x):
        y = (w * x).sum()
        y.backward()
        if fail[0]:
            raise RuntimeError("on purpose")
        return y

    compiled = ag.compile(step)
    compiled(np.ones(3))
    fail[0] = True
    with pytest.raises(RuntimeError, match="on purpose"):
        compiled(np.ones(3))
    fail[0] = False
    assert type(w.value) is np.ndarray
    assert w.grad.tolist() == [2.0, 2.0, 2.0]
    assert type(ag.Variable.__dict__["value"]).__name__ == "member_descriptor"
    for i in range(5):
        compiled(np.ones(3))
        assert w.grad.tolist() == [3.0 + i] * 3
    assert compiled.replays > 0


def test_floating_point_errors_that_numpy_raises():
    def step(x):
        with np.errstate(divide="raise"):
            return (1 / x).detach()

    refused(step, "np.errstate", [(ag.Variable(x),) for x in X])
    compiled = ag.compile(step)
    for x in X:
        compiled(ag.Variable(x))
    with pytest.raises(FloatingPointError):
        compiled(ag.Variable(X[0] * 0))


def test_a_compiled_function_within_another_and_within_itself():
    inner = ag.compile(lambda x: x * 2)

    def step(x, depth):
        return inner(x) + 1 if not depth else outer(x, depth - 1)

    outer = ag.compile(step)
    for x in X:
        np.testing.assert_array_equal(outer(x, 2), x * 2 + 1)
    assert outer.replays == CALLS - 3


def test_threads_share_a_compiled_function():
    model = mlp().eval()
    compiled = ag.compile(lambda x: model(x).detach())
    other = ag.compile(lambda x: model(x * 2).detach())
    expected = [bits(model(x)) for x in X], [bits(model(x * 2)) for x in X]
    wrong = []

    def work(function, wanted):
        for _ in range(20):
            for x, y in zip(X, wanted, strict=True):
                if bits(function(x)) != y:
                    wrong.append(x)

    jobs = [(compiled, expected[0]), (other, expected[1]), (lambda x: model(x), expected[0])] * 2
    threads = [threading.Thread(target=work, args=job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert compiled.replays == 2 * 20 * CALLS - 3


def test_a_recording_does_not_keep_what_a_parameter_held():
    w = ag.Variable(np.ones(3), requires_grad=True)
    compiled = ag.compile(lambda x: (w * x).detach())
    for _ in range(5):
        compiled(np.ones(3))
    held = weakref.ref(w.value)
    w.value = np.zeros(3)
    gc.collect()
    assert held() is None
    assert compiled(np.ones(3)).tolist() == [0, 0, 0]
