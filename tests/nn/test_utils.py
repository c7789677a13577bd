"""nn.utils: weights in another form, parameters as one vector, and the norm of gradients."""

import copy
import pickle

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu import nn
from autograd_gpu.nn import utils
from autograd_gpu.nn.utils import parametrizations


def normal(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape)


LAYERS = [
    (lambda m: m.Linear(3, 4), (5, 3)),
    (lambda m: m.Conv2d(2, 4, 3), (1, 2, 5, 4)),
    (lambda m: m.ConvTranspose1d(2, 4, 3), (1, 2, 5)),
]


@pytest.mark.parametrize(("make", "shape"), LAYERS)
@pytest.mark.parametrize(
    ("name", "options"),
    [("weight_norm", {}), ("weight_norm", {"dim": 1}), ("weight_norm", {"dim": None}),
     ("spectral_norm", {}), ("spectral_norm", {"n_power_iterations": 3})],
)  # fmt: skip
def test_parametrized_weights_are_pytorchs(make, shape, name, options):
    parity = pytest.importorskip("parity", reason="PyTorch is not installed")
    theirs = getattr(parity.torch.nn.utils.parametrizations, name)(make(parity.torch.nn), **options)
    ours = getattr(parametrizations, name)(make(nn), **options)
    ours, theirs = ours.to("float64"), theirs.double()
    ours.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
    for _ in range(2):
        ours.zero_grad()
        theirs.zero_grad()
        parity.compare_modules(ours, theirs, parity.normal(*shape))
    ours.eval()
    theirs.eval()
    x = parity.normal(*shape)
    parity.close(ours(x).value, theirs(parity.torch.tensor(x)))


@pytest.mark.parametrize("norm", [parametrizations.weight_norm, parametrizations.spectral_norm])
def test_a_parametrized_layer(backend, norm):
    with ag.use_backend(backend):
        ag.manual_seed(1)
        layer = nn.Linear(3, 4)
        before = layer.weight.numpy()
        norm(layer)
        x = ag.Variable(normal(5, 3).astype("f4")).to(backend)
        if norm is parametrizations.weight_norm:
            np.testing.assert_allclose(layer.weight.numpy(), before, rtol=1e-6)
        else:
            for _ in range(20):  # each reading is a step of the power iteration
                y = layer.weight
            assert np.linalg.svd(y.numpy())[1].max() == pytest.approx(1.0, rel=1e-3)
        assert sum(1 for _ in layer.parameters()) == (
            3 if norm is parametrizations.weight_norm else 2
        )
        optimizer = ag.optim.SGD(layer.parameters(), lr=0.1)
        first = ag.sum(layer(x) ** 2)
        first.backward()
        optimizer.step()
        assert ag.sum(layer(x) ** 2).item() < first.item()
        twin = copy.deepcopy(layer).eval()
        layer.eval()
        np.testing.assert_array_equal(twin(x).numpy(), layer(x).numpy())
        value = layer.weight.numpy()
        parametrizations.remove_parametrizations(layer, "weight")
        assert type(layer) is nn.Linear
        np.testing.assert_array_equal(layer.weight.numpy(), value)
        assert [name for name, _ in layer.named_parameters()] == ["bias", "weight"]


def test_weight_norm_differentiates_twice():
    def f(v, g):
        layer = nn.Linear(3, 2, bias=False, dtype="float64")
        parametrizations.weight_norm(layer)
        weight = layer.parametrizations.weight
        del weight._parameters["original0"], weight._parameters["original1"]
        weight.__dict__.update(original0=g, original1=v)
        return layer(np.ones((1, 3))) ** 2

    assert ag.grad_check(f, [normal(2, 3), normal(2, 1)], order=2)


def test_what_parametrizations_refuse():
    layer = nn.Linear(3, 4)
    with pytest.raises(ValueError, match="no parameter 'kernel'"):
        parametrizations.weight_norm(layer, "kernel")
    with pytest.raises(ValueError, match="dim=2 is outside"):
        parametrizations.weight_norm(layer, dim=2)
    with pytest.raises(ValueError, match="two axes or more"):
        parametrizations.spectral_norm(layer, "bias")
    with pytest.raises(ValueError, match="must be positive"):
        parametrizations.spectral_norm(layer, n_power_iterations=0)
    with pytest.raises(ValueError, match="has no parametrization"):
        parametrizations.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear


def test_parameters_as_one_vector(backend):
    with ag.use_backend(backend):
        layer = nn.Linear(3, 2)
        vector = utils.parameters_to_vector(layer.parameters())
        assert vector.shape == (8,)
        ag.sum(vector * vector).backward()
        np.testing.assert_allclose(
            ag.Variable(layer.weight.grad).numpy(), 2 * layer.weight.numpy(), rtol=1e-6
        )
        utils.vector_to_parameters(vector.detach() * 2, layer.parameters())
        np.testing.assert_allclose(
            utils.parameters_to_vector(layer.parameters()).numpy(), 2 * vector.numpy()
        )
        utils.vector_to_parameters(np.arange(8.0), layer.parameters())  # from the host
        assert layer.weight.dtype == np.float32
        assert layer(ag.ones((1, 3))).shape == (1, 2)
    with pytest.raises(ValueError, match=r"\[7\] must have 8 elements"):
        utils.vector_to_parameters(np.ones(7), layer.parameters())


def test_the_norm_of_gradients(backend):
    xs = [ag.Variable(normal(*s)).to(backend).value for s in ((3, 2), (4,), (0,))]
    flat = np.concatenate([normal(3, 2).ravel(), normal(4)])
    for p in (1.0, 2.0, 3.0, np.inf):
        assert float(utils.get_total_norm(xs, p)) == pytest.approx(np.linalg.norm(flat, p))
    assert utils.get_total_norm([]) == 0.0
    x = ag.Variable(np.ones(2), True)
    x.grad = np.array([1.0, np.inf])
    with pytest.raises(ValueError, match="the norm of the gradients is inf"):
        utils.clip_grad_norm_([x], 1.0, error_if_nonfinite=True)
    assert x.grad.tolist() == [1.0, np.inf]
    with pytest.raises(ValueError, match="norm_type=0 must be positive"):
        utils.get_total_norm(xs, 0)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
@pytest.mark.parametrize("norm", [parametrizations.weight_norm, parametrizations.spectral_norm])
def test_a_copy_of_a_parametrized_layer_is_one_of_its_own(norm, copied):
    layer, x = norm(nn.Linear(3, 2)).eval(), normal(4, 3)
    twin = copied(layer)
    expected = layer(x).numpy()
    assert repr(twin) == repr(layer)
    assert np.array_equal(twin(x).numpy(), expected)
    parametrizations.remove_parametrizations(twin, "weight")
    assert type(twin) is nn.Linear
    assert np.array_equal(layer(x).numpy(), expected)
