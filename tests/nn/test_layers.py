"""Initial values, and layers that hold them: shapes, spread, equal on every backend."""

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu import nn
from autograd_gpu.nn import init

X = np.random.default_rng(0).standard_normal((4, 6, 8, 8)).astype("float32")


LAYERS = {
    "conv": (nn.Conv2d, (6, 4, 3), {"padding": "same", "groups": 2}),
    "max pool": (nn.MaxPool2d, (2,), {}),
    "avg pool": (nn.AvgPool2d, (2,), {"ceil_mode": True}),
    "adaptive": (nn.AdaptiveAvgPool2d, (3,), {}),
    "batch norm": (nn.BatchNorm2d, (6,), {}),
    "group norm": (nn.GroupNorm, (3, 6), {}),
    "layer norm": (nn.LayerNorm, ((8, 8),), {}),
    "layer norm without bias": (nn.LayerNorm, (8,), {"bias": False}),
    "rms norm": (nn.RMSNorm, (8,), {}),
    "linear": (nn.Linear, (8, 3), {}),
    "dropout": (nn.Dropout2d, (0.5,), {}),
    "gelu": (nn.GELU, (), {"approximate": "tanh"}),
    "leaky": (nn.LeakyReLU, (0.1,), {}),
    "softmax": (nn.Softmax, (1,), {}),
    "identity": (nn.Identity, (), {}),
    "flatten": (nn.Flatten, (), {}),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(backend, name):
    kind, args, options = LAYERS[name]
    ag.manual_seed(0)
    layer = kind(*args, **options)
    x = ag.Variable(X).to(backend).detach()
    x.requires_grad = True
    y = layer(x)
    assert y.dtype == "float32"
    assert type(y.value) is type(x.value)
    ag.sum(y * y).backward()
    assert all(p.grad is not None and p.grad.dtype == "float32" for p in layer.parameters())
    assert kind.__name__ in repr(layer)
    with ag.use_backend("numpy"):
        ag.manual_seed(0)
        same = kind(*args, **options)
    np.testing.assert_allclose(same(ag.Variable(X)).value, y.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["CrossEntropyLoss", "NLLLoss"])
def test_losses_as_modules(name):
    loss = getattr(nn, name)(ignore_index=1)
    y = loss(ag.log_softmax(X[:, :, 0, 0]), [0, 1, 2, 3])
    expected = nn.functional.cross_entropy(X[:, :, 0, 0], [0, 1, 2, 3], ignore_index=1)
    assert y.item() == pytest.approx(expected.item(), rel=1e-5)
    with pytest.raises(TypeError, match="unexpected keyword argument .size_average"):
        nn.MSELoss(size_average=True)


def test_embedding_layer():
    layer = nn.Embedding(5, 3, padding_idx=0)
    assert not layer.weight.value[0].any()
    assert layer([1, 2]).shape == (2, 3)


def test_initial_values_are_the_same_on_every_backend(backend):
    ag.manual_seed(1)
    layer = nn.Linear(4, 3)
    with ag.use_backend("numpy"):
        ag.manual_seed(1)
        same = nn.Linear(4, 3)
    np.testing.assert_array_equal(layer.weight.numpy(), same.weight.value)
    a, b = (nn.Linear(4, 3, generator=ag.Generator(9)).weight for _ in range(2))
    np.testing.assert_array_equal(a.numpy(), b.numpy())


@pytest.mark.parametrize(
    ("function", "std"),
    [
        (lambda x: init.kaiming_uniform_(x, nonlinearity="relu"), (2 / 300) ** 0.5),
        (lambda x: init.kaiming_normal_(x, mode="fan_out"), (2 / 200) ** 0.5),
        (init.xavier_uniform_, (2 / 500) ** 0.5),
        (lambda x: init.xavier_normal_(x, gain=2), 2 * (2 / 500) ** 0.5),
        (lambda x: init.uniform_(x, -1, 1), 3**-0.5),
        (lambda x: init.normal_(x, 0, 0.3), 0.3),
        (lambda x: init.orthogonal_(x), 300**-0.5),
    ],
)
def test_spread_of_initial_values(function, std):
    x = nn.Parameter(np.empty((200, 300), "float32"))
    assert function(x) is x
    assert x.dtype == np.float32
    assert x.value.std() == pytest.approx(std, rel=0.03)
    assert x.value.mean() == pytest.approx(0, abs=0.03 * std)


def test_other_initial_values():
    x = nn.Parameter(np.empty((3, 5)))
    assert (init.ones_(x).value == 1).all()
    assert (init.zeros_(x).value == 0).all()
    np.testing.assert_array_equal(init.eye_(x).value, np.eye(3, 5))
    init.orthogonal_(x)
    np.testing.assert_allclose(x.value @ x.value.T, np.eye(3), atol=1e-12)
    with pytest.raises(ValueError, match="two axes"):
        init.kaiming_uniform_(nn.Parameter([1.0]))
    with pytest.raises(ValueError, match="no gain"):
        init.calculate_gain("cosine")


def test_a_network_passes_the_gradient_check():
    ag.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2), nn.Tanh(), nn.AvgPool2d(2), nn.Flatten(),
        nn.Linear(8, 3),
    )  # fmt: skip
    x = np.random.default_rng(0).standard_normal((3, 1, 4, 4))

    def loss():
        return nn.functional.cross_entropy(net(x), [0, 1, 2])

    assert ag.grad_check_variables(loss, list(net.parameters()))
