"""Arguments drawn at random, against PyTorch's: values, places and gradients."""

import random

import numpy as np
import pytest
from parity import close, compare_modules, normal, torch, twins

import autograd_gpu as ag
from autograd_gpu.nn import functional as F
from autograd_gpu.nn.utils import rnn

TF = torch.nn.functional
their_rnn = torch.nn.utils.rnn


def drawn_pooling(pick):
    d = pick.choice([1, 2, 3])
    x = normal(2, 2, *[pick.randint(3, 8) for _ in range(d)])
    size, stride = pick.randint(1, 3), pick.choice([None, 1, 2, 3])
    ceil_mode = pick.random() < 0.5
    kind = pick.choice(["max", "adaptive_max", "lp"])
    if kind == "lp":
        return x, f"lp_pool{d}d", (3.0, size, stride, ceil_mode)
    if kind == "adaptive_max":
        return x, f"adaptive_max_pool{d}d", (size, True)
    return x, f"max_pool{d}d", (size, stride, size // 2, 1, ceil_mode, True)


def drawn_resizing(pick):
    d = pick.choice([1, 2, 3])
    extent = [pick.randint(2, 7) for _ in range(d)]
    linear = ("linear", "bilinear", "trilinear")[d - 1]
    mode = pick.choice(
        ["nearest", "nearest-exact", "area", linear, "bicubic" if d == 2 else linear]
    )
    smooth = mode in ("bilinear", "bicubic")
    corners = pick.random() < 0.5 if mode in (linear, "bicubic") else None
    # PyTorch's own derivative of bicubic is another one where the size stays
    sizes = [pick.choice([m for m in range(2, 10) if m != n]) for n in extent]
    return normal(2, 2, *extent), "interpolate", (
        sizes, None, mode, corners, None, smooth and pick.random() < 0.5,
    )  # fmt: skip


def drawn_windows(pick):
    x = normal(2, 2, pick.randint(5, 8), pick.randint(5, 8))
    return x, "unfold", tuple(pick.randint(*ends) for ends in ((1, 3), (1, 2), (0, 2), (1, 3)))


@pytest.mark.parametrize("draw", [drawn_pooling, drawn_resizing, drawn_windows])
@pytest.mark.parametrize("seed", range(40))
def test_images(draw, seed):
    x, name, args = draw(random.Random(seed))
    x = np.abs(x) if name.startswith("lp") else x
    v, t = ag.Variable(x, True), torch.tensor(x, requires_grad=True)
    y, expected = getattr(F, name)(v, *args), getattr(TF, name)(t, *args)
    if isinstance(y, tuple):
        np.testing.assert_array_equal(y[1].value, expected[1].numpy())
        y, expected = y[0], expected[0]
    close(y.value, expected)
    g = normal(*y.shape)
    y.backward(g)
    expected.backward(torch.tensor(g))
    close(v.grad, t.grad, atol=1e-10)


class Packed:
    """A recurrent layer over the packed form of an array, whose result is padded again."""

    def __init__(self, module, lengths, batch_first):
        self.module, self.lengths, self.batch_first = module, lengths, batch_first
        self.named_parameters, self.parameters = module.named_parameters, module.parameters

    def __call__(self, x):
        tools = their_rnn if isinstance(x, torch.Tensor) else rnn
        packed = tools.pack_padded_sequence(x, self.lengths, self.batch_first, False)
        y, last = self.module(packed)
        return tools.pad_packed_sequence(y, self.batch_first)[0], last


@pytest.mark.parametrize("seed", range(25))
def test_packed_sequences(seed):
    pick = random.Random(seed)
    name, n, steps = pick.choice(["RNN", "LSTM", "GRU"]), pick.randint(1, 5), pick.randint(1, 6)
    options = {
        "num_layers": pick.randint(1, 3), "bidirectional": pick.random() < 0.5,
        "batch_first": pick.random() < 0.5, "bias": pick.random() < 0.7,
    }  # fmt: skip
    if name == "LSTM" and pick.random() < 0.4:
        options["proj_size"] = 2
    ours, theirs = twins(name, 3, 4, **options)
    lengths = [pick.randint(1, steps) for _ in range(n)]
    first = options["batch_first"]
    x = normal(n, steps, 3) if first else normal(steps, n, 3)
    compare_modules(Packed(ours, lengths, first), Packed(theirs, lengths, first), x)


@pytest.mark.parametrize("seed", range(40))
def test_multihead_attention(seed):
    pick = random.Random(seed)
    heads = pick.choice([1, 2, 4])
    width = heads * pick.randint(1, 3)
    first = pick.random() < 0.5
    ours, theirs = twins(
        "MultiheadAttention", width, heads, batch_first=first, bias=pick.random() < 0.7,
        add_bias_kv=pick.random() < 0.5, add_zero_attn=pick.random() < 0.5,
    )  # fmt: skip
    n, queries, keys = (pick.randint(1, 4) for _ in range(3))
    shapes = [(n, m, width) if first else (m, n, width) for m in (queries, keys, keys)]
    options = {"need_weights": pick.random() < 0.5}
    if pick.random() < 0.4:
        options["attn_mask"] = np.triu(np.ones((queries, keys), bool), 1)
    if pick.random() < 0.4:
        options["key_padding_mask"] = np.arange(keys) > np.arange(1, n + 1)[:, None] % keys
    compare_modules(ours, theirs, *[normal(*s) + i / 5 for i, s in enumerate(shapes)], **options)
