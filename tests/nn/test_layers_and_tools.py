"""Edge cases of attention and dropout, initial values, summary, and state from elsewhere."""

import numpy as np
import pytest

import autograd_gpu as ag
import autograd_gpu.nn.functional as F
from autograd_gpu import nn
from autograd_gpu.backend import load_backend


def normal(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape)


def on(backend, x, requires_grad=False):
    return ag.Variable(load_backend(backend).from_host(np.asarray(x)), requires_grad)


# Dropout ----------------------------------------------------------------------------------------


def test_dropout_has_the_same_mask_again_in_checkpoint(backend):
    x = on(backend, np.ones((50, 50)), True)
    w = on(backend, normal(50, 50), True)

    def f(x):
        return F.dropout(x @ w, 0.5) * F.dropout(x, 0.3)

    def gradients(call):
        ag.random.manual_seed(7)
        for v in (x, w):
            v.zero_grad()
        ag.sum(call(x) ** 2).backward()
        after = F.dropout(on(backend, np.ones(20))).numpy()
        return ag.Variable(x.grad).numpy(), ag.Variable(w.grad).numpy(), after

    for a, b in zip(gradients(f), gradients(lambda x: ag.checkpoint(f, x)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_dropout_of_a_module_with_its_own_generator_repeats():
    masks = []
    for _ in range(2):
        layer = nn.Dropout(0.5, generator=ag.random.Generator(3))
        masks.append(layer(np.ones(100)).value)
    np.testing.assert_array_equal(*masks)


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_dropout_at_the_ends(backend, p):
    x = on(backend, normal(3, 4), True)
    y = F.dropout(x, p)
    np.testing.assert_array_equal(y.numpy(), normal(3, 4) * (1 - p))
    ag.sum(y).backward()
    np.testing.assert_array_equal(ag.Variable(x.grad).numpy(), np.full((3, 4), 1 - p))
    with pytest.raises(ValueError, match="probability"):
        F.dropout(x, 1.5)


# Attention --------------------------------------------------------------------------------------


def attention_by_definition(q, k, v, mask=None, causal=False, scale=None):
    s = q @ np.swapaxes(k, -1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if causal:
        s = np.where(np.tril(np.ones(s.shape[-2:], bool)), s, -np.inf)
    if mask is not None:
        s = np.where(mask, s, -np.inf) if mask.dtype == bool else s + mask
    top = s.max(-1, keepdims=True)
    e = np.exp(s - np.where(np.isinf(top), 0, top))
    total = e.sum(-1, keepdims=True)
    return e / np.where(total == 0, 1, total) @ v


@pytest.mark.parametrize(("length", "keys"), [(3, 5), (5, 3), (1, 4), (4, 1)])
@pytest.mark.parametrize("causal", [False, True])
def test_attention_of_other_lengths(backend, length, keys, causal):
    arrays = normal(2, length, 4), normal(2, keys, 4), normal(2, keys, 3)
    y = F.scaled_dot_product_attention(
        *(on(backend, a) for a in arrays), is_causal=causal, scale=0.7
    )
    expected = attention_by_definition(*arrays, causal=causal, scale=0.7)
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-10)


def test_attention_with_causal_and_mask_together_and_batches_that_broadcast(backend):
    q, k, v = normal(2, 1, 4, 3), normal(3, 4, 3), normal(4, 5)
    mask = np.random.default_rng(0).random((2, 1, 4, 4)) < 0.6
    y = F.scaled_dot_product_attention(
        on(backend, q), on(backend, k), on(backend, v), on(backend, mask), is_causal=True
    )
    expected = attention_by_definition(q, k, v, mask, causal=True)
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-10, atol=1e-15)


def test_attention_gives_gradients_to_a_mask_of_numbers():
    arrays = [normal(2, 3, 4), normal(2, 5, 4), normal(2, 5, 4), normal(3, 5)]
    assert ag.grad_check(F.scaled_dot_product_attention, arrays, order=2, fast=True)


def test_attention_of_large_scores_does_not_overflow(backend):
    q = on(backend, 1e4 * normal(2, 3, 4).astype("f4"), True)
    y = F.scaled_dot_product_attention(q, q, q, is_causal=True)
    ag.sum(y).backward()
    assert np.isfinite(y.numpy()).all()
    assert np.isfinite(ag.Variable(q.grad).numpy()).all()


def test_attention_refuses():
    q = normal(2, 3, 4)
    with pytest.raises(ValueError, match=r"must be \[..., L, E\]"):
        F.scaled_dot_product_attention(q, normal(2, 3, 5), q)
    with pytest.raises(ValueError, match=r"must be \[..., L, E\]"):
        F.scaled_dot_product_attention(q, q, normal(2, 4, 4))
    with pytest.raises(ValueError, match=r"attn_mask \[2, 2\]"):
        F.scaled_dot_product_attention(q, q, q, np.ones((2, 2), bool))
    with pytest.raises(ValueError, match="probability"):
        F.scaled_dot_product_attention(q, q, q, dropout_p=-1)


# Norms ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 5)])
def test_batch_norm_derivatives(weighted, shape):
    operands = [normal(*shape)] + [1 + normal(3) / 4, normal(3)] * weighted

    def f(x, *more):
        return F.batch_norm(x, None, None, *more, training=True) ** 2

    assert ag.grad_check(f, operands, order=2)
    mean, var = normal(3), 1 + normal(3) ** 2

    def g(x, *more):
        return F.batch_norm(x, mean, var, *more) ** 2

    assert ag.grad_check(g, operands, order=2)


def test_batch_norm_is_the_same_on_every_backend(backend):
    arrays = [normal(4, 3, 5), normal(3), normal(3)]

    def run(name):
        xs = [on(name, a, True) for a in arrays]
        y = F.batch_norm(xs[0], None, None, *xs[1:], training=True)
        first = ag.gradients(ag.sum(y**3), xs, create_graph=True)
        second = ag.gradients(sum(ag.sum(g * g) for g in first), xs)
        return [v.numpy() for v in (y, *first, *second)]

    for a, b in zip(run(backend), run("numpy"), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_rms_norm_derivatives():
    assert ag.grad_check(lambda x, w: F.rms_norm(x, (3, 4), w), [normal(2, 3, 4), normal(3, 4)],
                         order=2)  # fmt: skip
    assert ag.grad_check(lambda x: F.rms_norm(x, 4), [normal(2, 3, 4)], order=2)


NORMS = [
    (lambda x: F.batch_norm(x, None, None, np.ones(2), training=True), r"weight \[2\] must be \[3"),
    (lambda x: F.batch_norm(x, np.ones(2), np.ones(3)), r"running_mean \[2\]"),
    (lambda x: F.batch_norm(x[:1, :, 0], None, None, training=True), "no variance"),
    (lambda x: F.group_norm(x, 2), "multiple of 2"),
    (lambda x: F.group_norm(x, 3, np.ones(2)), r"weight \[2\] must be \[3\]"),
    (lambda x: F.rms_norm(x, 4), r"must end in \[4\]"),
    (lambda x: F.rms_norm(x, 5, np.ones(4)), r"weight \[4\] must be \[5\]"),
    (lambda x: F.layer_norm(x, 4), r"must end in \[4\]"),
    (lambda x: F.instance_norm(x[:, :, :1]), "more than one"),
    (lambda x: F.instance_norm(x, np.ones(3), np.ones(2)), r"must be \[3\]"),
]


@pytest.mark.parametrize(("call", "message"), NORMS)
def test_norms_refuse(call, message):
    with pytest.raises(ValueError, match=message):
        call(normal(4, 3, 5))


# Initial values ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mean", "std", "a", "b"), [(0, 1, -2, 2), (1, 2, 0.5, 1), (0, 1, 2, 3), (0, 1, -3, -2.5)]
)
def test_truncated_normal(mean, std, a, b):
    stats = pytest.importorskip("scipy.stats")
    x = ag.Variable(np.zeros(20_000))
    nn.init.trunc_normal_(x, mean, std, a, b, ag.random.Generator(0))
    assert x.value.min() >= a
    assert x.value.max() <= b
    expected = stats.truncnorm((a - mean) / std, (b - mean) / std, mean, std)
    assert stats.kstest(x.value, expected.cdf).pvalue > 0.01


def test_orthogonal():
    for shape in ((4, 9), (9, 4), (3, 2, 5)):
        x = nn.init.orthogonal_(ag.Variable(np.zeros(shape)), gain=2.0).value.reshape(shape[0], -1)
        gram = x @ x.T if x.shape[0] <= x.shape[1] else x.T @ x
        np.testing.assert_allclose(gram, 4 * np.eye(len(gram)), atol=1e-12)


# Summary and state ------------------------------------------------------------------------------


def test_summary():
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(144, 10))
    net[3].weight.requires_grad = False
    table = nn.summary(net, np.ones((2, 1, 8, 8), "f4"))
    assert "[2, 4, 6, 6]" in table
    assert "1,450" in table
    assert "1,498 parameters, 58 of them trained; 5,992 bytes" in table
    assert net.training
    assert not net[1].running_mean.value.any()
    assert not net._hooks
    lstm = nn.summary(nn.LSTM(3, 4), np.ones((5, 2, 3), "f4"))
    assert "[5, 2, 4], [1, 2, 4], [1, 2, 4]" in lstm
    assert "Linear" in nn.summary(net)  # without shapes


