"""A gradient of exactly 0 stays 0 through infinite and NaN derivatives, inside nan_safe only."""

import asyncio

import numpy as np
import pytest
from operands import leaf

import autograd_gpu as ag

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

x = np.array([-1.0, 0.0, 4.0])
TRAPS = {
    "sqrt": (lambda v: ag.where(v > 0, ag.sqrt(v), v), [1, 1, 0.25], [0, 0, -1 / 32]),
    "log": (lambda v: ag.where(v > 0, ag.log(v), 0.0), [0, 0, 0.25], [0, 0, -1 / 16]),
    "reciprocal": (lambda v: ag.where(v > 0, 1 / v, v), [1, 1, -1 / 16], [0, 0, 1 / 32]),
    "divide": (lambda v: ag.where(v > 0, v / v**2, v), [1, 1, -1 / 16], [0, 0, 1 / 32]),
    "power": (lambda v: ag.where(v > 0, v**1.5, v), [1, 1, 3], [0, 0, 0.375]),
    "pow": (lambda v: ag.where(v > 0, v ** (v * 0 + 0.5), v), [1, 1, 0.25], [0, 0, -1 / 32]),
    "mask times": (
        lambda v: ag.where(v > 0, ag.log(v), 0) * (v > 0),
        [0, 0, 0.25],
        [0, 0, -1 / 16],
    ),
    "acos": (lambda v: ag.where(v < 0, ag.acos(v / 1), v), [-np.inf, 1, 1], None),
    "xlogy": (
        lambda v: ag.where(v > 0, ag.xlogy(v, v), 0.0),
        [0, 0, np.log(4) + 1],
        [0, 0, 0.25],
    ),
    "chain": (
        lambda v: ag.where(v > 0, ag.exp(ag.log(ag.sqrt(v)) * 2), 0.0),
        [0, 0, 1],
        [0, 0, 0],
    ),
}


@pytest.mark.parametrize("name", TRAPS)
def test_traps(name):
    f, first, _ = TRAPS[name]
    v = ag.Variable(x, requires_grad=True)
    with ag.nan_safe():
        f(v).sum().backward()
    np.testing.assert_allclose(v.grad, first, atol=1e-12)


@pytest.mark.parametrize("name", [name for name, case in TRAPS.items() if case[2] is not None])
def test_second_order(name):
    f, first, second = TRAPS[name]
    v = ag.Variable(x, requires_grad=True)
    with ag.nan_safe():
        g = ag.gradients(f(v).sum(), v, create_graph=True)
        np.testing.assert_allclose(g.numpy(), first, atol=1e-12)
        if g.requires_grad:
            h = ag.gradients(g.sum(), v, allow_unused=True)
            np.testing.assert_allclose(h.numpy(), second, atol=1e-12)


def test_it_is_opt_in():
    v = ag.Variable(x, requires_grad=True)
    ag.where(v > 0, ag.sqrt(v), v).sum().backward()
    assert np.isnan(v.grad[0])


def test_what_depends_on_the_element_stays_infinite_or_nan():
    v = ag.Variable(x, requires_grad=True)
    with ag.nan_safe():
        ag.sqrt(v).sum().backward()
    assert np.isnan(v.grad[0])
    assert np.isinf(v.grad[1])


def test_finite_derivatives_keep_their_graph_where_the_gradient_is_0():
    v = ag.Variable(np.array([0.0, 2.0]), requires_grad=True)
    with ag.nan_safe():
        g = ag.gradients((v * v).sum(), v, create_graph=True)  # 0 at 0
        h = ag.gradients((g * g).sum(), v)
    np.testing.assert_array_equal(h.numpy(), [0, 16])


@pytest.mark.parametrize("keepdims", [True, False])
@pytest.mark.parametrize("name", ["std", "prod", "logsumexp", "max", "var", "mean"])
def test_reductions_are_looked_at_row_by_row(name, keepdims):
    value = np.array([[np.inf, np.nan, 1.0], [1.0, 2.0, 4.0]])
    v = ag.Variable(value, requires_grad=True)
    w = ag.Variable(value[1:].copy(), requires_grad=True)
    rows = getattr(ag, name)(v, axis=1, keepdims=keepdims)
    with ag.nan_safe():
        (ag.where(ag.isfinite(rows), rows, 0.0)).sum().backward()
        getattr(ag, name)(w, axis=1).sum().backward()
    np.testing.assert_array_equal(v.grad[0], 0)
    np.testing.assert_allclose(v.grad[1:], w.grad)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "cumulative_prod"])
