"""Mixed precision: dtypes, values beside float32, gradients, training, and what is refused."""

import numpy as np
import pytest

import autograd_gpu as ag
import autograd_gpu.nn.functional as F
from autograd_gpu import nn, optim
from autograd_gpu.backend import load_backend


def normal(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("f4")


def on(backend, x, requires_grad=True):
    return ag.Variable(load_backend(backend).from_host(x), requires_grad)


HALVES = ["float16", "bfloat16"]
TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2}


def half(name):
    if name == "bfloat16":
        pytest.importorskip("ml_dtypes")
    return name


PRODUCTS = {
    "matmul": (ag.matmul, [(5, 40), (40, 3)]),
    "operator": (lambda a, b: a @ b, [(2, 5, 40), (2, 40, 3)]),
    "linear": (F.linear, [(4, 40), (6, 40), (6,)]),
    "conv1d": (F.conv1d, [(2, 3, 9), (4, 3, 3), (4,)]),
    "conv2d": (lambda x, w, b: F.conv2d(x, w, b, padding=1), [(2, 3, 6, 5), (4, 3, 3, 3), (4,)]),
    "conv3d": (F.conv3d, [(1, 2, 4, 4, 3), (3, 2, 2, 2, 2)]),
    "conv_transpose2d": (F.conv_transpose2d, [(2, 3, 4, 4), (3, 4, 2, 2), (4,)]),
}


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_are_in_a_half_type_and_their_gradients_in_float32(backend, name, dtype):
    half(dtype)
    f, shapes = PRODUCTS[name]
    arrays = [normal(*shape) for shape in shapes]

    def run(cast):
        xs = [on(backend, a) for a in arrays]
        with ag.autocast(dtype, enabled=cast):
            y = f(*xs)
        g = normal(*y.shape)
        ag.sum(y.astype("float32") * on(backend, g, False)).backward()
        return y, [ag.Variable(x.grad).numpy() for x in xs]

    (y, grads), (expected, exact) = run(True), run(False)
    assert y.dtype == dtype
    assert expected.dtype == "float32"
    scale = TOLERANCE[dtype]
    for a, b in zip([y.astype("float32").numpy(), *grads], [expected.numpy(), *exact], strict=True):
        assert a.dtype == np.float32
        np.testing.assert_allclose(a, b, rtol=scale, atol=scale * np.abs(b).max())


@pytest.mark.parametrize("dtype", HALVES)
def test_sums_are_in_float32(backend, dtype):
    half(dtype)
    ones = np.ones((1, 8192), "f4")  # beyond 2048 float16 could not count on by ones
    with ag.autocast(dtype):
        assert (on(backend, ones) @ on(backend, ones.T)).astype("float32").item() == 8192
        x, w = np.ones((1, 1, 64, 128), "f4"), np.ones((1, 1, 64, 128), "f4")
        assert F.conv2d(on(backend, x), on(backend, w)).astype("float32").item() == 8192


DELICATE = {
    "softmax": lambda x: F.softmax(x),
    "log_softmax": lambda x: F.log_softmax(x),
    "logsumexp": lambda x: ag.logsumexp(x, axis=1),
    "layer_norm": lambda x: F.layer_norm(x, 4),
    "rms_norm": lambda x: F.rms_norm(x, 4),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "cross_entropy": lambda x: F.cross_entropy(x, [0, 1, 2]),
    "soft_cross_entropy": lambda x: F.cross_entropy(x, [[0.25] * 4] * 3),
    "nll_loss": lambda x: F.nll_loss(x, [0, 1, 2]),
    "mse_loss": lambda x: F.mse_loss(x, x),
    "l1_loss": lambda x: F.l1_loss(x, x),
    "huber_loss": lambda x: F.huber_loss(x, x),
    "bce": lambda x: F.binary_cross_entropy_with_logits(x, [[1.0] * 4] * 3),
    "cosine_similarity": lambda x: F.cosine_similarity(x, x),
}


@pytest.mark.parametrize("name", DELICATE)
def test_what_is_delicate_is_in_float32(backend, name):
    x = on(backend, normal(3, 4).astype("f2"))
    with ag.autocast():
        y = DELICATE[name](x)
    assert y.dtype == "float32"
    ag.sum(y).backward()
    assert x.grad.dtype == "float16"


def test_float64_complex_and_integers_are_left_alone():
    with ag.autocast():
        assert ag.matmul(np.ones((2, 2)), np.ones((2, 2), "f4")).dtype == np.float64
        assert ag.matmul(np.ones((2, 2), "c8"), np.ones((2, 2), "f4")).dtype == np.complex64
        assert ag.matmul(np.ones((2, 2), int), np.ones((2, 2), int)).dtype == int
        assert (ag.Variable([1.0]) + 1).dtype == np.float32


