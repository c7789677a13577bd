"""Attention and the transformer with PyTorch's weights, against PyTorch's."""

import numpy as np
import pytest
from parity import close, compare_modules, normal, torch, twins

import autograd_gpu as ag
from autograd_gpu import nn

pytestmark = pytest.mark.filterwarnings("ignore:.*nested", "ignore:Support")


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


MORE_KEYS = [{"add_bias_kv": True}, {"add_zero_attn": True},
             {"add_bias_kv": True, "add_zero_attn": True}]  # fmt: skip


@pytest.mark.parametrize("more", MORE_KEYS, ids=str)
@pytest.mark.parametrize("masks", ["none", "causal", "padding", "both", "numbers"])
def test_attention_with_more_keys(more, masks):
    ours, theirs = twins("MultiheadAttention", 8, 2, **more)
    causal = np.triu(np.ones((4, 4), bool), 1)
    padding = np.zeros((3, 4), bool)
    padding[1, 3] = padding[2, 2:] = True
    options = {
        "none": {},
        "causal": {"attn_mask": causal},
        "padding": {"key_padding_mask": padding},
        "both": {"attn_mask": causal, "key_padding_mask": padding},
        "numbers": {"attn_mask": normal(4, 4)},
    }[masks]
    inputs = normal(4, 3, 8), normal(4, 3, 8) + 0.3, normal(4, 3, 8) - 0.2
    compare_modules(ours, theirs, *inputs, **options)
    if masks == "causal":
        y, _ = ours(*inputs, is_causal=True)
        expected, _ = ours(*inputs, attn_mask=causal)
        np.testing.assert_allclose(y.value, expected.value, rtol=1e-12)


DECODERS = [{}, {"norm_first": True, "activation": "gelu"}, {"bias": False}]


@pytest.mark.parametrize("options", DECODERS, ids=str)
@pytest.mark.parametrize("batch_first", [False, True])
def test_transformer_decoder_layer(options, batch_first):
    ours, theirs = twins(
        "TransformerDecoderLayer", 8, 2, 16, 0.0, batch_first=batch_first, **options
    )
    padding = np.zeros((3, 5), bool)
    padding[1, 3:] = True
    shapes = ((3, 4, 8), (3, 5, 8)) if batch_first else ((4, 3, 8), (5, 3, 8))
    compare_modules(
        ours, theirs, *[normal(*shape) for shape in shapes],
        tgt_mask=np.triu(np.ones((4, 4), bool), 1), memory_key_padding_mask=padding,
    )  # fmt: skip


def test_transformer():
    ours, theirs = twins("Transformer", 8, 2, 1, 2, 16, 0.0, batch_first=True)
    mask = np.triu(np.full((4, 4), -np.inf), 1)
    inputs = normal(3, 5, 8), normal(3, 4, 8)
    compare_modules(ours, theirs, *inputs, tgt_mask=mask)
    y = ours(*inputs, tgt_is_causal=True)
    close(y.value, theirs(*map(torch.tensor, inputs), tgt_mask=torch.tensor(mask)))
    hidden = nn.Transformer.generate_square_subsequent_mask(4)
    np.testing.assert_array_equal(hidden.value, mask)


def test_a_transformers_layers_begin_differently():
    model = nn.Transformer(8, 2, 2, 2, 16)
    first, second = (layer.linear1.weight.value for layer in model.encoder.layers)
    assert (first != second).any()
    with pytest.raises(ValueError, match="num_layers=0 must be positive"):
        nn.Transformer(8, 2, 0, 1, 16)


REFUSED = [
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
    (lambda: nn.TransformerDecoderLayer(8, 2, activation="sin"), "'relu', 'gelu'"),
    (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2), 0), "positive"),
    (
        lambda: nn.functional.scaled_dot_product_attention(
            np.ones((2, 5, 3, 4)), *[np.ones((2, 2, 3, 4))] * 2, enable_gqa=True
        ),
        "a multiple of those of k and v",
    ),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_decoder_on_every_backend(backend):
    def run(name):
        with ag.use_backend(name):
            ag.manual_seed(3)
            layer = nn.TransformerDecoderLayer(8, 2, 16, 0.0, dtype="float64")
            x, memory = (ag.Variable(normal(n, 3, 8)).to(name).detach() for n in (4, 5))
            x.requires_grad = memory.requires_grad = True
            y = layer(x, memory, tgt_is_causal=True)
            first = ag.gradients(ag.sum(y**3), [x, memory], create_graph=True)
            second = ag.gradients(sum(ag.sum(g * g) for g in first), [x, memory])
            return [v.numpy() for v in (y, *first, *second)]

    for actual, expected in zip(run(backend), run("numpy"), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-8, atol=1e-9)
