"""Recurrent layers with PyTorch's weights, against PyTorch's: whole and packed sequences."""

import numpy as np
import pytest
from parity import close, compare_modules, leaves, normal, torch, twins

import autograd_gpu as ag
from autograd_gpu import nn
from autograd_gpu.nn.utils import rnn

theirs_rnn = torch.nn.utils.rnn


RECURRENT = [
    {},
    {"bias": False},
    {"num_layers": 2, "batch_first": True},
    {"num_layers": 2, "bidirectional": True},
]
PROJECTED = [
    {"proj_size": 2},
    {"proj_size": 2, "num_layers": 2, "bidirectional": True, "bias": False},
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
    close(y.value, expected)
    for a, b in zip(leaves(last), leaves(t_last), strict=True):
        close(a.value, b)


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
        close(y.value, e)


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_recurrent_derivatives_to_second_order(name):
    module = getattr(nn, name)(2, 3, bidirectional=True).to("float64")

    def f(x, w):
        y, last = module(x * w)
        return ag.sum(y**2) + sum(ag.sum(s * s * s) for s in leaves(last))

    assert ag.grad_check(f, [normal(3, 2, 2), normal(2)], order=2)


@pytest.mark.parametrize("options", PROJECTED, ids=str)
def test_projected_lstm(options):
    ours, theirs = twins("LSTM", 3, 4, **options)
    compare_modules(ours, theirs, normal(5, 2, 3))
    ours.zero_grad()
    theirs.zero_grad()
    rows = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
    state = normal(rows, 2, 2), normal(rows, 2, 4)
    t_state = tuple(map(torch.tensor, state))
    compare_modules(lambda_(ours, state), lambda_(theirs, t_state), normal(5, 2, 3))


def test_rnn_cell_with_relu():
    compare_modules(*twins("RNNCell", 3, 4, nonlinearity="relu"), normal(2, 3))
    compare_modules(*twins("GRUCell", 3, 4, bias=False), normal(2, 3))


class Packed:
    """A module over the packed form of an array, whose result is padded again."""

    def __init__(self, module, lengths, batch_first, enforce_sorted, state=None):
        self.module, self.state = module, state
        self.named_parameters, self.parameters = module.named_parameters, module.parameters
        self.args = (lengths, batch_first, enforce_sorted)

    def __call__(self, x):
        tools = theirs_rnn if isinstance(x, torch.Tensor) else rnn
        lengths, batch_first, enforce_sorted = self.args
        packed = tools.pack_padded_sequence(x, lengths, batch_first, enforce_sorted)
        y, last = self.module(packed) if self.state is None else self.module(packed, self.state)
        return tools.pad_packed_sequence(y, batch_first)[0], last


LENGTHS = {"falling": ([5, 3, 3, 1], True), "mixed": ([3, 5, 1, 3], False)}


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize(
    "options",
    [{}, {"num_layers": 2, "bidirectional": True}, {"bidirectional": True, "bias": False}],
    ids=str,
)
@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_packed_sequences(name, options, batch_first, lengths):
    ours, theirs = twins(name, 3, 4, **options)
    sizes, is_sorted = LENGTHS[lengths]
    x = normal(4, 5, 3) if batch_first else normal(5, 4, 3)
    compare_modules(
        Packed(ours, sizes, batch_first, is_sorted),
        Packed(theirs, sizes, batch_first, is_sorted),
        x,
    )
    ours.zero_grad()
    theirs.zero_grad()
    rows = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
    state = normal(rows, 4, 4)
    t_state = torch.tensor(state)
    if name == "LSTM":
        state, t_state = (state, state / 2), (t_state, t_state / 2)
    compare_modules(
        Packed(ours, sizes, batch_first, is_sorted, state),
        Packed(theirs, sizes, batch_first, is_sorted, t_state),
        x,
    )


def test_packed_projected_lstm():
    ours, theirs = twins("LSTM", 3, 4, 2, proj_size=2, bidirectional=True)
    sizes, is_sorted = LENGTHS["mixed"]
    compare_modules(
        Packed(ours, sizes, False, is_sorted), Packed(theirs, sizes, False, is_sorted),
        normal(5, 4, 3),
    )  # fmt: skip


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("batch_first", [False, True])
def test_packing(lengths, batch_first):
    sizes, is_sorted = LENGTHS[lengths]
    x = normal(4, 5, 3) if batch_first else normal(5, 4, 3)
    ours = rnn.pack_padded_sequence(x, sizes, batch_first, is_sorted)
    theirs = theirs_rnn.pack_padded_sequence(torch.tensor(x), sizes, batch_first, is_sorted)
    close(ours.data.value, theirs.data)
    assert list(ours.batch_sizes) == theirs.batch_sizes.tolist()
    if not is_sorted:
        assert list(ours.sorted_indices) == theirs.sorted_indices.tolist()
    y, found = rnn.pad_packed_sequence(ours, batch_first, -1.0, 7)
    expected, _ = theirs_rnn.pad_packed_sequence(theirs, batch_first, -1.0, 7)
    close(y.value, expected)
    assert found == sizes
    rows = rnn.unpad_sequence(y, sizes, batch_first)
    assert [row.shape for row in rows] == [(n, 3) for n in sizes]
    for a, b in zip(rows, rnn.unpack_sequence(ours), strict=True):
        np.testing.assert_array_equal(a.value, b.value)
    for side in ("left", "right"):
        close(
            rnn.pad_sequence(rows, batch_first, 2.0, side).value,
            theirs_rnn.pad_sequence([torch.tensor(r.value) for r in rows], batch_first, 2.0, side),
        )
    again = rnn.pack_sequence(rows, enforce_sorted=is_sorted)
    np.testing.assert_array_equal(again.data.value, ours.data.value)


REFUSED = [
    (lambda: nn.LSTM(3, 0), "must be positive"),
    (lambda: nn.LSTM(3, 4, proj_size=4), "proj_size=4 is for LSTM"),
    (lambda: nn.GRU(3, 4, proj_size=2), "proj_size=2 is for LSTM"),
    (lambda: nn.GRU(3, 4, dropout=2.0), "probability"),
    (lambda: nn.RNN(3, 4, nonlinearity="sin"), "'tanh' or 'relu'"),
    (lambda: nn.RNNCell(3, 4, nonlinearity="sin"), "'tanh' or 'relu'"),
    (lambda: nn.LSTM(3, 4)(np.ones((5, 2, 4))), "input_size=3"),
    (lambda: nn.GRU(3, 4)(np.ones((0, 2, 3))), "at least one step"),
    (lambda: nn.GRU(3, 4)(np.ones((5, 2, 3)), np.ones((1, 3, 4))), r"1 of \[1, 2, 4\]"),
    (lambda: rnn.pack_padded_sequence(np.ones((5, 2, 3)), [3, 4]), "enforce_sorted=False"),
    (lambda: rnn.pack_padded_sequence(np.ones((5, 2, 3)), [6, 4]), "2 between 1 and 5"),
    (lambda: rnn.pack_padded_sequence(np.ones((5, 2, 3)), [5, 0]), "2 between 1 and 5"),
    (lambda: rnn.pack_padded_sequence(np.ones((5, 2, 3)), [5]), "2 between 1 and 5"),
    (lambda: rnn.pack_padded_sequence(np.ones(5), [5]), r"must be \[T, N"),
    (
        lambda: nn.LSTM(4, 2)(rnn.pack_padded_sequence(np.ones((5, 2, 3)), [5, 4])),
        r"packed data \[9, 3\] must be \[steps, 4\]",
    ),
    (lambda: rnn.pad_sequence([np.ones((2, 3)), np.ones((2, 4))]), "differ in L only"),
    (lambda: rnn.pad_sequence([np.ones(2)], padding_side="top"), "'left' or 'right'"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("options", [{}, {"proj_size": 2}])
def test_packed_sequences_on_every_backend(backend, options):
    def run(name):
        with ag.use_backend(name):
            ag.manual_seed(3)
            layer = nn.LSTM(3, 4, bidirectional=True, dtype="float64", **options)
            x = ag.Variable(normal(5, 3, 3)).to(name).detach()
            x.requires_grad = True
            y, (h, c) = layer(rnn.pack_padded_sequence(x, [2, 5, 3], enforce_sorted=False))
            loss = ag.sum(rnn.pad_packed_sequence(y)[0] ** 2) + ag.sum(h * h) + ag.sum(c)
            (g,) = ag.gradients(loss, [x], create_graph=True)
            ag.sum(g * g).backward()
            return [v.numpy() for v in (y.data, h, c, g, ag.Variable(x.grad))]

    for actual, expected in zip(run(backend), run("numpy"), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-12)


def test_derivatives_of_packed_sequences_to_second_order():
    layer = nn.GRU(2, 3, bidirectional=True).to("float64")

    def f(x):
        y, h = layer(rnn.pack_padded_sequence(x, [1, 3], enforce_sorted=False))
        return ag.sum(y.data**2) + ag.sum(h**3)

    assert ag.grad_check(f, [normal(3, 2, 2)], order=2)
