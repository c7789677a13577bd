"""Losses: values by their definition, derivatives, labels, shapes that differ."""

import numpy as np
import pytest
from operands import normal, on

import autograd_gpu as ag
import autograd_gpu.nn.functional as F
from autograd_gpu.backend import load_backend


def test_cross_entropy(backend):
    x, labels = 3 * normal(6, 4), [1, 0, 3, -100, 2, 1]
    kept = [i for i, label in enumerate(labels) if label >= 0]
    p = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    expected = -np.log(p[kept, [labels[i] for i in kept]]).mean()
    v = on(backend, x, True)
    loss = F.cross_entropy(v, labels)
    assert loss.item() == pytest.approx(expected, rel=1e-12)
    loss.backward()
    onehot = np.zeros((6, 4))
    onehot[kept, [labels[i] for i in kept]] = 1
    mask = onehot.sum(1, keepdims=True)
    np.testing.assert_allclose(
        ag.Variable(v.grad).numpy(), (p - onehot) * mask / 5, rtol=1e-10, atol=1e-15
    )


def test_labels_may_be_arrays_variables_lists_and_of_any_integer_type(backend):
    v = on(backend, normal(3, 4))
    expected = F.cross_entropy(v, [0, 1, 2]).item()
    array = load_backend(backend).from_host(np.array([0, 1, 2]))
    for labels in (array, ag.Variable(array), array.astype("uint8"), array.astype("int32")):
        assert F.cross_entropy(v, labels).item() == expected


@pytest.mark.parametrize("options", [{}, {"label_smoothing": 0.2}, {"reduction": "sum"}])
def test_cross_entropy_derivatives(options):
    weight = np.linspace(0.5, 2, 4)
    for more in ({}, {"weight": weight}):
        assert ag.grad_check(
            lambda x, m=more: F.cross_entropy(x, [1, -100, 3], **options, **m),
            [normal(3, 4)],
            order=2,
        )


def test_cross_entropy_of_half_precision_and_infinite_logits():
    x = ag.Variable(normal(4, 3).astype("float16"), True)
    F.cross_entropy(x, [0, 1, 2, 0]).backward()
    assert x.grad.dtype == np.float16
    loss = F.cross_entropy([[0.0, -float("inf"), 0.0]], [0])
    assert loss.item() == pytest.approx(np.log(2))


def test_cross_entropy_is_never_negative():
    for dtype in ("float32", "float64"):
        x = normal(500, 1).astype(dtype)
        rows = np.concatenate([x, np.full_like(x, -16)], axis=1)
        for logits in (x, rows):
            loss = F.cross_entropy(logits, np.zeros(500, int), reduction="none")
            assert loss.value.min() >= 0
            assert loss.value.max() < 1e-5


def test_cross_entropy_refuses():
    x = normal(3, 4)
    for bad in (4, -1):
        with pytest.raises(ValueError, match=rf"label {bad} is outside \[0, 4\)"):
            F.cross_entropy(x, [0, 1, bad])
        with pytest.raises(ValueError, match=rf"label {bad} is outside \[0, 4\)"):
            F.nll_loss(x, [0, 1, bad])
    with pytest.raises(ValueError, match=r"target \[2\] must be \[3\]"):
        F.cross_entropy(x, [0, 1])
    with pytest.raises(ValueError, match="shapes differ"):
        F.cross_entropy(x, normal(3, 3))
    with pytest.raises(ValueError, match="reduction is one of"):
        F.cross_entropy(x, [0, 1, 2], reduction="median")
    with pytest.raises(ValueError, match="label_smoothing"):
        F.cross_entropy(x, [0, 1, 2], label_smoothing=2)


PAIRS = [
    F.mse_loss, F.l1_loss, F.huber_loss, F.smooth_l1_loss, F.kl_div,
    F.binary_cross_entropy_with_logits, F.binary_cross_entropy,
]  # fmt: skip


@pytest.mark.parametrize("loss", PAIRS)
def test_losses_refuse_shapes_that_differ(loss):
    with pytest.raises(ValueError, match=r"\[3, 1\] and target \[3\]; losses do not broadcast"):
        loss(np.full((3, 1), 0.5), np.full(3, 0.5))


