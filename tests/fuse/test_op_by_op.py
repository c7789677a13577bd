"""fuse: what cannot be one kernel runs op by op, says why, and has the same derivatives."""

import warnings

import numpy as np
import pytest
from fused import close, leaf, numbers

import autograd_gpu as ag
from autograd_gpu.backend import load_backend


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: x.sum(), "nothing but sums"),
        (lambda x: (ag.exp(x).sum(), ag.exp(x)), "together with what is none"),
        (lambda x: (ag.exp(x).sum(0), ag.exp(x).sum(1)), "over different axes"),
        (lambda x: ag.exp(x).sum(0) + ag.exp(x).sum(1), "over different axes"),
        (lambda x: ag.exp(x) - ag.exp(x).sum(), "elements with a sum"),
        (lambda x: ag.exp(x).sum(0).sum(), "sums what is a sum"),
        (lambda x: ag.sqrt((x * x).sum()), "its gradient"),
        (lambda x: ag.exp(x).sum(0) * ag.exp(x).mean(0), "its gradient"),
        (lambda x: ag.exp(x).sum(axis=()), "of nothing"),
        (lambda x: ag.exp(x).max(), "max"),
        (lambda x: ag.mean(ag.exp(x), dtype="int32"), "in integers"),
        (lambda x: np.sum(ag.exp(x), where=np.arange(3) > 0), "no argument"),
    ],
)
def test_what_cannot_be_fused_runs_op_by_op(function, reason):
    fused = ag.fuse(function)
    x = ag.Variable(numbers((3, 3)), requires_grad=True)
    results = []
    for f in (fused, function):
        y = f(x)
        results.append(y if isinstance(y, tuple) else (y,))
    assert reason in fused.reason
    for got, want in zip(*results, strict=True):
        close(got, want)
        close(*[ag.gradients(v.sum(), x, retain_graph=True) for v in (got, want)])


def test_without_a_gradient_any_function_may_follow_a_sum(xp):
    fused = ag.fuse(lambda x: ag.sqrt(ag.sum(x * x, axis=0)) / ag.sum(ag.abs(x), axis=0))
    x = leaf(xp, numbers((4, 3)), grad=False)
    close(fused(x), fused.function(x))
    assert fused.reason is None


def test_errors_are_those_of_the_ops():
    fused = ag.fuse(lambda x: ag.exp(x).sum(axis=2))
    with pytest.raises(IndexError, match="axis 2 is out of bounds"):
        fused(ag.Variable(numbers((3, 4))))
    mean = ag.fuse(lambda x: ag.exp(x).mean())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isnan(mean(ag.Variable(np.ones((0, 2)))).item())
    assert "mean of nothing" in mean.reason


def test_axes_that_the_ops_refuse_are_refused():
    x = ag.Variable(numbers((3, 4)))
    for axis, error in (((0, 0), ValueError), ((0, -2), ValueError), (True, TypeError)):
        with pytest.raises(error):
            ag.fuse(lambda x, axis=axis: ag.exp(x).sum(axis=axis))(x)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x, y: (x * x).sum() + (0 * y).sum(), "different axes, or not of one shape"),
        (lambda x, y: (x * y).sum() * x.shape[1], "depends on the shape of an argument"),
        (lambda x, y: (x * y).sum(axis=x.ndim - 1), None),
    ],
)
def test_arguments_have_their_own_shapes(function, reason):
    fused = ag.fuse(function)
    x, y = ag.Variable(numbers((3, 1)), requires_grad=True), ag.Variable(numbers(4))
    close(fused(x, y), function(x, y))
    assert fused.reason is None if reason is None else reason in fused.reason


@pytest.mark.parametrize(
    "function",
    [
        lambda x, r: x * r,
        lambda x, r: ag.tanh(x) + r,
        lambda x, r: (x + r).sum(),
        lambda x, r: ag.sum(x * r, axis=0),
        lambda x, r: ag.exp(x * r),
    ],
)
@pytest.mark.parametrize("shape", [(5,), (4, 1), (1, 5), ()])
def test_where_a_gradients_gradient_is_not_fused(function, shape):
    """Op by op it has the argument's own shape, and not that of all arguments."""
    results = []
    for f in (ag.fuse(function), function):
        x, r = leaf(load_backend("numpy"), numbers((4, 5))), ag.Variable(numbers(shape, 1))
        r.requires_grad = True
        y = f(x, r)
        first = ag.gradients((y * y).sum(), [x, r], create_graph=True)
        with ag.nan_safe():
            second = ag.gradients((first[1] * first[1]).sum(), [x, r], create_graph=True)
        third = ag.gradients(second[1].sum(), [x, r], create_graph=True, allow_unused=True)
        results.append([*first, *second, *third])
    for got, want in zip(*results, strict=True):
        if want is None:
            assert got is None or not got.value.any()
        else:
            close(got, want)


@pytest.mark.parametrize("w", [np.array(2.0), ag.Variable(np.array(2.0), requires_grad=True)])
def test_a_number_from_elsewhere_that_may_change(w):
    """It is an array without axes, and may have a gradient."""
    fused = ag.fuse(lambda x: (x * w).sum())
    x = ag.Variable(np.ones(3), requires_grad=True)
    y = fused(x)
    assert "no argument" in fused.reason
    if isinstance(w, ag.Variable):
        assert ag.gradients(y, w).item() == 3
    (w.value if isinstance(w, ag.Variable) else w)[...] = 5
    assert fused(x).item() == 15


def test_outputs_that_no_gradient_flows_through():
    for f in (
        lambda x, y: (x * y, y * y),
        lambda x, y: (ag.sum(x * y), ag.sum(y * y)),
        lambda x, y: (x * y, x > y),
    ):
        fused = ag.fuse(f)
        x, y = ag.Variable(numbers(3), requires_grad=True), ag.Variable(numbers(3, 1))
        assert [z.requires_grad for z in fused(x, y)] == [True, False]
        assert fused.reason is None
    nothing = ag.fuse(lambda x: ag.sum(x.detach() * 2))
    assert not nothing(x).requires_grad
    assert nothing.reason is None