def test_summary_leaves_no_hooks_where_the_call_fails():
    net = nn.Sequential(nn.Linear(3, 2))
    with pytest.raises(ValueError, match="linear"):
        nn.summary(net, np.ones((1, 4)))
    assert not net[0]._hooks
    assert net[0].training


def test_state_from_pytorch_loads_without_its_counters():
    layer = nn.BatchNorm1d(2)
    state = {**layer.state_dict(), "num_batches_tracked": np.array(3)}
    assert layer.load_state_dict(state) == ([], [])
    with pytest.raises(ValueError, match="unexpected: other"):
        layer.load_state_dict({**state, "other": np.array(3)})


def test_repr_of_new_layers():
    assert repr(nn.LSTM(3, 4, num_layers=2, bidirectional=True)) == (
        "LSTM(3, 4, num_layers=2, bidirectional=True)"
    )
    assert repr(nn.ConvTranspose2d(2, 4, 3, 2, output_padding=1)) == (
        "ConvTranspose2d(2, 4, kernel_size=(3, 3), stride=(2, 2), output_padding=(1, 1))"
    )
    assert repr(nn.AvgPool3d(2)) == "AvgPool3d(kernel_size=2, stride=2, padding=0)"
    assert repr(nn.ELU(0.5)) == "ELU(alpha=0.5)"


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_batch_norm_of_other_types(backend, dtype):
    x = on(backend, normal(64, 3, 5).astype(dtype), True)
    w, b = (on(backend, normal(3).astype("f4"), True) for _ in range(2))
    y = F.batch_norm(x, None, None, w, b, training=True)
    ag.sum(y * on(backend, normal(64, 3, 5).astype("f4"))).backward()
    exact = ag.Variable(normal(64, 3, 5).astype(dtype).astype("f8"), True)
    expected = F.batch_norm(exact, None, None, normal(3), normal(3), training=True)
    ag.sum(expected * normal(64, 3, 5)).backward()
    tolerance = 1e-5 if dtype == "float32" else 1e-2
    np.testing.assert_allclose(y.numpy(), expected.value, tolerance, tolerance)
    got = ag.Variable(x.grad).numpy()
    assert got.dtype == dtype
    np.testing.assert_allclose(got, exact.grad, tolerance, tolerance)


@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
def test_recurrent_layers_are_the_same_on_every_backend(backend, kind):
    def run(name):
        layer = kind(3, 4, num_layers=2, bidirectional=True, generator=ag.random.Generator(1))
        layer = layer.to("float64").to(name)
        x = on(name, normal(5, 2, 3), True)
        inputs = [x, *layer.parameters()]
        y, _ = layer(x)
        first = ag.gradients(ag.sum(y**3), inputs, create_graph=True)
        second = ag.gradients(sum(ag.sum(g * g) for g in first), inputs)
        return [v.numpy() for v in (y, *first, *second)]

    for a, b in zip(run(backend), run("numpy"), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


def test_a_recurrent_layer_is_one_node_a_direction():
    y, _ = nn.LSTM(3, 4)(np.ones((5, 2, 3), "f4"))
    names, stack = [], [y.grad_fn]
    while stack:
        node = stack.pop()
        names.append(node.name)
        stack += [edge for edge in node.edges if edge is not None]
    assert names.count("recurrence") == 1
    assert len(names) < 12


def test_batch_norm_without_momentum_is_refused_where_it_is_made():
    with pytest.raises(ValueError, match="BatchNorm1d: momentum is a number, not None"):
        nn.BatchNorm1d(3, momentum=None)