def test_rows(name):
    v = ag.Variable(np.array([[-np.inf, -np.inf], [1.0, 2.0]]), requires_grad=True)
    with ag.nan_safe():
        y = getattr(ag, name)(v, axis=1)
        ag.where(np.array([[False], [True]]), y, 0.0)[1, 0].backward()
    assert np.isfinite(v.grad).all()
    np.testing.assert_array_equal(v.grad[0], 0)


def test_other_ops_where_nothing_but_zeros_arrives():
    a = ag.Variable(np.full((2, 2), np.inf), requires_grad=True)
    b = ag.Variable(np.ones((2, 2)), requires_grad=True)
    with ag.nan_safe():
        (ag.where(False, a @ b, 1.0) * b).sum().backward()
    np.testing.assert_array_equal(a.grad, 0)
    np.testing.assert_array_equal(b.grad, 1)


def test_broadcast_operands():
    a = ag.Variable(np.array([[0.0], [2.0]]), requires_grad=True)
    b = ag.Variable(np.array([1.0, 2.0, 3.0]), requires_grad=True)
    with ag.nan_safe():
        ag.where(a > 0, b / a, 0.0).sum().backward()
    np.testing.assert_allclose(b.grad, [0.5, 0.5, 0.5])
    np.testing.assert_allclose(a.grad, [[0], [-1.5]])


def test_several_outputs_and_unused_ones():
    v = ag.Variable(np.array([0.0, 1.0, 2.0, 3.0]), requires_grad=True)
    with ag.nan_safe():
        first, _ = ag.split(v, 2)
        ag.where(first > 0, ag.log(first), 0.0).sum().backward()
    np.testing.assert_array_equal(v.grad, [0, 1, 0, 0])


def test_complex_numbers():
    v = ag.Variable(np.array([0j, 1 + 1j]), requires_grad=True)
    with ag.nan_safe():
        ag.where(np.array([False, True]), ag.sqrt(v), 0.0).real.sum().backward()
    assert v.grad[0] == 0
    assert np.isfinite(v.grad).all()


def test_as_a_decorator_and_in_tasks():
    @ag.nan_safe()
    def gradient():
        v = ag.Variable(x, requires_grad=True)
        ag.where(v > 0, ag.sqrt(v), v).sum().backward()
        return v.grad

    assert np.isfinite(gradient()).all()

    async def other():
        v = ag.Variable(x, requires_grad=True)
        ag.where(v > 0, ag.sqrt(v), v).sum().backward()
        return v.grad

    async def both():
        with ag.nan_safe():
            return await asyncio.create_task(other())

    assert np.isfinite(asyncio.run(both())).all()


def test_gradients_keep_dtype_and_hooks_see_the_zeros():
    seen = []
    v = ag.Variable(x.astype("f4"), requires_grad=True)
    v.register_hook(lambda g: seen.append(g.copy()))
    with ag.nan_safe(), ag.detect_anomaly():
        ag.where(v > 0, ag.sqrt(v), v).sum().backward()
    assert v.grad.dtype == np.float32
    assert np.isfinite(seen[0]).all()


def test_fused_functions_run_op_by_op():
    f = ag.fuse(lambda v: ag.where(v > 0, ag.sqrt(v), v))
    v = ag.Variable(x, requires_grad=True)
    with ag.nan_safe():
        f(v).sum().backward()
    np.testing.assert_array_equal(v.grad, [1, 1, 0.25])
    assert "nan_safe" in f.reason


@pytest.mark.parametrize("backend", ag.available_backends())
def test_on_every_backend(backend):
    v = ag.Variable(x).to(backend).detach()
    v.requires_grad = True
    with ag.nan_safe():
        y = ag.where(v > 0, ag.sqrt(v), v)
        z = ag.where(v[:1] > 0, ag.std(v[:2] / 0), 0.0)
        (y.sum() + z.to("numpy").sum().to(backend)).backward()
    np.testing.assert_array_equal(ag.Variable(v.grad).numpy(), [1, 1, 0.25])


@pytest.mark.parametrize("op", [ag.multiply, ag.divide, ag.pow, ag.logaddexp, ag.hypot])
def test_arrays_without_axes(op):
    """Of which NumPy makes scalars."""

    def derivatives():
        a, b = leaf(2.0), leaf(3.0)
        first = ag.gradients(op(a, b), [a, b], create_graph=True)
        (first[0] * first[1]).backward()
        return [*(g.value for g in first), a.grad, b.grad]

    expected = derivatives()
    with ag.nan_safe():
        found = derivatives()
    for x, y in zip(found, expected, strict=True):
        assert type(x) is np.ndarray
        np.testing.assert_array_equal(x, y)
