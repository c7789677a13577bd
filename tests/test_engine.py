"""The two-phase engine: order, accumulation, release, hooks, errors, threads and memory."""

import gc
import threading
import tracemalloc
import weakref

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu.engine import _count_all
from autograd_gpu.graph import AccumulateGrad, FunctionNode, gradient_edge


def leaf(value, name=None):
    return ag.Variable(np.array(value, dtype=np.float64), requires_grad=True, name=name)


@pytest.fixture
def collector_off():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


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


# Who owns a gradient --------------------------------------------------------------------------


def test_no_two_gradients_share_memory():
    a, b = leaf(np.ones(3)), leaf(np.ones(3))
    seed = np.ones(3)
    (a + b).backward(seed)
    assert not np.shares_memory(a.grad, b.grad)
    assert not np.shares_memory(a.grad, seed)
    assert not np.shares_memory(b.grad, seed)
    a.grad += 1
    np.testing.assert_array_equal(b.grad, np.ones(3))
    np.testing.assert_array_equal(seed, np.ones(3))


def test_a_gradient_that_the_user_holds_does_not_change():
    x = leaf(np.ones(3))
    (x * 2.0).sum().backward()
    held = x.grad
    (x * 2.0).sum().backward()
    np.testing.assert_array_equal(held, np.full(3, 2.0))
    np.testing.assert_array_equal(x.grad, np.full(3, 4.0))


def test_a_hook_may_keep_what_it_saw():
    x = leaf(np.ones(3))
    kept = []
    y = x * 1.0
    y.register_hook(kept.append)
    (y + y + y).sum().backward()
    before = kept[0].copy()
    x.grad += 100
    np.testing.assert_array_equal(kept[0], before)


def test_sums_over_paths_are_right_when_buffers_are_reused():
    x = leaf(np.arange(4.0))
    y = x + x + x * x + x
    y.backward(np.ones(4), retain_graph=True)
    np.testing.assert_array_equal(x.grad, 3 + 2 * np.arange(4.0))
    y.backward(np.ones(4))
    np.testing.assert_array_equal(x.grad, 2 * (3 + 2 * np.arange(4.0)))


def test_gradients_are_arrays_also_of_scalars():
    x, y = leaf(2.0), leaf([1.0])
    (x * x * y).sum().backward()
    assert type(x.grad) is np.ndarray
    assert x.grad.shape == ()
    assert type(y.grad) is np.ndarray


def test_gradients_have_the_dtype_of_their_leaf():
    x = ag.Variable(np.ones(2, np.float32), requires_grad=True)
    y = ag.Variable(np.ones(2, np.float64), requires_grad=True)
    (x * y).sum().backward()
    assert x.grad.dtype == np.float32
    assert y.grad.dtype == np.float64


# gradients() ----------------------------------------------------------------------------------


def test_gradients_leaves_grad_alone():
    x, w = leaf(2.0), leaf(3.0)
    y = x * x * w
    dx, dw = ag.gradients(y, [x, w])
    assert (dx.item(), dw.item()) == (12.0, 4.0)
    assert x.grad is None
    assert w.grad is None


def test_gradients_of_results_and_of_several_outputs():
    x = leaf(2.0)
    y = x * x
    z = y * y
    dy = ag.gradients(z, y, retain_graph=True)
    assert dy.item() == 8.0
    dx = ag.gradients([y, z], x, [None, np.array(2.0)])
    assert dx.item() == 4.0 + 2.0 * 8.0 * 4.0


def test_gradients_runs_only_what_leads_to_an_input():
    x, w = leaf(2.0), leaf(3.0)
    side = w * 5.0
    ran = []
    side.grad_fn.register_hook(lambda grads, g: ran.append(1))
    y = x * side
    ag.gradients(y, x, retain_graph=True)
    assert ran == []
    ag.gradients(y, w)
    assert ran == [1]


def test_an_output_that_is_an_input_too():
    x = leaf(2.0)
    y = x * 3.0
    dy, dx = ag.gradients(y, [y, x])
    assert (dy.item(), dx.item()) == (1.0, 3.0)


def test_an_unused_input():
    x, w = leaf(2.0), leaf(3.0)
    y = x * x
    with pytest.raises(RuntimeError, match="do not depend on input 1.*allow_unused"):
        ag.gradients(y, [x, w], retain_graph=True)
    dx, dw = ag.gradients(y, [x, w], allow_unused=True)
    assert dx.item() == 4.0
    assert dw is None