@pytest.mark.parametrize("loss", PAIRS)
def test_losses_keep_float32_and_run_on_every_backend(backend, loss):
    p = np.random.default_rng(0).uniform(0.1, 0.9, (2, 3, 4)).astype("float32")
    expected = ag.Variable(p[0], True)
    loss(expected, p[1]).backward()
    v = on(backend, p[0], True)
    y = loss(v, on(backend, p[1]))
    assert y.dtype == "float32"
    y.backward()
    np.testing.assert_allclose(ag.Variable(v.grad).numpy(), expected.grad, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_binary_cross_entropy_learns_from_a_probability_of_0_or_1(backend, dtype):
    p = on(backend, np.array([0.0, 1.0, 1e-30, 0.25], dtype), True)
    target = on(backend, np.array([1, 0, 1, 0], dtype))
    loss = F.binary_cross_entropy(p, target, reduction="none")
    expected = [100, 100, -np.log(np.array(1e-30, dtype)), -np.log(0.75)]
    np.testing.assert_allclose(loss.numpy(), expected, rtol=1e-6)
    loss.sum().backward()
    np.testing.assert_allclose(
        ag.Variable(p.grad).numpy(), [-1e12, 1e12, -1e12, 1 / 0.75], rtol=1e-6
    )


def test_labels_that_are_all_ignored_leave_the_parameters_as_they_are(backend):
    for loss in (F.cross_entropy, F.nll_loss):
        for weight in (None, [0.5, 1.0, 2.0]):
            v = on(backend, normal(2, 3), True)
            y = loss(v, [-100, -100], weight)
            assert np.isnan(y.item())
            y.backward()
            assert not ag.Variable(v.grad).numpy().any()


WITH_NUMBERS = {
    "mse_loss": F.mse_loss,
    "mse_loss, weighted": lambda x, t: F.mse_loss(x, t, weight=x.detach()),
    "l1_loss": F.l1_loss,
    "smooth_l1_loss": F.smooth_l1_loss,
    "huber_loss": F.huber_loss,
    "binary_cross_entropy": F.binary_cross_entropy,
    "binary_cross_entropy_with_logits": F.binary_cross_entropy_with_logits,
    "multilabel_soft_margin_loss": F.multilabel_soft_margin_loss,
    "poisson_nll_loss": F.poisson_nll_loss,
    "gaussian_nll_loss": lambda x, t: F.gaussian_nll_loss(x, t, x * x),
    "kl_div": F.kl_div,
    "soft_margin_loss": F.soft_margin_loss,
    "margin_ranking_loss": lambda x, t: F.margin_ranking_loss(x, x * x, t),
}


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.bool_])
@pytest.mark.parametrize("name", WITH_NUMBERS)
def test_whole_targets_leave_the_dtype_as_it_is(backend, name, kind):
    """An int64 beside a float32 would make all of the step float64."""
    if backend == "cupy" and kind is not np.int64:
        pytest.skip("the kernels are the same")
    x, target = np.array([0.25, 0.5, 0.75]), np.array([0, 1, 1])
    exact = ag.Variable(x, True)
    loss = WITH_NUMBERS[name](exact, target.astype("f8"))
    loss.backward()
    dtypes = ["float32", "float16"] if backend == "numpy" else ["float32"]
    for dtype in dtypes:
        for given in (on(backend, target.astype(kind)), on(backend, target.astype(kind)).value):
            v = on(backend, x.astype(dtype), True)
            y = WITH_NUMBERS[name](v, given)
            y.backward()
            assert y.dtype == v.grad.dtype == dtype
            tolerance = {"rtol": 5e-3, "atol": 5e-3} if dtype == "float16" else {"rtol": 1e-5}
            np.testing.assert_allclose(y.numpy(), loss.value, **tolerance)
            np.testing.assert_allclose(ag.Variable(v.grad).numpy(), exact.grad, **tolerance)


def test_lists_and_single_numbers_are_targets_still(backend):
    x = on(backend, np.array([0.5, 2.0], "f4"), True)
    assert F.mse_loss(x, [0, 1]).item() == pytest.approx((0.25 + 1) / 2)
    assert F.l1_loss(x, [0, 1]).dtype == "float32"
    assert F.mse_loss(on(backend, np.array(2.0, "f4")), 1).item() == 1
