"""Forward mode and batches of the ops of networks, against reverse mode."""

import numpy as np
import pytest
from samples.products import check_batches, check_second_order, check_tangents
from samples.sample import draw

import autograd_gpu as ag
from autograd_gpu.backend import backend_of, load_backend
from autograd_gpu.nn import functional as F

LABELS = np.array([0, 2, 1, 2])


def labels(x):
    return backend_of(x.value).from_host(LABELS)


CASES = {
    "linear": (F.linear, [(2, 4, 3), (5, 3), (5,)]),
    "linear without bias": (F.linear, [(4, 3), (5, 3)]),
    "embedding": (lambda w: F.embedding(LABELS.tolist(), w, padding_idx=1), [(3, 2)]),
    "group norm": (lambda x, w, b: F.group_norm(x, 2, w, b), [(2, 4, 3), (4,), (4,)]),
    "layer norm": (lambda x, w, b: F.layer_norm(x, (3,), w, b), [(4, 3), (3,), (3,)]),
    "rms norm": (lambda x, w: F.rms_norm(x, (3,), w), [(4, 3), (3,)]),
    "batch norm": (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
        [(4, 3, 2), (3,), (3,)],
    ),
    "cross entropy": (
        lambda x: F.cross_entropy(x, labels(x), label_smoothing=0.1),
        [(4, 3)],
    ),
    "cross entropies": (lambda x: F.cross_entropy(x, labels(x), reduction="none"), [(4, 3)]),
    "mean squared error": (F.mse_loss, [(4, 3), (4, 3)]),
    "squared errors": (lambda x, y: F.mse_loss(x, y, reduction="none"), [(4, 3), (4, 3)]),
    "conv": (lambda x, w, b: F.conv2d(x, w, b, padding=1), [(2, 2, 4, 4), (3, 2, 3, 3), (3,)]),
    "grouped conv": (lambda x, w: F.conv1d(x, w, stride=2, groups=2), [(2, 4, 7), (6, 2, 3)]),
    "transposed conv": (
        lambda x, w, b: F.conv_transpose2d(x, w, b, stride=2),
        [(2, 2, 3, 3), (2, 3, 2, 2), (3,)],
    ),
    "gradient of conv": (
        lambda x, w: ag.gradients([ag.sum(F.conv2d(x, w) ** 2)], [x, w], create_graph=True),
        [(2, 2, 4, 4), (3, 2, 3, 3)],
    ),
    "max pool": (lambda x: F.max_pool2d(x, 2), [(2, 2, 4, 4)]),
    "gradient of max pool": (
        lambda x: ag.gradients([ag.sum(F.max_pool2d(x, 2) ** 2)], [x], create_graph=True),
        [(2, 2, 4, 4)],
    ),
    "mean pool": (lambda x: F.avg_pool2d(x, 2), [(2, 2, 4, 4)]),
    "gradient of mean pool": (
        lambda x: ag.gradients([ag.sum(F.avg_pool2d(x, 2) ** 2)], [x], create_graph=True),
        [(2, 2, 4, 4)],
    ),
    "attention": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        [(2, 4, 3), (2, 4, 3), (2, 4, 3)],
    ),
}


@pytest.fixture(params=ag.available_backends())
def backend(request):
    return load_backend(request.param)


@pytest.mark.parametrize("name", CASES)
def test_products_with_jacobians(name, backend, record_property):
    f, shapes = CASES[name]
    xs = [
        ag.Variable(backend.from_host(draw(f"{name}{i}", shape)), requires_grad=True)
        for i, shape in enumerate(shapes)
    ]
    y = f(*xs)
    ys = y if isinstance(y, list) else [y]
    record_property("proofs", check_tangents(ys, xs, backend, 1e-8))
    record_property("proofs", check_second_order(ys, xs, backend))
    record_property("proofs", check_batches(ys, xs, backend))


def test_dropout_keeps_its_mask():
    x = ag.Variable(np.ones(100), requires_grad=True)
    y = F.dropout(x, 0.5, True)
    numpy = load_backend("numpy")
    assert check_tangents([y], [x], numpy)
    assert check_batches([y], [x], numpy)


@pytest.mark.parametrize("layer", [ag.nn.GRU, ag.nn.LSTM, ag.nn.RNN])
def test_recurrent_networks(layer):
    cell = layer(3, 4)
    for p in cell.parameters():
        p.value = p.value.astype("float64")
    x = ag.Variable(draw("rnn", (5, 2, 3)), requires_grad=True)
    y, _ = cell(x)
    numpy = load_backend("numpy")
    assert check_tangents([y], [x], numpy)
    assert check_batches([y], [x], numpy)