def test_higher_orders():
    x = leaf(2.0)
    y = x * x * x * x
    orders = []
    for _ in range(5):
        y = ag.gradients(y, x, create_graph=True)
        orders.append(y.item())
        if not y.requires_grad:
            break
    assert orders == [32.0, 48.0, 48.0, 24.0]


def test_a_gradient_penalty():
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = (ag.tanh(x * w)).sum()
    dx = ag.gradients(y, x, create_graph=True)
    (dx * dx).sum().backward()
    t = np.tanh(x.value * w.value)
    d = w.value * (1 - t * t)
    np.testing.assert_allclose(
        w.grad, 2 * d * ((1 - t * t) + w.value * x.value * -2 * t * (1 - t * t))
    )


# Hooks ----------------------------------------------------------------------------------------


def test_hooks_on_leaves_and_results():
    x = leaf(2.0)
    handle = x.register_hook(lambda g: g * 10)
    y = x * 3.0
    y.register_hook(lambda g: g * 2)
    y.backward(retain_graph=True)
    assert x.grad == 60.0
    handle.remove()
    handle.remove()
    x.grad = None
    y.backward()
    assert x.grad == 6.0


def test_a_leaf_hook_runs_once_with_the_whole_gradient():
    x = leaf(2.0)
    seen = []
    x.register_hook(lambda g: seen.append(float(g)))
    (x * 2.0 + x * 3.0).backward()
    assert seen == [5.0]


def test_node_hooks():
    x = leaf(2.0)
    y = x * x
    y.grad_fn.register_prehook(lambda g: g * 3)
    y.grad_fn.register_hook(lambda grads, g: tuple(10 * d for d in grads))
    y.backward()
    assert x.grad == 3 * 10 * 4.0


def test_retain_grad():
    x = leaf(2.0)
    y = x * 3.0
    y.retain_grad()
    (y * y).backward()
    assert y.grad == 12.0
    assert type(y.grad) is np.ndarray


def test_retain_grad_makes_no_cycle(collector_off):
    x = leaf(2.0)
    y = x * 3.0
    y.retain_grad()
    gone = weakref.ref(y)
    del y
    assert gone() is None


def test_post_accumulate_hook_sees_the_sum_at_once():
    x, w = leaf(2.0), leaf(1.0)
    seen = []

    def step(v):
        seen.append(float(v.grad))
        v.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * x * w).backward()
    assert seen == [4.0]
    assert x.grad is None
    assert w.grad == 4.0


def test_under_create_graph_hooks_see_variables():
    x = leaf(2.0)
    y = x * x
    kinds = []
    y.register_hook(lambda g: kinds.append(type(g)))
    ag.gradients(y, x, create_graph=True)
    assert kinds == [ag.Variable]


# Bad input: a clear error, and everything as it was -------------------------------------------


def test_a_root_needs_a_graph():
    x = ag.Variable(np.ones(()))
    with pytest.raises(RuntimeError, match="does not require a gradient"):
        x.backward()
    with ag.no_grad():
        y = leaf(1.0) * 2.0
    with pytest.raises(RuntimeError, match="no_grad"):
        y.backward()


def test_a_root_that_is_no_scalar_needs_a_gradient():
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"shape \(2,\).*must be given"):
        (x * 2.0).backward()
    assert x.grad is None


def test_a_complex_root_needs_a_gradient():
    z = ag.Variable(np.array(1 + 1j), requires_grad=True)
    with pytest.raises(RuntimeError, match="complex128 must be given"):
        (z * z).backward()


@pytest.mark.parametrize(
    ("grad", "error", "match"),
    [
        (np.ones(3), ValueError, r"shape \(3,\); the shape is \(2,\)"),
        (np.ones(2, np.float32), TypeError, "float32; the dtype is float64"),
        ("one", TypeError, "str"),
        (1.0, ValueError, r"a number, the root has shape \(2,\)"),
    ],
)
def test_a_seed_that_does_not_fit(grad, error, match):
    x = leaf([1.0, 2.0])
    y = x * 2.0
    with pytest.raises(error, match=match):
        y.backward(grad)
    assert x.grad is None
    y.backward(np.ones(2))
    np.testing.assert_array_equal(x.grad, [2.0, 2.0])


