"""What a replay asks about Variables, by the compiled core and in Python."""

from __future__ import annotations

import threading
from weakref import ref

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu.backend import load_backend
from autograd_gpu.backends import numpy_guards
from autograd_gpu.backends.numpy_guards import Guards, Leaf
from autograd_gpu.core import core
from autograd_gpu.slots import watched
from autograd_gpu.variable import Variable

needs_core = pytest.mark.skipif(core is None, reason="there is no compiled core here")
WAYS = [pytest.param("core", marks=needs_core), "python"]


def variables(count=3):
    return [ag.Variable(np.ones(i + 1), requires_grad=i > 0) for i in range(count)]


@pytest.fixture(params=WAYS)
def ask(request, monkeypatch):
    """Makes a function of Variables that says whether a replay of them may go on, and links."""
    if request.param == "python":
        monkeypatch.setattr(numpy_guards, "extension", None)

    def make(found):
        linked = []

        def link():
            linked.append(True)
            guards.references[:] = [ref(x.value) for x in found]
            return all(x.value.shape == shape for x, shape in zip(found, shapes, strict=True))

        scope = {}

        def name(x, prefix):
            scope[f"{prefix}{id(x)}"] = x
            return f"{prefix}{id(x)}"

        shapes = [x.value.shape for x in found]
        guards = Guards([Leaf.of(x) for x in found], found, link, name)
        body = "\n    ".join(["def run():", *guards.lines(), "return True"])
        assert ("unchanged" in str(scope)) == (request.param == "core")
        exec(body, scope)
        return scope["run"], linked

    return make


def test_links_once_and_when_an_array_is_replaced(ask):
    found = variables()
    run, linked = ask(found)
    assert run()
    assert run()
    assert len(linked) == 1
    found[2].value = found[2].value + 1
    assert run()
    assert run()
    assert len(linked) == 2
    found[1].value = np.ones(5)
    assert not run()


def test_an_array_that_is_gone(ask):
    found = variables()
    run, linked = ask(found)
    assert run()
    found[0].value = None
    found[0].value = np.ones(1)  # perhaps where the other one was
    assert run()
    assert len(linked) == 2


@pytest.mark.parametrize("place", [0, 1])
def test_requires_grad(ask, place):
    found = variables()
    run, _ = ask(found)
    assert run()
    found[place].requires_grad = not found[place].requires_grad
    assert not run()
    found[place].requires_grad = not found[place].requires_grad
    assert run()


@pytest.mark.parametrize("kind", ["register_hook", "register_post_accumulate_grad_hook"])
def test_hooks(ask, kind):
    found = variables()
    run, _ = ask(found)
    hook = getattr(found[2], kind)(lambda *args: None)
    assert not run()
    with_hook, _ = ask(found)
    assert with_hook()
    hook.remove()
    assert run()
    assert not with_hook()


def test_while_another_thread_records(ask):
    found = variables()
    run, linked = ask(found)
    assert run()
    begun, done, answers = threading.Event(), threading.Event(), []

    def record():
        recorder = load_backend("numpy").recorder()

        def step(given):
            with watched(recorder):
                kept = [x.value for x in found]
                begun.set()
                done.wait(10)
                del kept
            return []

        recorder.record(step, [])

    thread = threading.Thread(target=record)
    thread.start()
    assert begun.wait(10)
    answers = [run(), run()]
    done.set()
    thread.join()
    assert answers == [True, True]
    assert len(linked) == 1


@needs_core
def test_unchanged_refuses_what_it_does_not_know():
    x = ag.Variable(1.0)
    assert core.unchanged((), (), (), []) == numpy_guards.SAME
    assert core.unchanged((3,), (), (), []) is None
    assert core.unchanged((), (None,), (), []) is None
    assert core.unchanged((), (), ("x",), [None]) is None
    assert core.unchanged((), (), (x,), [None]) == 1
    assert core.unchanged((x,), (), (), []) == 0
    never_set = Variable.__new__(Variable)
    assert core.unchanged((), (never_set,), (), []) == numpy_guards.SAME
    assert core.unchanged((never_set,), (), (), []) == 0
    for wrong in ([(), (), (), [None]], [(), (), [], []], [()]):
        with pytest.raises(TypeError, match="unchanged takes"):
            core.unchanged(*wrong)
