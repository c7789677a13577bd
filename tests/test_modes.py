"""Grad mode: guards, decorators, generators, coroutines, threads and tasks."""

import asyncio
import threading

import numpy as np
import pytest

import autograd_gpu as ag


def records():
    x = ag.Variable(np.ones(2), requires_grad=True)
    return (x * 2.0).requires_grad


def test_recording_is_on_by_default():
    assert ag.is_grad_enabled()
    assert records()


def test_guards_nest_and_restore():
    with ag.no_grad():
        assert not records()
        with ag.enable_grad():
            assert records()
            with ag.no_grad():
                assert not records()
            assert records()
        assert not records()
    assert records()


def test_guards_restore_after_an_error():
    with pytest.raises(KeyError), ag.no_grad():
        raise KeyError
    assert ag.is_grad_enabled()


def test_one_guard_object_can_be_entered_again():
    guard = ag.no_grad()
    with guard:
        with ag.enable_grad(), guard:
            assert not ag.is_grad_enabled()
        assert not ag.is_grad_enabled()
    assert ag.is_grad_enabled()


def test_set_grad_enabled_as_a_call_and_as_a_guard():
    ag.set_grad_enabled(False)
    try:
        assert not records()
        with ag.set_grad_enabled(True):
            assert records()
        assert not records()
    finally:
        ag.set_grad_enabled(True)
    assert records()


@pytest.mark.parametrize("decorator", [ag.no_grad, lambda: ag.set_grad_enabled(False)])
def test_decorators(decorator):
    @decorator()
    def evaluate(a, *, b):
        """Doc."""
        return records(), a + b

    assert evaluate(1, b=2) == (False, 3)
    assert evaluate.__name__ == "evaluate"
    assert evaluate.__doc__ == "Doc."
    assert ag.is_grad_enabled()


def test_a_decorated_function_may_call_itself():
    @ag.no_grad()
    def count(n):
        assert not ag.is_grad_enabled()
        return 0 if n == 0 else 1 + count(n - 1)

    assert count(5) == 5
    assert ag.is_grad_enabled()


def test_generators_do_not_leak_between_steps():
    log = []

    @ag.no_grad()
    def generate():
        log.append(ag.is_grad_enabled())
        got = yield 1
        log.append((got, ag.is_grad_enabled()))
        try:
            yield 2
        except ValueError:
            log.append(("caught", ag.is_grad_enabled()))
        try:
            yield 3
        finally:
            log.append(("closed", ag.is_grad_enabled()))

    steps = generate()
    assert next(steps) == 1
    assert ag.is_grad_enabled()
    assert steps.send("hello") == 2
    assert ag.is_grad_enabled()
    assert steps.throw(ValueError) == 3
    assert ag.is_grad_enabled()
    steps.close()
    assert ag.is_grad_enabled()
    assert log == [False, ("hello", False), ("caught", False), ("closed", False)]


def test_a_generators_return_value():
    @ag.no_grad()
    def generate():
        yield 1
        return "done"

    def outer():
        return (yield from generate())

    steps = outer()
    next(steps)
    with pytest.raises(StopIteration) as stop:
        next(steps)
    assert stop.value.value == "done"


def test_coroutines_do_not_leak_between_steps():
    @ag.no_grad()
    async def evaluate():
        first = ag.is_grad_enabled()
        await asyncio.sleep(0)
        return first, ag.is_grad_enabled()

    async def train():
        seen = []
        for _ in range(3):
            seen.append(ag.is_grad_enabled())
            await asyncio.sleep(0)
        return seen

    async def main():
        return await asyncio.gather(evaluate(), train(), evaluate())

    one, two, three = asyncio.run(main())
    assert one == (False, False)
    assert two == [True, True, True]
    assert three == (False, False)