@pytest.mark.parametrize(
    ("returned", "error", "match"),
    [
        (lambda g: np.ones(5), ValueError, r"hook on multiply.*\(5,\)"),
        (lambda g: g.astype(np.float32), TypeError, "hook on multiply.*float32"),
        (lambda g: "nonsense", TypeError, "hook on multiply.*str"),
    ],
)
def test_a_hook_that_returns_something_wrong(returned, error, match):
    x = leaf([1.0, 2.0])
    y = x * 2.0
    handle = y.register_hook(returned)
    with pytest.raises(error, match=match):
        y.backward(np.ones(2), retain_graph=True)
    assert x.grad is None
    handle.remove()
    y.backward(np.ones(2))
    np.testing.assert_array_equal(x.grad, [2.0, 2.0])


def test_an_error_in_a_hook_leaves_gradients_and_modes_alone():
    x, w = leaf(2.0), leaf(3.0)
    (x * w).backward()
    before = x.grad.copy(), w.grad.copy()
    y = x * 2.0

    def fail(g):
        raise ZeroDivisionError("from the hook")

    handle = y.register_hook(fail)
    z = y * w + x
    with pytest.raises(ZeroDivisionError, match="from the hook") as info:
        z.backward(retain_graph=True)
    assert any("multiply" in note for note in info.value.__notes__)
    assert (x.grad, w.grad) == before
    assert ag.is_grad_enabled()
    handle.remove()
    z.backward()
    assert x.grad == before[0] + 2 * 3.0 + 1
    assert w.grad == before[1] + 4.0


def test_gradients_of_nothing_and_of_no_variables():
    x = leaf(1.0)
    with pytest.raises(ValueError, match="inputs is empty"):
        ag.gradients(x * 1.0, [])
    with pytest.raises(TypeError, match=r"inputs\[0\] is float"):
        ag.gradients(x * 1.0, [1.0])
    with pytest.raises(RuntimeError, match="input 0 does not require"):
        ag.gradients(x * 1.0, ag.Variable(1.0))
    with pytest.raises(ValueError, match="2 grad_outputs were given for 1"):
        ag.gradients([x * 1.0], [x], [None, None])


def test_anomaly_mode_names_the_line():
    x = leaf(2.0)
    with ag.detect_anomaly():
        y = x * 2.0  # the line in question

    def fail(g):
        raise ArithmeticError("bad")

    y.register_hook(fail)
    with pytest.raises(ArithmeticError) as info:
        y.backward()
    assert any("the line in question" in note for note in info.value.__notes__)


def test_anomaly_mode_finds_nans():
    x = leaf(1.0)
    with ag.detect_anomaly():
        y = x * np.nan
        with pytest.raises(RuntimeError, match="backward of multiply returned a NaN for input 0"):
            y.backward()
    assert x.grad is None


# Threads --------------------------------------------------------------------------------------


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


def test_a_hook_may_run_another_backward():
    x, w = leaf(2.0), leaf(3.0)

    def inner(g):
        with ag.enable_grad():
            loss = w * w
        loss.backward()

    y = x * 2.0
    y.register_hook(inner)
    y.backward()
    assert x.grad == 2.0
    assert w.grad == 6.0


# Arrays of their own ---------------------------------------------------------------------------


def test_gradients_share_memory_with_nothing():
    x, y, g = leaf([1.0, 2.0]), leaf([3.0, 4.0]), np.ones(2)
    a, b = ag.gradients(x + y, [x, y], g)
    assert not np.shares_memory(a.value, b.value)
    assert not np.shares_memory(a.value, g)
    a, b = ag.gradients(x * x, [x, x], g)
    assert not np.shares_memory(a.value, b.value)
    a = ag.gradients(ag.reshape(x, (2, 1)), x, g[:, None])
    assert not np.shares_memory(a.value, g)
    assert ag.gradients(ag.sum(x), x).value.flags.writeable


def test_an_output_given_twice_counts_twice():
    x = leaf(3.0)
    y = x * x
    assert ag.gradients([y, y], x, retain_graph=True).item() == 12.0
    seeds = [np.array(1.0), np.array(10.0)]
    assert ag.gradients([y, y], x, seeds).item() == 66.0
    assert seeds == [1.0, 10.0]


