"""The compiled core: the same values, graphs and errors as the Python functions that it stands for,
and no object kept or lost."""

from __future__ import annotations

import ctypes
import gc
import inspect
import os
import pickle
import subprocess
import sys
import tracemalloc
import weakref

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu.backend import NAMESPACES
from autograd_gpu.core import core
from autograd_gpu.extension import loaded
from autograd_gpu.primitive import PRIMITIVES

needs_core = pytest.mark.skipif(
    core is None, reason="the compiled core is not built, or switched off"
)


def leaf(*shape, dtype="float32"):
    x = np.arange(1, 1 + np.prod(shape, dtype=int), dtype=dtype).reshape(shape)
    return ag.Variable(x, requires_grad=True)


def outcome(function, *args, **kwargs):
    """What a call gives, in a form that compares."""
    try:
        y = function(*args, **kwargs)
    except Exception as error:
        return type(error), str(error), getattr(error, "__notes__", [])
    if not isinstance(y, ag.Variable):
        return y
    node = y.grad_fn
    saved = []
    for name in type(node).__slots__ if node is not None else ():
        s = getattr(node, name, "not kept")
        saved.append((name, type(s), s.tolist() if isinstance(s, np.ndarray) else s))
    return (
        type(y.value), y.dtype, y.shape, y.value.tolist(), y.requires_grad, y.name, y.grad,
        type(node), node and (node.shape, node.dtype, node.hooks), saved,
        node and [type(edge) for edge in node.edges],
    )  # fmt: skip


class Sub(ag.Variable):
    """A Variable of a user's own class."""


class Foreign:
    """Of no known type."""


RESULT = leaf(2, 3) * 2
OPERANDS = [
    leaf(2, 3),
    leaf(3, dtype="float64"),
    leaf(4),
    leaf(),
    RESULT,
    ag.Variable(np.ones((2, 3), "float32")),
    ag.Variable(np.arange(3)),
    Sub(np.ones(3, "float32"), requires_grad=True),
    np.ones((2, 3)),
    np.float32(2),
    np.array(["a"]),
    np.array([None]),
    [1.0, 2.0, 3.0],
    2,
    2.5,
    True,
    1j,
    None,
    "text",
    Foreign(),
]


@needs_core
@pytest.mark.parametrize(
    "name", ["add", "subtract", "multiply", "divide", "matmul", "equal", "hypot"]
)
@pytest.mark.parametrize("recorded", [True, False])
def test_binary_ops(name, recorded):
    compiled = PRIMITIVES[name]
    with ag.set_grad_enabled(recorded):
        for a in OPERANDS:
            for b in OPERANDS:
                for fast in (compiled.op, compiled.operator, compiled.reflected):
                    assert outcome(fast, a, b) == outcome(fast.python, a, b)


@needs_core
@pytest.mark.parametrize("name", ["exp", "negative", "square", "relu", "sum", "isfinite", "log"])
def test_unary_ops(name):
    op = PRIMITIVES[name].op
    for a in OPERANDS:
        assert outcome(op, a) == outcome(op.python, a)


@needs_core
def test_parameters_by_position_and_by_name():
    x = leaf(2, 3)
    op = PRIMITIVES["sum"].op
    calls = [
        ((), {}),
        ((x,), {"axis": 1}),
        ((x, 1), {}),
        ((x, 1, None, True), {}),
        ((x,), {"keepdims": True, "axis": (0, 1)}),
        ((x, 1), {"axis": 1}),
        ((x,), {"axes": 1}),
        ((x, 1, None, True, 5), {}),
        ((), {"x": x}),
        ((x,), {"axis": 7}),
        ((x,), {"".join(["ax", "is"]): 0}),  # another object than the name in the source
    ]
    for args, kwargs in calls:
        assert outcome(op, *args, **kwargs) == outcome(op.python, *args, **kwargs)


@needs_core
def test_operands_that_may_be_left_out():
    for primitive in PRIMITIVES.values():
        if primitive.name == "linear":
            x, w, b = leaf(2, 3), leaf(4, 3), leaf(4)
            for args in ((x, w), (x, w, None), (x, w, b), (None, w, b)):
                assert outcome(primitive.op, *args) == outcome(primitive.op.python, *args)


