"""The compiled core under user code: graphs that are edited, odd flags, hooks that change what
runs, and random programs, all of which give what they give in Python."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import autograd_gpu as ag
from autograd_gpu import engine
from autograd_gpu.core import core
from autograd_gpu.primitive import PRIMITIVES

needs_core = pytest.mark.skipif(
    core is None, reason="the compiled core is not built, or switched off"
)


def leaf(*shape):
    x = np.arange(1, 1 + np.prod(shape, dtype=int), dtype="float32").reshape(shape)
    return ag.Variable(x, requires_grad=True)


@pytest.mark.parametrize("flag", [1, np.True_, [0]])
def test_flags_are_what_is_true(flag):
    x = leaf(3)
    y = (x * x).sum()
    y.backward(retain_graph=flag)
    y.backward()
    assert x.grad.tolist() == [4, 8, 12]
    assert ag.gradients((x * x).sum(), x, create_graph=flag).requires_grad


def test_a_result_that_was_cut_off_is_a_plain_leaf():
    y = leaf(3) * 2
    y.grad_fn = None
    assert (y * 3).grad_fn is None
    assert not (y + y).requires_grad


def test_edges_that_are_a_list():
    x = leaf(3)
    y = x * 2
    y.grad_fn.edges = list(y.grad_fn.edges)
    y.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [2, 2, 2]
    assert ag.gradients(y.sum(), x).tolist() == [2, 2, 2]


@pytest.mark.parametrize("name", ["edges", "hooks", "variable"])
@pytest.mark.parametrize("during", [False, True])
def test_slots_that_are_deleted(name, during):
    x = leaf(3)
    y = x * 2
    node = y.grad_fn if name != "variable" else y.grad_fn.edges[0]
    if during:
        (last := ag.exp(y)).register_hook(lambda g: delattr(node, name))
    else:
        last = ag.exp(y)
        delattr(node, name)
    with pytest.raises(AttributeError, match=name):
        last.sum().backward()
    assert during or x.grad is None


@pytest.mark.parametrize("edge", [5, "node", object])
@pytest.mark.parametrize("during", [False, True])
def test_edges_that_lead_to_no_node(edge, during):
    y = leaf(3) * 2
    node = y.grad_fn

    def spoil(g=None):
        node.edges = (edge,) * len(node.edges)

    if during:
        (z := ag.exp(y)).register_hook(spoil)
    else:
        spoil()
        z = y
    with pytest.raises((AttributeError, TypeError)):
        z.sum().backward()
    y.grad_fn = edge
    with pytest.raises((AttributeError, TypeError)):
        y.backward(np.ones(3, "float32"))


def test_a_hook_that_takes_the_hooks_away():
    y = leaf(3) * 2
    node = y.grad_fn
    y.register_hook(lambda g: setattr(node, "hooks", None))
    with pytest.raises(AttributeError, match="keep_for"):
        y.sum().backward()


def test_a_hook_that_lets_the_graph_go():
    x = leaf(3)
    y = x * x
    z = y * y
    z.register_hook(lambda g: y.backward(np.ones(3, "float32")))
    with pytest.raises(TypeError, match="NoneType"):
        (z * 2).sum().backward()
    assert x.grad.tolist() == [2, 4, 6]  # of the backward in the hook


@needs_core
def test_another_copy_of_the_package_leaves_this_one_alone():
    code = (
        "import sys, numpy as np, autograd_gpu as ag;"
        "from autograd_gpu.core import core;"
        "x = ag.Variable(np.ones(3), requires_grad=True); y = (x * x).sum();"
        "[sys.modules.pop(m) for m in list(sys.modules) if m.startswith('autograd_gpu')];"
        "import autograd_gpu as other; from autograd_gpu.core import core as none;"
        "assert core is not None and none is None;"
        "y.backward(); (x * 3).sum().backward(); assert x.grad.tolist() == [5, 5, 5];"
        "z = other.Variable(np.ones(3), requires_grad=True); (z * z).sum().backward();"
        "assert z.grad.tolist() == [2, 2, 2]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_threads_share_leaves_and_graphs():
    x = leaf(50)
    y = (x * x).sum()

    def work():
        for _ in range(100):
            (x * x).sum().backward()
            y.backward(retain_graph=True)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(x.grad, 600 * 2 * x.value)


# Random programs --------------------------------------------------------------------------------

OPS = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "maximum",
    "hypot",
    "exp",
    "negative",
    "relu",
    "sum",
]
SHAPES = [(), (3,), (2, 3), (2, 1), (0, 3)]
HOOKS = ["before", "double", "after", "retain", "post", "error", "nested"]

steps = st.tuples(
    st.sampled_from(OPS),
    st.integers(0, 99),
    st.integers(0, 99),
    st.sampled_from([*HOOKS, *[""] * 9]),
)
programs = st.tuples(
    st.lists(st.tuples(st.sampled_from(SHAPES), st.sampled_from("dfFil")), min_size=2, max_size=3),
    st.lists(steps, min_size=2, max_size=9),
    st.booleans(),
    st.booleans(),
)


def bits(x):
    x = x.value if isinstance(x, ag.Variable) else x
    return x if x is None else (type(x), x.dtype, x.shape, np.asarray(x).tobytes())


def run(program, fast):
    """What a program computes: every value, gradient, error and hook's call, and what shares
    memory with what."""
    leaves, calls, retain, create = program
    log = []
    rng = np.random.default_rng(0)
    pool = [2.5]
    for shape, kind in leaves:
        value = np.asarray(rng.standard_normal(shape) + 2).astype(kind)
        pool.append(ag.Variable(value, requires_grad=kind in "dfF"))

    def hook(*given):
        log.append([bits(g) for g in given if not isinstance(g, tuple)])

    def failing(g):
        raise ValueError("from a hook")

    def nested(g):
        with ag.enable_grad():
            (pool[1] * 2.0).sum().backward()

    for name, i, j, kind in calls:
        op = PRIMITIVES[name].op
        op = op if fast else op.python
        a, b = pool[i % len(pool)], pool[j % len(pool)]
        try:
            y = op(a, b) if len(PRIMITIVES[name].operands) == 2 else op(a)
        except (TypeError, ValueError, RuntimeError) as error:
            log.append((type(error), str(error), error.__dict__.get("__notes__")))
            continue
        log.append((bits(y), y.requires_grad))
        pool.append(y)
        if y.requires_grad and kind:
            y.retain_grad() if kind == "retain" else None
            y.register_hook(hook) if kind == "before" else None
            y.register_hook(lambda g: g * 2) if kind == "double" else None
            y.register_hook(failing) if kind == "error" else None
            y.register_hook(nested) if kind == "nested" and pool[1].dtype.kind == "f" else None
            y.grad_fn.register_hook(hook) if kind == "after" else None
            if kind == "post" and pool[1].requires_grad:
                pool[1].register_post_accumulate_grad_hook(lambda x: log.append(bits(x.grad)))
    variables = pool[1:]
    for y in variables[-2:]:
        seed = np.ones(y.shape, y.dtype)
        try:
            y.backward(seed, retain_graph=retain)
        except (TypeError, ValueError, RuntimeError) as error:
            log.append((type(error), str(error), getattr(error, "__notes__", [])))
        try:
            more = ag.gradients(y, variables[:3], seed, create_graph=create, allow_unused=True)
            log.append([bits(g) for g in more])
            variables = variables + [g for g in more if g is not None]
        except (TypeError, ValueError, RuntimeError) as error:
            log.append((type(error), str(error), getattr(error, "__notes__", [])))
    arrays = [a for x in variables for a in (x.value, x.grad)]
    log.append([bits(a) for a in arrays])
    log.append(
        [
            (i, j)
            for i, a in enumerate(arrays)
            for j, b in enumerate(arrays[:i])
            if a is not None and b is not None and np.may_share_memory(a, b)
        ]
    )
    return log


@needs_core
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@settings(max_examples=150, deadline=None)
@given(programs)
def test_random_programs(program):
    fast = run(program, True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "core", None)
        assert run(program, False) == fast
