"""Modules: the tree, modes, state, hooks, repr, containers."""

import copy
import pickle

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.rest = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 2, bias=False)])
        self.scale = nn.Parameter([1.0])
        self.register_buffer("shift", ag.Variable([0.5]))
        self.register_buffer("scratch", ag.Variable([0.5]), persistent=False)

    def forward(self, x):
        x = self.first(x)
        for layer in self.rest:
            x = layer(x)
        return x * self.scale + self.shift


NAMES = [
    "scale", "first.weight", "first.bias", "rest.0.weight", "rest.0.bias", "rest.1.weight"
]  # fmt: skip


def test_names():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == NAMES
    assert [name for name, _ in net.named_buffers()] == ["shift", "scratch"]
    assert [name for name, _ in net.named_modules()] == ["", "first", "rest", "rest.0", "rest.1"]
    assert [name for name, _ in net.named_children()] == ["first", "rest"]
    assert sorted(net.state_dict()) == sorted([*NAMES, "shift"])
    assert all(isinstance(x, nn.Parameter) and x.requires_grad for x in net.parameters())


def test_a_shared_parameter_is_listed_once():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    assert len(list(net.parameters())) == 3
    assert len(net.state_dict()) == 4


def test_attributes():
    net = Net()
    with pytest.raises(TypeError, match=r"change its \.value"):
        net.scale = 3.0
    net.scale = nn.Parameter([2.0])
    assert net.scale.tolist() == [2.0]
    del net.scale
    with pytest.raises(AttributeError, match="no attribute 'scale'"):
        net.scale  # noqa: B018

    class Early(nn.Module):
        def __init__(self):
            self.layer = nn.Linear(1, 1)

    with pytest.raises(AttributeError, match="super"):
        Early()
    with pytest.raises(NotImplementedError, match="Module defines no forward"):
        nn.Module()(1)


def test_modes_freezing_and_gradients():
    net = Net()
    assert net.training
    net.eval()
    assert not any(module.training for module in net.modules())
    net.train()
    ag.sum(net(np.ones((2, 3), "float32"))).backward()
    assert all(x.grad is not None for x in net.parameters())
    net.zero_grad()
    assert all(x.grad is None for x in net.parameters())
    net.requires_grad_(False)
    assert not net(np.ones((2, 3), "float32")).requires_grad


def test_state_dict_round_trip():
    source, target = Net(), Net()
    x = np.ones((2, 3), "float32")
    assert (source(x).value != target(x).value).any()
    state = source.state_dict()
    assert target.load_state_dict(state) == ([], [])
    np.testing.assert_array_equal(source(x).value, target(x).value)
    state["scale"][:] = 7
    assert source.scale.item() == target.scale.item() == 1


def test_load_state_dict_says_what_is_wrong_and_changes_nothing():
    net = Net()
    state = net.state_dict()
    before = net.first.weight.value.copy()
    state["first.weight"] = state["first.weight"] + 1
    with pytest.raises(ValueError, match=r"missing: scale; unexpected: other"):
        net.load_state_dict(
            {"other": state["scale"], **{k: v for k, v in state.items() if k != "scale"}}
        )
    with pytest.raises(ValueError, match=r"scale has shape \[2\], here it is \[1\]"):
        net.load_state_dict({**state, "scale": np.ones(2)})
    np.testing.assert_array_equal(net.first.weight.value, before)
    missing, unexpected = net.load_state_dict({"scale": [3.0], "other": [1.0]}, strict=False)
    assert net.scale.item() == 3
    assert set(missing) == {*NAMES, "shift"} - {"scale"}
    assert unexpected == ["other"]


def test_copies_and_pickles():
    net = Net()
    x = np.ones((2, 3), "float32")
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert isinstance(other.scale, nn.Parameter)
        np.testing.assert_array_equal(other(x).value, net(x).value)
        assert other.scale is not net.scale


def test_to_a_dtype_leaves_integers_alone():
    net = Net()
    net.register_buffer("count", np.array([3]))
    net.to("float64")
    assert {x.dtype.name for x in net.parameters()} == {"float64"}
    assert net.shift.dtype == np.float64
    assert net.count.dtype == np.int64
    loss = ag.sum(net(np.ones((2, 3))))
    loss.backward()
    assert net.scale.grad.dtype == np.float64


def test_to_a_backend(backend):
    with ag.use_backend("numpy"):
        net = Net()
    expected = net(np.ones((2, 3), "float32")).value
    net.to(backend)
    y = net(ag.Variable(np.ones((2, 3), "float32")).to(backend))
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-5, atol=1e-6)
    ag.sum(y).backward()
    assert type(net.scale.grad) is type(net.scale.value)
    net.cpu()
    assert isinstance(net.scale.value, np.ndarray)
    assert isinstance(net.scale.grad, np.ndarray)


