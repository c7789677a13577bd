"""Recurrent layers, attention and other modules with PyTorch's weights, against PyTorch's."""

import numpy as np
import pytest
from parity import normal, torch

import autograd_gpu as ag
from autograd_gpu import nn

pytestmark = pytest.mark.filterwarnings("ignore:.*nested", "ignore:Using padding", "ignore:Support")


def twins(name, *args, **kwargs):
    """The module of that name here and in PyTorch, in float64 and with the same weights."""
    theirs = getattr(torch.nn, name)(*args, **kwargs).double()
    ours = getattr(nn, name)(*args, **kwargs).to("float64")
    assert [n for n, _ in ours.named_parameters()] == [n for n, _ in theirs.named_parameters()]
    ours.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
    return ours, theirs


def leaves(result):
    if isinstance(result, (tuple, list)):
        return [leaf for item in result if item is not None for leaf in leaves(item)]
    return [result]


def compare_modules(ours, theirs, *inputs, **options):
    xs = [ag.Variable(x, True) for x in inputs]
    ts = [torch.tensor(x, requires_grad=True) for x in inputs]
    ys = leaves(ours(*xs, **options))
    tensors = {k: torch.tensor(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
    expected = leaves(theirs(*ts, **tensors))
    assert len(ys) == len(expected)
    for y, e in zip(ys, expected, strict=True):
        assert y.shape == tuple(e.shape)
        np.testing.assert_allclose(y.value, e.detach().numpy(), rtol=1e-7, atol=1e-12)
    sum(ag.sum(y * normal(*y.shape)) for y in ys).backward()
    sum((e * torch.tensor(normal(*e.shape))).sum() for e in expected).backward()
    for x, t in zip(xs, ts, strict=True):
        np.testing.assert_allclose(x.grad, t.grad.numpy(), rtol=1e-7, atol=1e-11)
    for (name, p), q in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(
            p.grad, q.grad.numpy(), rtol=1e-7, atol=1e-11, err_msg=name
        )  # fmt: skip


RECURRENT = [
    {},
    {"bias": False},
    {"num_layers": 2, "batch_first": True},
    {"num_layers": 2, "bidirectional": True},
]


@pytest.mark.parametrize("options", RECURRENT, ids=str)
@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_recurrent(name, options):
    ours, theirs = twins(name, 3, 4, **options)
    x = normal(5, 2, 3)
    compare_modules(ours, theirs, x)
    ours.zero_grad()
    theirs.zero_grad()
    n = x.shape[0] if options.get("batch_first") else x.shape[1]
    rows = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
    h, c = normal(rows, n, 4), normal(rows, n, 4) / 2
    if name == "LSTM":
        state = (ag.Variable(h), ag.Variable(c)), (torch.tensor(h), torch.tensor(c))
    else:
        state = ag.Variable(h), torch.tensor(h)
    compare_modules(lambda_(ours, state[0]), lambda_(theirs, state[1]), x)
    y, last = ours(x[0])  # no batch
    expected, t_last = theirs(torch.tensor(x[0]))
    np.testing.assert_allclose(y.value, expected.detach().numpy(), rtol=1e-7)
    for a, b in zip(leaves(last), leaves(t_last), strict=True):
        np.testing.assert_allclose(a.value, b.detach().numpy(), rtol=1e-7)


class lambda_:
    """A module with a state given."""

    def __init__(self, module, state):
        self.module, self.state = module, state
        self.named_parameters, self.parameters = module.named_parameters, module.parameters

    def __call__(self, x):
        return self.module(x, self.state)


def test_rnn_with_relu():
    compare_modules(*twins("RNN", 3, 4, nonlinearity="relu", num_layers=2), normal(5, 2, 3))


@pytest.mark.parametrize("name", ["RNNCell", "LSTMCell", "GRUCell"])
def test_cells(name):
    ours, theirs = twins(name, 3, 4)
    compare_modules(ours, theirs, normal(2, 3))
    h = normal(2, 4)
    state = (h, h / 2) if name == "LSTMCell" else h
    t_state = tuple(map(torch.tensor, state)) if name == "LSTMCell" else torch.tensor(state)
    for y, e in zip(
        leaves(ours(normal(2, 3), state)),
        leaves(theirs(torch.tensor(normal(2, 3)), t_state)),
        strict=True,
    ):
        np.testing.assert_allclose(y.value, e.detach().numpy(), rtol=1e-7)


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_recurrent_derivatives_to_second_order(name):
    module = getattr(nn, name)(2, 3, bidirectional=True).to("float64")

    def f(x, w):
        y, last = module(x * w)
        return ag.sum(y**2) + sum(ag.sum(s * s * s) for s in leaves(last))

    assert ag.grad_check(f, [normal(3, 2, 2), normal(2)], order=2)


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("masks", ["none", "causal", "padding", "both", "numbers", "heads"])
def test_multihead_attention(batch_first, need_weights, masks):
    ours, theirs = twins("MultiheadAttention", 8, 2, batch_first=batch_first)
    causal = np.triu(np.ones((4, 4), bool), 1)
    padding = np.zeros((3, 4), bool)
    padding[1, 3] = padding[2, 2:] = True
    options = {
        "none": {},
        "causal": {"attn_mask": causal},
        "padding": {"key_padding_mask": padding},
        "both": {"attn_mask": causal, "key_padding_mask": padding},
        "numbers": {"attn_mask": normal(4, 4)},
        "heads": {"attn_mask": normal(6, 4, 4)},
    }[masks]
    shape = (3, 4, 8) if batch_first else (4, 3, 8)
    inputs = [normal(*shape), normal(*shape) + 0.3, normal(*shape) - 0.2]
    compare_modules(ours, theirs, *inputs, need_weights=need_weights, **options)
    ours.zero_grad()
    theirs.zero_grad()
    compare_modules(
        Same(ours, need_weights, options), Same(theirs, need_weights, options), inputs[0]
    )


class Same:
    """Attention of a sequence to itself."""

    def __init__(self, module, need_weights, options):
        self.module, self.need_weights, self.options = module, need_weights, options
        self.named_parameters, self.parameters = module.named_parameters, module.parameters

    def __call__(self, x):
        options = self.options
        if isinstance(x, torch.Tensor):
            options = {k: torch.tensor(v) for k, v in options.items()}
        return self.module(
            x, x, x, need_weights=self.need_weights, average_attn_weights=False, **options
        )


def test_multihead_attention_of_other_widths_and_without_batch():
    ours, theirs = twins("MultiheadAttention", 6, 3, kdim=4, vdim=5, bias=False)
    compare_modules(ours, theirs, normal(4, 2, 6), normal(3, 2, 4), normal(3, 2, 5))
    ours.zero_grad()
    theirs.zero_grad()
    compare_modules(ours, theirs, normal(4, 6), normal(3, 4), normal(3, 5))


def test_attention_of_fully_masked_rows_is_finite():
    attention = nn.MultiheadAttention(4, 2, batch_first=True)
    x = ag.Variable(normal(1, 3, 4).astype("f4"), True)
    y, weights = attention(x, x, x, key_padding_mask=np.ones((1, 3), bool))
    assert not weights.value.any()
    ag.sum(y**2).backward()
    assert np.isfinite(x.grad).all()


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("batch_first", [False, True])
def test_transformer_encoder_layer(norm_first, activation, batch_first):
    ours, theirs = twins(
        "TransformerEncoderLayer", 8, 2, 16, 0.0, activation=activation,
        norm_first=norm_first, batch_first=batch_first,
    )  # fmt: skip
    mask = np.triu(np.ones((4, 4), bool), 1)
    shape = (3, 4, 8) if batch_first else (4, 3, 8)
    compare_modules(ours, theirs, normal(*shape), src_mask=mask)


def test_transformer_encoder():
    options = {"dropout": 0.0, "batch_first": True}
    theirs = torch.nn.TransformerEncoder(
        torch.nn.TransformerEncoderLayer(8, 2, 16, **options), 2, torch.nn.LayerNorm(8)
    ).double()
    ours = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(8, 2, 16, **options), 2, nn.LayerNorm(8)
    ).to("float64")
    ours.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
    compare_modules(ours, theirs, normal(3, 4, 8))


MODULES = [
    ("Conv1d", (4, 6, 3), {"stride": 2, "padding": 1, "groups": 2}, (2, 4, 7)),
    ("Conv3d", (2, 3, 2), {"padding": "same"}, (1, 2, 3, 4, 5)),
    ("ConvTranspose1d", (4, 6, 3), {"stride": 2, "output_padding": 1}, (2, 4, 7)),
    ("ConvTranspose2d", (4, 6, 3), {"groups": 2, "dilation": 2}, (2, 4, 5, 4)),
    ("ConvTranspose3d", (2, 3, 2), {"bias": False}, (1, 2, 3, 4, 2)),
    ("MaxPool1d", (2,), {}, (2, 3, 7)),
    ("MaxPool3d", (2, 1), {}, (2, 3, 4, 4, 3)),
    ("AvgPool1d", (2,), {}, (2, 3, 7)),
    ("AvgPool3d", (2, 1), {}, (2, 3, 4, 4, 3)),
    ("AdaptiveMaxPool2d", (2,), {}, (2, 3, 5, 4)),
    ("AdaptiveAvgPool1d", (2,), {}, (2, 3, 5)),
    ("Upsample", (), {"scale_factor": 2, "mode": "bilinear"}, (2, 3, 5, 4)),
    ("PReLU", (3,), {}, (2, 3, 5)),
    ("Softmin", (), {"dim": 1}, (2, 3)),
    ("Hardswish", (), {}, (2, 3)),
    ("Unflatten", (1, (2, 3)), {}, (2, 6)),
    ("BatchNorm3d", (3,), {}, (2, 3, 2, 2, 3)),
    ("InstanceNorm2d", (3,), {"affine": True}, (2, 3, 4, 3)),
    ("CosineSimilarity", (), {}, (2, 3)),
]


@pytest.mark.parametrize(("name", "args", "options", "shape"), MODULES)
def test_modules(name, args, options, shape):
    ours, theirs = twins(name, *args, **options)
    inputs = [normal(*shape)] * (2 if name == "CosineSimilarity" else 1)
    compare_modules(ours, theirs, *inputs)


REFUSED = [
    (lambda: nn.LSTM(3, 0), "must be positive"),
    (lambda: nn.GRU(3, 4, dropout=2.0), "probability"),
    (lambda: nn.RNN(3, 4, nonlinearity="sin"), "'tanh' or 'relu'"),
    (lambda: nn.LSTM(3, 4)(np.ones((5, 2, 4))), "input_size=3"),
    (lambda: nn.GRU(3, 4)(np.ones((0, 2, 3))), "at least one step"),
    (lambda: nn.GRU(3, 4)(np.ones((5, 2, 3)), np.ones((1, 3, 4))), r"1 of \[1, 2, 4\]"),
    (lambda: nn.MultiheadAttention(7, 2), "multiple of num_heads"),
    (lambda: nn.MultiheadAttention(8, 2)(*[np.ones((3, 2, 7))] * 3), r"\[L, N, 8\]"),
    (
        lambda: nn.MultiheadAttention(8, 2)(*[np.ones((3, 2, 8))] * 3, attn_mask=np.ones((2, 3))),
        r"attn_mask \[2, 3\] must be \[3, 3\]",
    ),
    (
        lambda: nn.MultiheadAttention(8, 2)(
            *[np.ones((3, 2, 8))] * 3, key_padding_mask=np.ones((3, 2), bool)
        ),
        r"key_padding_mask \[3, 2\] must be \[2, 3\]",
    ),
    (lambda: nn.TransformerEncoderLayer(8, 2, activation="sin"), "'relu', 'gelu'"),
    (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2), 0), "positive"),
    (lambda: nn.Conv3d(3, 4, 2, groups=2), "multiples of groups"),
    (lambda: nn.ConvTranspose2d(2, 2, 3, padding="same"), "integer or a pair"),
    (lambda: nn.init.trunc_normal_(ag.Variable(np.ones(3)), a=2.0, b=1.0), "nothing of mean"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
