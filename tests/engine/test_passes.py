"""The two-phase engine: order, accumulation, release, threads and memory."""

import gc
import threading
import tracemalloc
import weakref

import numpy as np
import pytest
from operands import leaf

import autograd_gpu as ag
from autograd_gpu.engine import _count_all
from autograd_gpu.graph import AccumulateGrad, FunctionNode, gradient_edge


def test_the_worked_example():
    a, b = leaf(2.0), leaf(3.0)
    (a * b + a).backward()
    assert a.grad == 4.0
    assert b.grad == 2.0


def test_next_functions_are_the_inputs_nodes():
    a, b = leaf(2.0), leaf(3.0)
    y = a * b + a
    add = y.grad_fn
    assert isinstance(add, FunctionNode)
    assert add.name == "add"
    multiply, accumulate = add.next_functions
    assert multiply.name == "multiply"
    assert isinstance(accumulate, AccumulateGrad)
    assert accumulate.variable is a
    assert multiply.next_functions[0] is accumulate
    assert (a * 2.0).grad_fn.next_functions == (accumulate, None)


def test_counts_are_the_edges_into_each_node():
    a, b = leaf(2.0), leaf(3.0)
    y = a * b + a
    counts = _count_all(y.grad_fn)
    assert counts[y.grad_fn] == 0
    assert counts[gradient_edge(a)] == 2
    assert counts[gradient_edge(b)] == 1


def test_a_node_runs_once_when_all_its_contributions_have_arrived():
    x = leaf(1.5)
    y = x * x
    calls = []
    y.grad_fn.register_hook(lambda grads, g: calls.append(float(g)))
    z = y * 2.0
    (z + y + z * y).backward()
    assert calls == [2.0 + 1.0 + 2.0 * 4.5]
    assert len(calls) == 1


def test_gradients_accumulate_until_zero_grad():
    x = leaf([1.0, 2.0])
    for _ in range(3):
        (x * x).sum().backward()
    np.testing.assert_array_equal(x.grad, [6.0, 12.0])
    x.zero_grad()
    assert x.grad is None
    (x * x).sum().backward()
    np.testing.assert_array_equal(x.grad, [2.0, 4.0])


def test_a_node_that_no_gradient_reached_is_skipped():
    class Half(ag.Function):
        def forward(self, a, b):
            return a + b

        def backward(self, g):
            return g, None

    x, w = leaf(2.0), leaf(5.0)
    blocked = x * 3.0
    ran = []
    blocked.grad_fn.register_hook(lambda grads, g: ran.append(g))
    # x is reached by the product too; its count must still drop past the skipped node
    y = Half.apply(x * w, blocked)
    y.backward()
    assert ran == []
    assert x.grad == 5.0
    assert w.grad == 2.0
    with pytest.raises(RuntimeError, match="retain_graph"):
        blocked.backward()


def test_a_second_backward_needs_retain_graph():
    x = leaf(3.0)
    y = x * x
    y.backward()
    with pytest.raises(RuntimeError, match=r"multiply a second time.*retain_graph=True"):
        y.backward()
    assert x.grad == 6.0
    z = x * x
    z.backward(retain_graph=True)
    z.backward()
    assert x.grad == 18.0


def test_a_second_backward_finds_the_released_node_before_anything_runs():
    x, w = leaf(3.0), leaf(2.0)
    y = x * x
    y.backward()
    x.grad = None
    with pytest.raises(RuntimeError, match="retain_graph"):
        (w * y).backward()
    assert w.grad is None
    assert x.grad is None


def test_release_frees_what_was_saved(collector_off):
    x = leaf(np.ones(1000))
    middle = x * 2.0
    value = weakref.ref(middle.value)
    y = (middle * middle).sum()
    del middle
    assert value() is not None
    y.backward()
    assert value() is None


def test_dropping_the_result_frees_the_graph_at_once(collector_off):
    x = leaf(np.ones(10))
    y = (ag.tanh(x * x) + x).sum()
    node = weakref.ref(y.grad_fn)
    saved = weakref.ref(y.grad_fn.next_functions[0])
    accumulate = weakref.ref(gradient_edge(x))
    del y
    assert node() is None
    assert saved() is None
    assert accumulate() is None
    assert gc.collect() == 0


def test_a_leaf_shares_its_accumulator_while_that_lives():
    x = leaf(1.0)
    y, z = x * 2.0, x * 3.0
    assert y.grad_fn.next_functions[0] is z.grad_fn.next_functions[0]


@pytest.mark.parametrize("how", ["backward", "drop"])
def test_a_chain_of_a_million_ops(how):
    x = leaf(1.0)
    y = x
    for _ in range(1_000_000):
        y = y + 1e-6
    if how == "backward":
        y.backward()
        assert x.grad == 1.0
    assert y.item() == pytest.approx(2.0)
    del y


def test_memory_is_flat_over_steps():
    w = leaf(np.ones((64, 64)))

    def step():
        y = w
        for _ in range(20):
            y = ag.tanh(y * w)
        y.sum().backward()
        w.zero_grad()

    step()
    tracemalloc.start()
    step()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(10):
        step()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert after - before < 64 * 64 * 8


def test_threads_lose_no_contribution_to_a_shared_leaf():
    x = leaf(np.zeros(1000))
    rounds, workers = 50, 4
    start = threading.Barrier(workers)

    def work():
        start.wait()
        for _ in range(rounds):
            (x * 2.0).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(x.grad, np.full(1000, 2.0 * rounds * workers))