def test_hooks():
    net = nn.Linear(2, 2)
    seen = []
    before = net.register_forward_pre_hook(lambda module, args: seen.append(args))
    after = net.register_forward_hook(lambda module, args, result: result * 0.0)
    assert not net(np.ones((1, 2), "float32")).value.any()
    assert len(seen) == 1
    before.remove()
    after.remove()
    assert net(np.ones((1, 2), "float32")).value.any()
    assert len(seen) == 1


def test_apply_visits_children_first():
    visited = []
    net = Net()
    assert net.apply(lambda module: visited.append(module)) is net
    assert visited[-1] is net
    assert len(visited) == 5


def test_repr():
    net = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.Sequential(nn.ReLU(), nn.Dropout(0.1)))
    assert repr(net) == (
        "Sequential(\n"
        "  (0): Conv2d(1, 2, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))\n"
        "  (1): Sequential(\n"
        "    (0): ReLU()\n"
        "    (1): Dropout(p=0.1)\n"
        "  )\n"
        ")"
    )


def test_containers():
    net = nn.Sequential({"a": nn.Linear(1, 2), "b": nn.ReLU()})
    assert [name for name, _ in net.named_children()] == ["a", "b"]
    assert len(net) == 2
    assert isinstance(net[-1], nn.ReLU)
    assert len(net[:1]) == 1
    net.append(nn.Linear(2, 1))
    assert net([[1.0]]).shape == (1, 1)
    with pytest.raises(TypeError, match="holds Modules, not function"):
        nn.Sequential(lambda x: x)
    parameters = nn.ParameterList([[1.0], [2.0]])
    assert [x.item() for x in parameters] == [1, 2]


def test_complex_numbers_do_not_load_into_real_parameters():
    layer = nn.Linear(2, 1)
    before = layer.weight.value.copy()
    state = {"weight": np.ones((1, 2)) * 1j, "bias": np.zeros(1)}
    with pytest.raises(ValueError, match="weight is complex128, here it is float32, which would"):
        layer.load_state_dict(state)
    np.testing.assert_array_equal(layer.weight.value, before)
    layer = nn.Linear(2, 1, dtype="complex64")
    layer.load_state_dict({"weight": np.ones((1, 2)), "bias": np.zeros(1)})
    assert layer.weight.dtype == np.complex64
    assert layer.weight.tolist() == [[1, 1]]


def test_parts_by_their_paths():
    model = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU(), nn.Linear(3, 1)))
    assert model.get_submodule("1.1") is model[1][1]
    assert model.get_submodule("") is model
    assert model.get_parameter("1.1.bias") is model[1][1].bias
    with pytest.raises(AttributeError, match="Sequential has no module '1.7'"):
        model.get_submodule("1.7")
    with pytest.raises(AttributeError, match="Sequential has no parameter '0.kernel'"):
        model.get_parameter("0.kernel")
    model.add_module("head", nn.Linear(1, 1))
    assert len(list(model.parameters())) == 6


def test_other_precisions():
    layer = nn.BatchNorm1d(2)
    for method, dtype in (("double", "f8"), ("half", "f2"), ("float", "f4")):
        assert getattr(layer, method)() is layer
        assert layer.weight.dtype == layer.running_mean.dtype == np.dtype(dtype)


def test_dicts_of_modules_and_parameters():
    heads = nn.ModuleDict({"a": nn.Linear(2, 1)})
    heads["b"] = nn.Linear(2, 3)
    assert list(heads) == list(heads.keys()) == ["a", "b"]
    assert [m.out_features for m in heads.values()] == [1, 3]
    assert dict(heads.items())["b"] is heads["b"]
    assert list(heads.state_dict()) == ["a.weight", "a.bias", "b.weight", "b.bias"]
    del heads["a"]
    assert "a" not in heads
    assert len(heads) == 1
    with pytest.raises(TypeError, match="ModuleDict holds Modules, not int"):
        heads["c"] = 3
    for name in ("", "a.b"):
        with pytest.raises(ValueError, match="not empty and has no dot"):
            heads[name] = nn.ReLU()
        with pytest.raises(ValueError, match="not empty and has no dot"):
            nn.ParameterDict({name: [1.0]})
    scales = nn.ParameterDict({"x": [1.0]})
    scales.update({"y": nn.Parameter([2.0, 3.0])})
    assert [name for name, _ in scales.named_parameters()] == list(scales) == ["x", "y"]
    assert [p.size for _, p in scales.items()] == [p.size for p in scales.values()] == [1, 2]
    del scales["x"]
    assert "x" not in scales
    assert len(scales) == len(list(scales.keys())) == 1


def test_gradients_become_none_or_zeros(backend):
    with ag.use_backend(backend):
        layer = nn.Linear(2, 1)
        ag.sum(layer(ag.ones((3, 2)))).backward()
        layer.zero_grad(set_to_none=False)
        assert not ag.Variable(layer.weight.grad).numpy().any()
        layer.zero_grad()
        assert layer.weight.grad is None