def test_an_unused_input_is_found_before_anything_is_released():
    x = leaf(3.0)
    y = x * x
    with pytest.raises(RuntimeError, match="do not depend on input 1"):
        ag.gradients(y, [x, leaf(1.0)])
    y.backward()
    assert x.grad == 6.0


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda x: ag.gradients(1.0, x), "outputs are Variables, not float"),
        (lambda x: ag.gradients([x * x], x, 1.0), "grad_outputs is a sequence.*not float"),
    ],
)
def test_gradients_of_what_is_no_sequence(call, match):
    with pytest.raises(TypeError, match=match):
        call(leaf(1.0))


def test_retain_grad_is_written_by_a_whole_backward_only():
    x = leaf([1.0, 2.0])
    y = x * 3.0
    y.retain_grad()
    z = ag.sum(y * y)
    ag.gradients(z, x, retain_graph=True)
    assert y.grad is None

    def fail(g):
        raise ZeroDivisionError

    handle = x.register_hook(fail)
    with pytest.raises(ZeroDivisionError):
        z.backward(retain_graph=True)
    assert y.grad is None
    handle.remove()
    z.backward(retain_graph=True)
    first = y.grad
    z.backward()
    np.testing.assert_array_equal(first, [6.0, 12.0])
    np.testing.assert_array_equal(y.grad, [12.0, 24.0])


def test_retained_gradients_share_memory_with_nothing():
    x = leaf([1.0, 2.0])
    y = ag.positive(x)
    y.retain_grad()
    g = np.ones(2)
    y.backward(g)
    assert not np.shares_memory(y.grad, x.grad)
    assert not np.shares_memory(y.grad, g)


def test_requires_grad_set_again_keeps_the_graph():
    x = leaf([1.0, 2.0])
    y = ag.sum(x * x)
    x.requires_grad = True
    np.testing.assert_array_equal(ag.gradients(y, x).numpy(), [2.0, 4.0])


def test_a_leaf_with_a_new_value_gets_gradients_like_that():
    x = leaf([1.0, 2.0])
    before = ag.sum(x * x)
    x.value = np.ones(3, np.float32)
    ag.sum(x * 2.0).backward()
    np.testing.assert_array_equal(x.grad, [2.0, 2.0, 2.0])
    assert x.grad.dtype == np.float32
    del before


@pytest.mark.parametrize(
    ("grad", "error", "match"),
    [
        (np.ones((2, 2)), ValueError, r"'w'.*\(2, 2\)"),
        (np.ones(2, int), TypeError, "'w'.*int64"),
        ([1.0, 2.0], TypeError, "'w'.*list"),
    ],
)
def test_a_grad_that_does_not_fit_leaves_the_others_alone(grad, error, match):
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0], name="w")
    w.grad = grad
    for y in (x * w, w * x):
        with pytest.raises(error, match=match):
            y.backward(np.ones(2))
        assert x.grad is None
        assert w.grad is grad


def test_prehooks_of_a_node_with_several_outputs():
    x = leaf([1.0, 2.0])
    first, _ = ag.split(x, 2)
    node = first.grad_fn.next_functions[0]
    handle = node.register_prehook(lambda g: tuple(None if d is None else 3 * d for d in g))
    first.backward(np.ones(1), retain_graph=True)
    np.testing.assert_array_equal(x.grad, [3.0, 0.0])
    handle.remove()
    for wrong in ((np.ones(1),), np.ones(2), (None, None), (np.ones(2), None)):
        handle = node.register_prehook(lambda g, wrong=wrong: wrong)
        with pytest.raises((TypeError, ValueError), match="a hook on split"):
            first.backward(np.ones(1), retain_graph=True)
        handle.remove()


def test_hooks_that_return_no_tuple_are_named():
    x = leaf([1.0])
    for wrong in (5, np.ones(1)):
        y = ag.exp(x)
        y.grad_fn.register_hook(lambda grads, g, wrong=wrong: wrong)
        with pytest.raises(TypeError, match="a hook on exp returned"):
            y.backward()


def test_a_hook_on_a_leaf_is_named_after_the_leaf():
    x = leaf([1.0], name="weight")
    x.register_hook(lambda g: "nonsense")
    with pytest.raises(TypeError, match="a hook on the leaf 'weight' returned str"):
        ag.exp(x).backward()
