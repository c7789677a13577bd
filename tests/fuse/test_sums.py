"""fuse: functions that end in sums and means are one kernel too, and so are their gradients."""

import numpy as np
import pytest
from fused import TOLERANCE, close, leaf, numbers

import autograd_gpu as ag

F = ag.nn.functional


def energy(x, y):
    return ag.exp(-x * x) * y + x / (2 + ag.cos(y))


ENDS = {
    "sum": lambda v: v.sum(),
    "mean": lambda v: ag.mean(v),
    "negative mean": lambda v: -v.mean(),
    "half the sum": lambda v: 0.5 * ag.sum(v) + 1,
    "last axis": lambda v: v.sum(axis=-1),
    "last axis, kept": lambda v: v.mean(-1, keepdims=True),
    "first axis": lambda v: ag.mean(v, axis=0),
    "first axis, kept": lambda v: v.sum(axis=0, keepdims=True),
    "middle axis": lambda v: v.sum(axis=1) / 3.0,
    "last two axes": lambda v: ag.sum(v, axis=(-1, 1)),
    "first two axes": lambda v: v.mean((0, 1)),
    "first and last axis": lambda v: v.sum((0, 2)),
    "all axes, kept": lambda v: v.sum(keepdims=True),
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_values_and_gradients_are_those_of_the_ops(xp, end, dtype):
    def plain(x, y):
        return ENDS[end](energy(x, y))

    fused = ag.fuse(plain)
    x, y = leaf(xp, numbers((3, 5, 4)), dtype), leaf(xp, numbers((3, 5, 4), 1), dtype)
    got, want = fused(x, y), plain(x, y)
    assert fused.reason is None
    assert got.grad_fn.name == "plain"
    close(got, want, dtype)
    g = leaf(xp, numbers(want.shape, 2), dtype, grad=False)
    for a, b in zip(*(ag.gradients(z, [x, y], g) for z in (got, want)), strict=True):
        close(a, b, dtype)


def names_behind(variable):
    """The names of all nodes of its graph."""
    seen, stack = {}, [variable.grad_fn]
    while stack:
        node = stack.pop()
        if node is not None and id(node) not in seen:
            seen[id(node)] = node
            stack += node.next_functions
    return {node.name for node in seen.values()}


@pytest.mark.parametrize("end", ENDS)
def test_second_and_third_order_are_fused(xp, end):
    def plain(x, y):
        return ENDS[end](energy(x, y))

    fused = ag.fuse(plain)
    x, y = leaf(xp, numbers((3, 2, 4))), leaf(xp, numbers((2, 4), 1))
    results = []
    for f in (fused, plain):
        z = f(x, y)
        first = ag.gradients((z * z).sum(), [x, y], create_graph=True)
        second = ag.gradients(sum((g * g).sum() for g in first), [x, y], create_graph=True)
        third = ag.gradients((second[0] * x).sum() + second[1].sum(), [x, y])
        results.append([*first, *second, *third])
        if f is fused:
            assert fused.reason is None
            names = names_behind(second[0])
            assert {"plain_gradient", "plain_gradient_gradient"} <= names
            assert not names & {"exp", "cos", "divide"}
    for got, want in zip(*results, strict=True):
        close(got, want)


def test_grad_check():
    f = ag.fuse(lambda x, y: -(ag.tanh(x * y) + ag.exp(-x)).mean(axis=0))
    assert ag.grad_check(f, [numbers((3, 4)), numbers(4, 1)])
    assert f.reason is None


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1)])
@pytest.mark.parametrize("others", [(4, 1), (1, 5), (5,), (), (4, 5), (3, 1, 1), (3, 4, 1)])
def test_arguments_that_broadcast(xp, axis, others):
    def plain(x, y, z):
        return ag.sum(ag.tanh(x * y) + z * x, axis=axis)

    fused = ag.fuse(plain)
    args = [leaf(xp, numbers(s, i)) for i, s in enumerate([(4, 5), others, ()])]
    if len(others) == 3:
        args[0] = leaf(xp, numbers((3, 4, 5)))
    got, want = fused(*args), plain(*args)
    assert fused.reason is None
    close(got, want)
    g = leaf(xp, numbers(want.shape, 5), grad=False)
    for a, b in zip(*(ag.gradients(v, args, g) for v in (got, want)), strict=True):
        close(a, b)


def test_several_sums(xp):
    def plain(x, y):
        e = energy(x, y)
        return e.sum(0), ag.mean(x * y, axis=0) - 2 * ag.sum(e * e, axis=0)

    fused = ag.fuse(plain)
    x, y = leaf(xp, numbers((6, 4))), leaf(xp, numbers(4, 1))
    found = []
    for f in (fused, plain):
        a, b = f(x, y)
        one = ag.gradients(b, x, ag.ones_like(b), retain_graph=True)
        found.append([a, b, one, *ag.gradients((a * b).sum(), [x, y])])
    assert fused.reason is None
    for got, want in zip(*found, strict=True):
        close(got, want)


