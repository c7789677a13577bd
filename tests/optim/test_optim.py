"""Optimisers: PyTorch's steps, groups, state, and what they leave alone."""

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu import nn, optim

CASES = {
    "sgd": (optim.SGD, {"lr": 0.1}),
    "momentum": (optim.SGD, {"lr": 0.1, "momentum": 0.9, "dampening": 0.1, "weight_decay": 0.01}),
    "nesterov": (optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    "adam": (optim.Adam, {"lr": 0.1, "betas": (0.8, 0.9), "weight_decay": 0.1}),
    "adamw": (optim.AdamW, {"lr": 0.1, "weight_decay": 0.1}),
    "rmsprop": (optim.RMSprop, {"lr": 0.1, "alpha": 0.9, "weight_decay": 0.1}),
    "rmsprop centred": (optim.RMSprop, {"lr": 0.1, "momentum": 0.5, "centered": True}),
    "adagrad": (
        optim.Adagrad,
        {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.2},
    ),
    "lion": (optim.Lion, {"lr": 0.1, "weight_decay": 0.1}),
}
MORE = {
    "sgd up": (optim.SGD, {"lr": 0.01, "momentum": 0.5, "weight_decay": 0.1, "maximize": True}),
    "adam up": (optim.Adam, {"lr": 0.1, "weight_decay": 0.1, "maximize": True}),
    "rmsprop up": (optim.RMSprop, {"lr": 0.01, "maximize": True}),
    "adagrad up": (optim.Adagrad, {"lr": 0.01, "maximize": True}),
    "amsgrad": (optim.Adam, {"lr": 0.1, "weight_decay": 0.1, "amsgrad": True}),
    "amsgrad decoupled": (optim.AdamW, {"lr": 0.1, "betas": (0.5, 0.6), "amsgrad": True}),
    "adamax": (optim.Adamax, {"lr": 0.1, "weight_decay": 0.1}),
    "nadam": (optim.NAdam, {"lr": 0.1, "weight_decay": 0.1, "momentum_decay": 0.1}),
    "nadam decoupled": (
        optim.NAdam, {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True},
    ),
    "radam": (optim.RAdam, {"lr": 0.1, "betas": (0.8, 0.9), "weight_decay": 0.1}),
    "radam decoupled": (
        optim.RAdam, {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True},
    ),
    "adadelta": (optim.Adadelta, {"lr": 0.5, "weight_decay": 0.1, "maximize": True}),
    "rprop": (optim.Rprop, {"lr": 0.1, "etas": (0.4, 1.3), "step_sizes": (1e-3, 0.2)}),
    "lamb": (optim.LAMB, {"lr": 0.1, "weight_decay": 0.1}),
}  # fmt: skip


@pytest.fixture(params=["numpy", "cupy"])
def backend(request):
    if request.param not in ag.available_backends():
        pytest.skip("no GPU and not run with --cupy-on-cpu")
    return request.param


@pytest.fixture
def parity():
    """PyTorch with the numbers in its states in float64 as well."""
    parity = pytest.importorskip("parity", reason="PyTorch is not installed")
    before = parity.torch.get_default_dtype()
    parity.torch.set_default_dtype(parity.torch.float64)
    yield parity
    parity.torch.set_default_dtype(before)


def parameters(backend="numpy"):
    rng = np.random.default_rng(0)
    made = []
    for shape in ((3, 4), (4,), ()):
        x = ag.Variable(np.asarray(rng.standard_normal(shape))).to(backend).detach()
        x.requires_grad = True
        made.append(x)
    return made


def loss(params):
    a, b, c = params
    return ag.sum((a * b) ** 2) + ag.sum(ag.sin(b) * c)


def train(params, optimizer, steps):
    for _ in range(steps):
        optimizer.zero_grad()
        loss(params).backward()
        optimizer.step()


def by_hand(name, x, g, state, options):
    """One step, by the definitions in PyTorch's documentation."""
    lr, decay = options["lr"], options.get("weight_decay", 0.0)
    if name.startswith("adam"):
        state["n"] = n = state.get("n", 0) + 1
        b1, b2 = options.get("betas", (0.9, 0.999))
        if name == "adamw":
            x = x * (1 - lr * decay)
        else:
            g = g + decay * x
        state["m"] = b1 * state.get("m", 0) + (1 - b1) * g
        state["v"] = b2 * state.get("v", 0) + (1 - b2) * g * g
        m, v = state["m"] / (1 - b1**n), state["v"] / (1 - b2**n)
        return x - lr * m / (np.sqrt(v) + 1e-8)
    if name == "lion":
        b1, b2 = options.get("betas", (0.9, 0.99))
        m = state.get("m", 0)
        state["m"] = b2 * m + (1 - b2) * g
        return x * (1 - lr * decay) - lr * np.sign(b1 * m + (1 - b1) * g)
    g = g + decay * x
    if name.startswith("rmsprop"):
        alpha = options.get("alpha", 0.99)
        state["v"] = v = alpha * state.get("v", 0) + (1 - alpha) * g * g
        if options.get("centered"):
            state["a"] = alpha * state.get("a", 0) + (1 - alpha) * g
            v = v - state["a"] ** 2
        state["b"] = options.get("momentum", 0) * state.get("b", 0) + g / (np.sqrt(v) + 1e-8)
        return x - lr * state["b"]
    if name == "adagrad":
        n = state.get("n", 0)
        state["n"] = n + 1
        state["v"] = state.get("v", options["initial_accumulator_value"]) + g * g
        return x - lr / (1 + n * options["lr_decay"]) * g / (np.sqrt(state["v"]) + 1e-10)
    momentum = options.get("momentum", 0)
    if momentum:
        keep = 1 - options.get("dampening", 0)
        state["b"] = momentum * state["b"] + keep * g if "b" in state else g
        g = g + momentum * state["b"] if options.get("nesterov") else state["b"]
    return x - lr * g


@pytest.mark.parametrize("name", CASES)
def test_steps_by_definition(backend, name):
    kind, options = CASES[name]
    params = parameters(backend)
    optimizer = kind(params, **options)
    expected, states = [x.numpy() for x in params], [{} for _ in params]
    for _ in range(4):
        train(params, optimizer, 1)
        leaves = [ag.Variable(np.asarray(x), True) for x in expected]
        loss(leaves).backward()
        expected = [
            by_hand(name, x, leaf.grad, state, options)
            for x, leaf, state in zip(expected, leaves, states, strict=True)
        ]
        for x, value in zip(params, expected, strict=True):
            np.testing.assert_allclose(x.numpy(), value, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", [n for n in CASES | MORE if n not in ("lion", "lamb")])
def test_steps_of_pytorch(backend, name, parity):
    torch = parity.torch
    kind, options = (CASES | MORE)[name]
    params = parameters(backend)
    tensors = [torch.tensor(x.numpy(), requires_grad=True) for x in params]
    theirs = getattr(torch.optim, kind.__name__)(tensors, **options)
    optimizer = kind(params, **options)
    for _ in range(8):
        train(params, optimizer, 1)
        theirs.zero_grad()
        a, b, c = tensors
        (((a * b) ** 2).sum() + (torch.sin(b) * c).sum()).backward()
        theirs.step()
    for x, tensor in zip(params, tensors, strict=True):
        parity.close(x.numpy(), tensor)


@pytest.mark.parametrize("name", [n for n in CASES | MORE if n not in ("lion", "lamb")])
def test_steps_of_complex_parameters_are_pytorchs(name, parity):
    kind, options = (CASES | MORE)[name]
    start = parity.normal(5, 2) @ [1, 1j]
    # not contiguous: a step writes it back
    x, t = ag.Variable(np.repeat(start, 2)[::2], True), parity.torch.tensor(start)
    t.requires_grad = True
    optimizer = kind([x], **options)
    theirs = getattr(parity.torch.optim, kind.__name__)([t], **options)
    for _ in range(5):
        x.grad, t.grad = np.conj(x.value) * 2 + 1, t.detach().conj() * 2 + 1
        optimizer.step()
        theirs.step()
    parity.close(x.value, t)


def test_lamb_by_definition(backend):
    x = parameters(backend)[0]
    kind, options = MORE["lamb"]
    optimizer = kind([x], **options)
    p, m, v = x.numpy(), 0, 0
    for n in range(1, 4):
        g = np.cos(p)
        x.grad = ag.Variable(g).to(backend).value
        optimizer.step()
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        r = m / (1 - 0.9**n) / (np.sqrt(v / (1 - 0.999**n)) + 1e-6) + 0.1 * p
        p = p - 0.1 * np.linalg.norm(p) / np.linalg.norm(r) * r
        np.testing.assert_allclose(x.numpy(), p, rtol=1e-9)
    zero = ag.Variable(np.zeros(3), True)
    optimizer = kind([zero], lr=0.5)
    zero.grad = np.ones(3)
    optimizer.step()
    np.testing.assert_allclose(zero.value, -0.5, rtol=1e-5)


@pytest.mark.parametrize("name", MORE)
def test_steps_of_many_elements_and_of_half_types(name):
    kind, options = MORE[name]
    start = np.random.default_rng(0).standard_normal(100_000)
    whole = ag.Variable(start, True)
    parts = [ag.Variable(start[i::2].copy(), True) for i in range(2)]
    half = ag.Variable(start.astype("f2"), True)
    optimizers = [kind(xs, **options) for xs in ([whole], parts, [half])]
    for _ in range(3):
        whole.grad = np.cos(start)
        for i, part in enumerate(parts):
            part.grad = np.cos(start[i::2])
        half.grad = np.cos(start).astype("f2")
        for optimizer in optimizers:
            optimizer.step()
    if name != "lamb":  # which looks at the norm of all
        for i, part in enumerate(parts):
            np.testing.assert_array_equal(part.value, whole.value[i::2])
    assert half.dtype == np.float16
    assert optimizers[2].state[half]["master"].dtype == np.float32
    np.testing.assert_allclose(half.value, whole.value, rtol=5e-3, atol=5e-3)


@pytest.mark.parametrize("name", CASES | MORE)
def test_state_goes_on_where_it_was_saved(name):
    kind, options = (CASES | MORE)[name]
    params = parameters()
    optimizer = kind(params, **options)
    train(params, optimizer, 3)
    state = optimizer.state_dict()
    others = [ag.Variable(x.value.copy(), True) for x in params]
    more = {"maximize": True} if options.get("maximize") else {}
    other = kind(others, lr=7.0, **more)
    other.load_state_dict(state)
    train(params, optimizer, 2)
    train(others, other, 2)
    for x, y in zip(params, others, strict=True):
        np.testing.assert_array_equal(x.value, y.value)
    with pytest.raises(ValueError, match=r"groups of \[3\] parameters, here are \[1\]"):
        kind(others[:1], lr=1.0).load_state_dict(state)


def test_the_state_of_another_optimiser_or_of_other_shapes_is_refused():
    params = parameters()
    adam, sgd = optim.Adam(params), optim.SGD(params, lr=0.1, momentum=0.9)
    train(params, adam, 1)
    train(params, sgd, 1)
    before = sgd.state_dict()
    with pytest.raises(
        ValueError, match=r"SGD: .* another optimiser, with options \['amsgrad', 'be"
    ):
        sgd.load_state_dict(adam.state_dict())
    state = adam.state_dict()
    state["param_groups"] = before["param_groups"]
    with pytest.raises(ValueError, match="SGD: .* has an array 'm', and here 'momentum_buffer'"):
        sgd.load_state_dict(state)
    state = adam.state_dict()
    state["state"][1]["m"] = np.ones(3)
    with pytest.raises(
        ValueError, match=r"'m' of parameter 1 has shape \[3\], the parameter \[4\]"
    ):
        adam.load_state_dict(state)
    state["state"] = {7: {"m": np.ones(3)}}
    with pytest.raises(ValueError, match="of a parameter 7, 3 are"):
        adam.load_state_dict(state)
    for number, entry in sgd.state_dict()["state"].items():
        np.testing.assert_array_equal(
            entry["momentum_buffer"], before["state"][number]["momentum_buffer"]
        )
    optim.AdamW(params).load_state_dict(adam.state_dict())  # the same state, other steps


def test_groups():
    a, b, c = parameters()
    optimizer = optim.SGD([{"params": [a], "lr": 0.5}, {"params": [b, c]}], lr=0.0)
    before = [x.value.copy() for x in (a, b, c)]
    train([a, b, c], optimizer, 1)
    assert (a.value != before[0]).any()
    np.testing.assert_array_equal(b.value, before[1])
    assert "group 1: 2 parameters" in repr(optimizer)


def test_a_step_changes_nobody_elses_array():
    array = np.ones(3)
    x = ag.Variable(array, requires_grad=True)
    y = x * x
    optimizer = optim.SGD([x], lr=0.1)
    x.grad = np.ones(3)
    optimizer.step()
    assert array.tolist() == [1, 1, 1]
    assert x.tolist() == [0.9, 0.9, 0.9]
    x.zero_grad()
    y.backward(np.ones(3))
    assert x.grad.tolist() == [2, 2, 2]  # of the value at the time of the product


def test_a_step_works_in_place_where_it_can():
    x = ag.Variable(np.ones(3) * 1, requires_grad=True)
    optimizer = optim.SGD([x], lr=0.1)
    x.grad = np.ones(3)
    optimizer.step()
    address = x.value.ctypes.data
    optimizer.step()
    assert x.value.ctypes.data == address


def test_parameters_without_gradient_stay():
    a, b, _ = parameters()
    optimizer = optim.Adam([a, b])
    a.grad = np.ones((3, 4))
    before = b.value.copy()
    optimizer.step()
    np.testing.assert_array_equal(b.value, before)


def test_what_is_refused():
    a, b, _ = parameters()
    for wrong, error, message in [
        ([], ValueError, "no parameters"),
        ([a, a], ValueError, "twice"),
        ([a * 1.0], ValueError, "leaf"),
        ([np.ones(3)], TypeError, "Variable"),
        (a, TypeError, "sequence"),
        ([{"params": [a], "rate": 1}], TypeError, "rate"),
    ]:
        with pytest.raises(error, match=message):
            optim.SGD(wrong)
    with pytest.raises(ValueError, match="lr"):
        optim.SGD([a], lr=-1)
    with pytest.raises(ValueError, match="nesterov"):
        optim.SGD([a], nesterov=True)
    with pytest.raises(ValueError, match="betas"):
        optim.Adam([b], betas=(0.9, 1.0))
    with pytest.raises(ValueError, match="NAdam: momentum_decay=-1 is negative"):
        optim.NAdam([b], momentum_decay=-1)
    with pytest.raises(ValueError, match="Adadelta: rho=2"):
        optim.Adadelta([b], rho=2)
    with pytest.raises(ValueError, match="Rprop: etas"):
        optim.Rprop([b], etas=(1.2, 0.5))
    for option in ("differentiable", "foreach", "fused", "capturable"):
        with pytest.raises(TypeError, match=option):
            optim.Adam([b], **{option: True})


def test_gradients_as_zeros(backend):
    a, b, _ = parameters(backend)
    a.grad = a.value + 1
    optimizer = optim.SGD([a, b])
    optimizer.zero_grad(set_to_none=False)
    assert not ag.Variable(a.grad).numpy().any()
    assert b.grad is None
    optimizer.zero_grad()
    assert a.grad is None


def test_clipping(backend):
    a, b, c = parameters(backend)
    loss([a, b, c]).backward()
    grads = [ag.Variable(x.grad).numpy() for x in (a, b, c)]
    norm = np.sqrt(sum((g**2).sum() for g in grads))
    assert float(optim.clip_grad_norm_([a, b, c], norm * 2)) == pytest.approx(norm)
    np.testing.assert_allclose(ag.Variable(a.grad).numpy(), grads[0])
    optim.clip_grad_norm_([a, b, c], norm / 2)
    np.testing.assert_allclose(ag.Variable(b.grad).numpy(), grads[1] / 2, rtol=1e-5)
    optim.clip_grad_value_([a, b, c], 0.01)
    assert np.abs(ag.Variable(a.grad).numpy()).max() <= 0.01


@pytest.mark.parametrize(
    ("grad", "error", "message"),
    [
        (np.ones((2, 1)), ValueError, r"shape \[2, 1\], its parameter \[2\]"),
        (np.ones(1), ValueError, r"shape \[1\], its parameter \[2\]"),
        (np.ones(2) * 1j, TypeError, "complex128, its parameter float"),
        (ag.Variable([1.0, 2.0]), TypeError, "not Variable; assign its value"),
        ([1.0, 2.0], TypeError, "like the parameter, not list"),
    ],
)
@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam])
def test_an_assigned_gradient_that_does_not_fit_is_refused(kind, grad, error, message):
    weight = nn.Parameter(np.ones(2))
    weight.grad = grad
    with pytest.raises(error, match=message):
        kind([weight], lr=0.1).step()
    assert weight.tolist() == [1.0, 1.0]