def test_a_guard_in_one_task_does_not_reach_another():
    async def guarded():
        with ag.no_grad():
            await asyncio.sleep(0)
            return ag.is_grad_enabled()

    async def plain():
        await asyncio.sleep(0)
        return ag.is_grad_enabled()

    async def main():
        return await asyncio.gather(guarded(), plain())

    assert asyncio.run(main()) == [False, True]


def test_async_generators():
    @ag.no_grad()
    async def stream():
        for i in range(3):
            yield i, ag.is_grad_enabled()
            await asyncio.sleep(0)

    async def main():
        items = []
        async for item in stream():
            items.append((*item, ag.is_grad_enabled()))
        return items

    assert asyncio.run(main()) == [(i, False, True) for i in range(3)]


def test_modes_are_per_thread():
    seen = {}
    entered, leave = threading.Event(), threading.Event()

    def other():
        with ag.no_grad():
            entered.set()
            leave.wait(5)
            seen["inside"] = ag.is_grad_enabled()

    thread = threading.Thread(target=other)
    thread.start()
    entered.wait(5)
    seen["outside"] = ag.is_grad_enabled()
    leave.set()
    thread.join()
    assert seen == {"inside": False, "outside": True}


def test_a_shared_guard_in_two_threads():
    guard = ag.no_grad()
    barrier = threading.Barrier(2)
    results = []

    def work(mode):
        with ag.set_grad_enabled(mode):
            with guard:
                barrier.wait(5)
                results.append(ag.is_grad_enabled())
                barrier.wait(5)
            results.append(ag.is_grad_enabled() is mode)

    threads = [threading.Thread(target=work, args=(mode,)) for mode in (True, False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [False, False, True, True]


def test_updates_without_recording():
    w = ag.Variable(np.ones(3), requires_grad=True)
    (w * w).sum().backward()
    with ag.no_grad():
        w -= 0.5 * w.grad
    assert w.is_leaf
    assert w.requires_grad
    np.testing.assert_array_equal(w.value, np.zeros(3))


def test_a_backward_leaves_the_mode_alone():
    x = ag.Variable(np.ones(()), requires_grad=True)
    y = x * 2.0
    with ag.no_grad():
        y.backward()
        assert not ag.is_grad_enabled()
    assert ag.is_grad_enabled()


@pytest.mark.parametrize(
    "guard", [ag.no_grad, ag.enable_grad, ag.detect_anomaly, ag.nan_safe, ag.autocast]
)
def test_guards_decorate_without_parentheses(guard):
    @guard
    def bare(v):
        """Squares."""
        return guard.mode.get(), v * v

    @guard()
    def called(v):
        return guard.mode.get(), v * v

    before = guard.mode.get()
    v = ag.Variable(3.0, requires_grad=True)
    (mode, y), (same, z) = bare(v), called(v)
    assert mode == same == guard().value
    assert y.requires_grad == z.requires_grad == (guard is not ag.no_grad)
    assert guard.mode.get() == before
    assert (bare.__name__, bare.__doc__) == ("bare", "Squares.")


def test_a_bare_guard_decorates_generators_too():
    @ag.no_grad
    def steps():
        yield ag.is_grad_enabled()

    assert list(steps()) == [False]


@pytest.mark.parametrize("guard", [ag.set_grad_enabled, ag.use_backend])
def test_guards_that_need_an_argument_say_so(guard):
    with pytest.raises(TypeError, match="missing 1 required positional argument"):

        @guard
        def f():
            pass


def test_a_class_is_not_decorated():
    with pytest.raises(TypeError, match="no_grad decorates functions, not <class"):

        @ag.no_grad()
        class C:
            pass


def test_use_backend_decorates_and_restores_after_an_error():
    @ag.use_backend("numpy")
    def f(fail):
        if fail:
            raise KeyError(ag.get_backend())
        return ag.get_backend()

    before = ag.get_backend()
    assert f(False) == "numpy"
    with pytest.raises(KeyError, match="numpy"):
        f(True)
    assert ag.get_backend() == before
    with pytest.raises(ValueError, match="no backend|unknown|not"):
        ag.use_backend("nope")