def test_results_share_no_memory(xp):
    fused = ag.fuse(lambda x: [s := ag.sum(x * x, axis=0), +s, s, s * 2])
    x = leaf(xp, numbers((3, 2)), grad=False)
    results = fused(x)
    assert fused.reason is None
    want = [y.numpy().copy() for y in results]
    results[0].value[...] = 7
    for y, expected in zip(results[1:], want[1:], strict=True):
        np.testing.assert_array_equal(y.numpy(), expected)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (0, 3), (1,), (1, 1), (1, 7), (7, 1)])
@pytest.mark.parametrize("axis", [None, -1])
def test_shapes(xp, shape, axis):
    if axis is not None and not shape:
        pytest.skip("there is no last axis")
    fused = ag.fuse(lambda x: ag.sum(ag.exp(x), axis=axis) * 0.5)
    x = leaf(xp, numbers(shape))
    got, want = fused(x), fused.function(x)
    assert fused.reason is None
    close(got, want)
    g = leaf(xp, numbers(want.shape, 1), grad=False)
    close(ag.gradients(got, x, g), ag.gradients(want, x, g))


LOSSES = {
    "mse": (F.mse_loss, {}),
    "mse, sum": (F.mse_loss, {"reduction": "sum"}),
    "l1": (F.l1_loss, {}),
    "smooth l1": (F.smooth_l1_loss, {}),
    "huber": (F.huber_loss, {"delta": 0.7}),
    "logits": (F.binary_cross_entropy_with_logits, {}),
    "poisson": (F.poisson_nll_loss, {}),
    "kl": (F.kl_div, {"reduction": "sum"}),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_fused_with_what_is_before_them(xp, name):
    loss, options = LOSSES[name]
    fused = ag.fuse(lambda x, t: loss(ag.tanh(x) * 2, t, **options))
    x, t = leaf(xp, numbers((4, 5))), leaf(xp, np.abs(numbers((4, 5), 1)), grad=False)
    got, want = fused(x, t), fused.function(x, t)
    assert fused.reason is None
    close(got, want)
    first = [ag.gradients(y, x, create_graph=True) for y in (got, want)]
    close(*first)
    close(*[ag.gradients((g * g).sum(), x) for g in first])


def test_the_graph_and_its_release(xp):
    fused = ag.fuse(lambda x: ag.mean(ag.exp(x), axis=0))
    x = leaf(xp, numbers((4, 3)))
    y = fused(x)
    assert y.is_leaf is False
    y.sum().backward()
    close(ag.Variable(x.grad), ag.exp(x).detach() / 4)
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()
    with ag.no_grad():
        assert fused(x).grad_fn is None


def test_transforms_of_a_fused_sum():
    f = ag.fuse(lambda x: ag.mean(ag.exp(x) * x, axis=-1))
    x, t = ag.Variable(numbers((3, 4))), ag.Variable(numbers((3, 4), 1))
    plain = f.function
    for transform in (
        lambda f: ag.transforms.jacobian(f)(x),
        lambda f: ag.transforms.hessian(lambda x: f(x).sum())(x),
        lambda f: ag.transforms.jvp(f, (x,), (t,))[1],
    ):
        close(transform(f), transform(plain))


def test_derivatives_of_several_numbers():
    fused = ag.fuse(lambda x: (ag.exp(x).sum(), (x * x).sum()))
    x = ag.Variable(np.linspace(0, 1, 3))
    for f in (lambda f: f(x), lambda f: f(x)):
        close(*[f(ag.jacobian(lambda v, g=g: g(v)[0] * g(v)[1])) for g in (fused, fused.function)])


def test_a_compiled_step_replays_it(xp):
    fused = ag.fuse(lambda x, t: ag.mean(ag.square(ag.tanh(x) - t)))
    results = []
    for loss in (fused, fused.function):
        w = leaf(xp, numbers(6))

        def step(t, w=w, loss=loss):
            w.grad = None
            y = loss(w, t)
            y.backward()
            with ag.no_grad():
                w -= 0.1 * ag.Variable(w.grad)
            return y

        run = ag.compile(step)
        values = [run(leaf(xp, numbers(6, i), grad=False)).item() for i in range(6)]
        assert run.reason is None
        assert run.replays > 0
        results.append([*values, *w.numpy().tolist()])
    np.testing.assert_allclose(*results, rtol=1e-12)