def test_guards_nest_and_decorate():
    x = ag.Variable(np.ones((2, 2), "f4"))

    @ag.autocast()
    def product():
        return (x @ x).dtype

    with ag.autocast():
        with ag.autocast(enabled=False):
            assert (x @ x).dtype == np.float32
        assert (x @ x).dtype == np.float16
    assert (x @ x).dtype == np.float32
    assert product() == np.float16
    assert (x @ x).dtype == np.float32


def test_second_derivatives():
    w = ag.Variable(normal(3, 3), True)
    with ag.autocast():
        y = ag.sum(ag.tanh(w @ w).astype("float32"))
        (g,) = ag.gradients(y, [w], create_graph=True)
    assert g.dtype == np.float32
    ag.sum(g * g).backward()
    assert np.isfinite(w.grad).all()


def test_checkpoint_computes_the_same_again(backend):
    w, x = on(backend, normal(8, 8)), on(backend, normal(4, 8))
    seen = []

    def f(x):
        y = ag.tanh(x @ w)
        seen.append(str(y.dtype))
        return y.astype("float32")

    with ag.autocast():
        ag.sum(ag.checkpoint(f, x)).backward()
    first = ag.Variable(w.grad).numpy()
    w.zero_grad()
    with ag.autocast():
        y = ag.checkpoint(f, x)
    ag.sum(y).backward()  # outside
    np.testing.assert_array_equal(ag.Variable(w.grad).numpy(), first)
    assert seen == ["float16"] * 4


@pytest.mark.parametrize("dtype", HALVES)
def test_a_network_trains_as_in_float32(backend, dtype):
    half(dtype)
    x = normal(64, 6)
    labels = (x[:, 0] * x[:, 1] > 0).astype(int)

    def train(cast):
        ag.random.manual_seed(0)
        net = nn.Sequential(nn.Linear(6, 32), nn.GELU(approximate="tanh"), nn.LayerNorm(32),
                            nn.Linear(32, 2)).to(backend)  # fmt: skip
        optimizer, scaler = optim.Adam(net.parameters(), lr=0.01), ag.GradScaler()
        inputs = on(backend, x, False)
        losses = []
        for _ in range(30):
            optimizer.zero_grad()
            with ag.autocast(dtype, enabled=cast):
                loss = F.cross_entropy(net(inputs), on(backend, labels, False))
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item())
        assert all(p.dtype == "float32" for p in net.parameters())
        return losses

    mixed, full = train(True), train(False)
    assert mixed[-1] < 0.5 * mixed[0]
    np.testing.assert_allclose(mixed, full, atol=0.03)


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid")
def test_a_loss_that_is_not_finite_leaves_the_parameters(backend):
    net = nn.Linear(2, 1).to(backend)
    before = net.weight.numpy()
    optimizer, scaler = optim.SGD(net.parameters(), lr=1.0), ag.GradScaler()
    with ag.autocast():
        loss = F.mse_loss(
            net(on(backend, np.full((1, 2), 1e30, "f4"))),
            np.zeros((1, 1), "f4")
            if backend == "numpy"
            else on(backend, np.zeros((1, 1), "f4"), False),
        )
    scaler.scale(loss).backward()
    assert not scaler.step(optimizer)
    scaler.update()
    np.testing.assert_array_equal(net.weight.numpy(), before)


def test_lstm_and_attention_run(backend):
    lstm, attention = nn.LSTM(4, 8).to(backend), nn.MultiheadAttention(8, 2).to(backend)
    x = on(backend, normal(5, 2, 4))
    with ag.autocast():
        y, _ = lstm(x)
        z, _ = attention(y, y, y)
    ag.sum(z.astype("float32")).backward()
    assert x.grad.dtype == "float32"
    assert np.isfinite(ag.Variable(x.grad).numpy()).all()


def test_what_is_refused():
    for bad in ("float32", "int8", 3):
        with pytest.raises(TypeError, match="'float16' or 'bfloat16'"):
            ag.autocast(bad)
    assert ag.autocast(np.float16).value == np.float16


def test_a_number_stays_on_its_backend_in_second_derivatives(backend):
    x = on(backend, np.array([1.0, 2.0]))
    (g,) = (ag.gradients(ag.sum((0.5 * x) * x * 3.0 + 2.0**x), x, create_graph=True),)
    (h,) = ag.gradients(ag.sum(g), [x])
    np.testing.assert_allclose(h.numpy(), 3.0 + np.log(2) ** 2 * 2 ** np.array([1.0, 2.0]))