@needs_core
def test_gradients_go_to_the_same_nodes():
    x = leaf(3)
    y = x * x
    assert y.grad_fn.edges[0] is y.grad_fn.edges[1] is (x + 1).grad_fn.edges[0]
    node = weakref.ref(y.grad_fn.edges[0])
    del y
    assert node() is None  # a leaf does not keep its node
    z = x * 2
    x.value = x.value.astype("float64")
    assert z.grad_fn.edges[0].dtype == "float32"
    assert (x * 2).grad_fn.edges[0].dtype == "float64"


@needs_core
def test_what_a_derivative_does_not_need_is_not_kept():
    a, b = leaf(3), ag.Variable(np.ones(3, "float32"))
    node = (a * b).grad_fn
    assert node.s_b is b.value
    assert not hasattr(node, "s_a")


@needs_core
@pytest.mark.parametrize(
    "call",
    [
        lambda x, w: x * w,
        lambda x, w: x @ w,
        lambda x, w: 2.0 - x,
        lambda x, w: ag.sum(x, axis=0),
        lambda x, w: (x * w).sum().backward(),
        lambda x, w: ag.gradients((x * x * w).sum(), [x, w], create_graph=True),
        lambda x, w: outcome(ag.add, x, np.ones((4, 4))),
        lambda x, w: outcome(ag.add, x, Foreign()),
        lambda x, w: outcome((x * w).backward),
    ],
)
def test_nothing_leaks(call):
    x, w = leaf(3, 3), leaf(3, 3)
    counted = [None, 1.0, 2.0, x, w, type(x), x.dtype, PRIMITIVES["multiply"].node_type, ()]

    def rounds(n):
        for _ in range(n):
            call(x, w)
            x.grad = w.grad = None

    rounds(300)
    for _ in range(5):  # other threads of the process allocate too
        gc.collect()
        before = [sys.getrefcount(y) for y in counted]
        tracemalloc.start()
        held = tracemalloc.get_traced_memory()[0]
        rounds(300)
        gc.collect()
        held = tracemalloc.get_traced_memory()[0] - held
        tracemalloc.stop()
        after = [sys.getrefcount(y) for y in counted]
        if held < 12_000:
            break
    assert held < 12_000  # 40 bytes a round
    assert max(b - a for a, b in zip(before, after, strict=True)) < 150


@needs_core
def test_an_interrupt_is_no_reason_to_compute_again(monkeypatch):
    calls = []

    def interrupted(x):
        calls.append(x)
        raise KeyboardInterrupt

    monkeypatch.setattr(NAMESPACES[np.ndarray], "exp", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ag.exp(leaf(3))
    assert len(calls) == 1


@needs_core
def test_an_op_looks_like_the_function_that_it_is():
    assert inspect.signature(ag.sum) == inspect.signature(ag.sum.python)
    assert inspect.isroutine(ag.sum)
    assert ag.sum.__name__ == "sum"
    assert "axis" in ag.sum.__doc__
    assert pickle.loads(pickle.dumps(ag.multiply)) is ag.multiply
    assert repr(ag.multiply).startswith("<function multiply at")
    bound = leaf(3).sum
    assert bound().item() == 6
    assert weakref.ref(ag.sum)() is ag.sum


@needs_core
def test_misuse_of_the_module_raises():
    with pytest.raises(TypeError, match="takes keywords"):
        core.configure()
    with pytest.raises(TypeError, match="is missing"):
        core.configure(Variable=ag.Variable)
    with pytest.raises(TypeError, match="takes 12 arguments"):
        core.run_ready()


@needs_core
def test_nothing_but_the_module_is_exported():
    """So no other library's global variable can take the place of one of the core's."""
    library = ctypes.PyDLL(core.__file__)
    assert hasattr(library, "PyInit__core")
    assert not any(hasattr(library, name) for name in ("names", "known", "at", "count_all"))


@needs_core
def test_a_core_of_other_sources_is_left_alone(monkeypatch):
    monkeypatch.setattr(core, "INTERFACE", 0)
    with pytest.warns(RuntimeWarning, match="install the package again"):
        assert loaded() is None


def test_the_environment_switches_it_off():
    code = (
        "import autograd_gpu as ag, inspect; from autograd_gpu.core import core;"
        "assert core is None;"
        "assert inspect.isfunction(ag.multiply); x = ag.Variable(3.0, requires_grad=True);"
        "(x * x).backward(); assert x.grad == 6"
    )
    environment = os.environ | {"AUTOGRAD_GPU_PURE_PYTHON": "1"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
