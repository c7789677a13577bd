"""Every op runs where its operands live, forwards and backwards, whatever device is current."""

import copy
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from raw_kernels import forget
from samples import SAMPLES
from samples.calling import NUMPY_ONLY, TOLERANCE, UP_TO_PHASES, close, in_dtype, missing, on_gpu
from samples.sides import Side

import autograd_gpu as ag
from autograd_gpu import backend as backends, nn, optim
from autograd_gpu.nn import functional as F
from autograd_gpu.primitive import PRIMITIVES


@pytest.fixture
def cp():
    """CuPy with two devices at least, of which the first is current."""
    try:
        backend = backends.load_backend("cupy")
    except backends.BackendError as error:
        pytest.skip(f"no GPU and not run with --cupy-on-cpu: {error}")
    import cupy
    from cupy_on_cpu import devices, is_started

    if not is_started():
        if backend.device_count() < 2:
            pytest.skip("there is one GPU only")
        yield cupy
        return
    forget()
    with devices(2):
        backends.count_devices(backend)
        yield cupy
        assert backend.current_device() == 0, "the device that was current is so again"
    backends.count_devices(backend)


def on(cp, number, *shape, dtype="f4"):
    with cp.cuda.Device(number):
        return ag.Variable(cp.ones(shape, dtype), requires_grad=True)


def home(x):
    return (x.value if isinstance(x, ag.Variable) else x).data.device_id


@pytest.mark.parametrize("name", [name for name in SAMPLES if name not in NUMPY_ONLY])
def test_every_op_runs_on_the_device_of_its_operands_on_cupy(cp, name):
    if reason := missing(name, backends.load_backend("cupy")):
        pytest.skip(reason)
    cupy, numpy = backends.load_backend("cupy"), backends.load_backend("numpy")
    for i, sample in enumerate(SAMPLES[name]):
        operands = in_dtype(sample, "float64")
        if operands is None:
            continue
        second = bool(PRIMITIVES[name].derivatives) and sample.second and sample.check and i == 0
        with np.errstate(all="ignore"), cp.cuda.Device(1):
            ours = Side(cupy, name, sample, operands, second)
        with np.errstate(all="ignore"):
            theirs = Side(numpy, name, sample, operands, second)
            theirs.run()
            ours.run()
        for (what, mine), (_, other) in zip(ours.results(), theirs.results(), strict=True):
            if mine is None:
                continue
            where = f"{name} {sample.label} {what}"
            assert home(mine) == 1, where
            if sample.check and not (name in UP_TO_PHASES and on_gpu(cupy)):
                close(mine.numpy(), other.numpy(), TOLERANCE.get("float64", 1e-9))


def test_mixed_devices_are_named_on_cupy(cp):
    a, b = on(cp, 0, 2), on(cp, 1, 3)
    says = (
        r"float32\[2\] on <CUDA Device 0>, float32\[3\] on <CUDA Device 1>.*"
        r"x\.to_device\(y\.device\) or \.to\('cuda:0'\)"
    )
    for op, name in (
        (lambda: a + b, "add"),
        (lambda: a.value * b, "multiply"),
        (lambda: ag.concat([a, b]), "concat"),
        (lambda: ag.where(a > 0, a, b), "where"),
        (lambda: a.detach().__iadd__(b), "add"),
        (lambda: a.detach().__iadd__(b.value), "add in place"),
        (lambda: a.detach().__setitem__(0, b[0]), "x"),
        (lambda: Double.apply(a, b), "Double"),
    ):
        with pytest.raises(TypeError, match=f"(?s)^{name}.*(?:{says}|different devices)"):
            op()
    i = ag.astype(on(cp, 1, 1), int)
    for index in (lambda: a[i], lambda: ag.take(a, i)):
        with pytest.raises(TypeError, match="different devices"):
            index()


class Double(ag.Function):
    """Twice the sum of its inputs, with raw arrays and their operators."""

    def forward(self, *xs):
        return 2 * sum(xs)

    def backward(self, g):
        return (2 * g,) * len(self.needs_input_grad)


def test_operators_beside_numbers_lists_and_numpy_scalars_on_cupy(cp):
    x = on(cp, 1, 2)
    for y in (x + 1, 1 / x, [1.0, 2.0] * x, x * np.float32(3), x**2, -x, x[[1, 0]], x > 0):
        assert home(y) == 1
    y = x.detach()
    y += 1.0
    y[0] = 3.0
    y[[1]] = 4.0
    assert (home(y), y.tolist()) == (1, [3.0, 4.0])


def test_gradients_stay_with_their_leaves_on_cupy(cp):
    x, y = on(cp, 0, 3), on(cp, 1, 3)
    for _ in range(2):  # the second adds to the first
        loss = (x * 3.0).to("cuda:1") * y + Double.apply(y)
        ag.sum(loss).backward()
    assert (home(x.grad), home(y.grad)) == (0, 1)
    assert (x.grad.tolist(), y.grad.tolist()) == ([6.0] * 3, [10.0] * 3)


def test_a_diamond_over_two_devices_adds_up_at_home_on_cupy(cp):
    x = on(cp, 0, 2)
    there = x.to("cuda:1")
    y = (there * there + ag.exp(there)).to("cuda:0") * x + x
    (dx,) = ag.gradients([y.sum()], [x], create_graph=True)
    assert home(dx) == 0
    close(dx.numpy(), np.full(2, 4 + 2 * np.e), 1e-5)  # x³ + x exp(x) + x
    ddx = ag.gradients(dx.sum(), x)
    assert home(ddx) == 0
    close(ddx.numpy(), np.full(2, 6 + 3 * np.e), 1e-5)


def test_transfers_between_devices_do_not_wait_on_cupy(cp):
    from cupy_on_cpu import counting, is_started

    if not is_started():
        pytest.skip("counts need --cupy-on-cpu")
    x = on(cp, 0, 4)
    (x.to("cuda:1") * 2.0).sum().backward()
    with counting() as c:
        y = x.to("cuda:1")
        (y * 2.0).sum().backward()
    assert (c.waits, c.to_host, c.to_device, c.on_device) == (0, 0, 0, 2), str(c)


def test_to_goes_to_the_current_device_on_cupy(cp):
    x = on(cp, 1, 2)
    assert home(x.to("cuda")) == 0
    assert x.to("cuda:1") is x
    with cp.cuda.Device(1):
        assert x.to("cuda") is x
    assert home(x.to_device(cp.cuda.Device(0))) == 0
    assert home(ag.zeros_like(x)) == 1
    assert home(ag.zeros(2, device="cuda:1")) == 1
    with ag.use_backend("cupy"):
        assert home(ag.zeros(2)) == 0


def test_errors_leave_the_current_device_on_cupy(cp):
    x = on(cp, 1, 2)
    with pytest.raises(ValueError, match="add"):
        x + on(cp, 1, 3)
    assert cp.cuda.Device().id == 0
    y = Fails.apply(x)
    with pytest.raises(ZeroDivisionError):
        y.sum().backward()
    assert cp.cuda.Device().id == 0


class Fails(ag.Function):
    def forward(self, x):
        return x + 0

    def backward(self, g):
        raise ZeroDivisionError


def test_hooks_run_on_the_device_of_their_gradient_on_cupy(cp):
    x = on(cp, 1, 2)
    seen = []

    def hook(g):
        seen.append(cp.cuda.Device().id)
        return g * 2

    x.register_hook(hook)
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append(cp.cuda.Device().id))
    y = x * 3.0
    y.register_hook(hook)
    y.retain_grad()
    y.sum().backward()
    assert (x.grad.tolist(), seen) == ([12.0, 12.0], [1, 1, 1])
    assert home(y.grad) == 1
    x.register_hook(lambda g: on(cp, 0, 2).value)
    with pytest.raises(TypeError, match="hook.*different devices"):
        (x * 3.0).sum().backward()


def test_a_gradient_from_another_device_is_refused_on_cupy(cp):
    x = on(cp, 1, 2)
    with pytest.raises(TypeError, match="different devices"):
        (x * 2.0).backward(on(cp, 0, 2))
    (x * 2.0).backward(on(cp, 1, 2))
    assert home(x.grad) == 1


def test_a_grad_that_the_user_set_elsewhere_is_refused_on_cupy(cp):
    x = on(cp, 1, 2)
    x.grad = on(cp, 0, 2).value
    with pytest.raises(TypeError, match=r"the \.grad of a leaf.*different devices"):
        (x * 2.0).sum().backward()
    optimiser = optim.SGD([x], lr=0.1)
    with pytest.raises(TypeError, match="SGD.*different devices"):
        optimiser.step()


OPTIMISERS = {
    "SGD": lambda xs: optim.SGD(xs, lr=0.1, momentum=0.9),
    "AdamW": lambda xs: optim.AdamW(xs, lr=0.1),
    "RMSprop": lambda xs: optim.RMSprop(xs, lr=0.1, momentum=0.9, centered=True),
    "Adagrad": lambda xs: optim.Adagrad(xs, lr=0.1),
    "Lion": lambda xs: optim.Lion(xs, lr=0.1),
}


@pytest.mark.parametrize("dtype", ["f4", "f2"])
@pytest.mark.parametrize("name", OPTIMISERS)
def test_optimisers_step_each_parameter_at_home_on_cupy(cp, name, dtype):
    xs = [on(cp, number, 3, dtype=dtype) for number in (0, 1)]
    optimiser = OPTIMISERS[name](xs)
    scaler, ema = optim.GradScaler(8.0), optim.EMA(xs)
    for _ in range(2):
        optimiser.zero_grad()
        for x in xs:
            scaler.scale((x * x).sum()).backward()
        scaler.unscale_(optimiser)
        optim.clip_grad_norm_(xs, 1.0)
        assert scaler.step(optimiser)
        scaler.update()
        ema.update()
    assert [home(x) for x in xs] == [0, 1]
    assert xs[0].tolist() == xs[1].tolist()
    for x in xs:
        assert {home(s) for s in optimiser.state[x].values() if hasattr(s, "data")} == {home(x)}
    optimiser.load_state_dict(optimiser.state_dict())
    assert {home(s) for s in optimiser.state[xs[1]].values() if hasattr(s, "data")} == {1}
    assert [home(a) for a in ema.averages] == [0, 1]
    assert home(copy.copy(xs[1])) == 1


def test_clipping_adds_up_over_devices_on_cupy(cp):
    xs = [on(cp, number, 2) for number in (0, 1)]
    for x, value in zip(xs, (3.0, 4.0), strict=True):
        (x * value).sum().backward()
    norm = optim.clip_grad_norm_(xs, 1.0)
    close(np.asarray(norm.get()), np.sqrt(50), 1e-5)
    for x, value in zip(xs, (3.0, 4.0), strict=True):
        close(x.grad.get(), np.full(2, value / np.sqrt(50)), 1e-5)


def labels(x, *values):
    with x.value.device:
        return backends.load_backend("cupy").asarray(list(values))


NETWORKS = {
    "cross_entropy": lambda x: F.cross_entropy(x[0, 0], labels(x, 1, 0, 2, 1)),
    "cross_entropy, smoothed": lambda x: F.cross_entropy(
        x[0, 0], labels(x, 1, 0, 2, 1), label_smoothing=0.1
    ),
    "nll_loss": lambda x: F.nll_loss(ag.log_softmax(x[0, 0]), labels(x, 1, 0, 2, 1)),
    "one_hot": lambda x: x[0, 0] * F.one_hot(labels(x, 1, 0, 2, 1), 4),
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
    "attention, masked": lambda x: F.scaled_dot_product_attention(x, x, x, (x > 2)[0, 0]),
    "dropout": lambda x: F.dropout(x, 0.5),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "avg_pool2d": lambda x: F.avg_pool2d(x, 3, padding=1, count_include_pad=False),
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 3),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, 3),
    "interpolate": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    "embedding": lambda x: F.embedding(labels(x, 1, 0), x[0, 0]),
    "einsum": lambda x: ag.einsum("ijkk->ijk", x),
    "linspace": lambda x: ag.linspace(x[0, 0, 0, 0], x[0, 0, 0, 1], 5),
    "put_along_axis": lambda x: ag.take_along_axis(x[0, 0], labels(x, 1, 0, 2, 1)[:, None], axis=1),
    "interp": lambda x: ag.interp(x, [0.0, 5.0], [0.0, 1.0]),
    "jvp": lambda x: x * ag.jvp(ag.exp, (x.value,), (x.value,))[1],
    "jacobian": lambda x: ag.Variable(ag.jacobian(lambda v: v * v)(x.value[0, 0])) + x[0, 0],
    "huber_loss": lambda x: F.huber_loss(x, ag.zeros_like(x)),
    "kl_div": lambda x: F.kl_div(ag.log_softmax(x), ag.softmax(x)),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_functions_of_networks_run_there_too_on_cupy(cp, name):
    with cp.cuda.Device(1):
        x = ag.Variable(cp.arange(32, dtype="f4").reshape(1, 2, 4, 4) % 5, requires_grad=True)
    ag.manual_seed(0)
    y = NETWORKS[name](x)
    assert home(y) == 1
    ag.sum(y * y).backward()
    assert home(x.grad) == 1
    ag.manual_seed(0)
    with cp.cuda.Device(1):
        expected = NETWORKS[name](x)
    np.testing.assert_array_equal(y.numpy(), expected.numpy())


LAYERS = {
    "attention": (
        lambda: nn.MultiheadAttention(4, 2, batch_first=True),
        lambda m, x: m(x, x, x)[0],
    ),
    "LSTM": (lambda: nn.LSTM(4, 3, batch_first=True), lambda m, x: m(x)[0]),
    "batch norm, evaluated": (lambda: nn.BatchNorm1d(4).eval(), lambda m, x: m(x[0])),
    "batch norm, trained": (lambda: nn.BatchNorm1d(4), lambda m, x: m(x[0])),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_move_and_run_there_on_cupy(cp, name):
    make, run = LAYERS[name]
    layer = make().to("cuda:1")
    assert {home(p) for p in layer.parameters()} == {1}
    y = run(layer, on(cp, 1, 2, 3, 4))
    assert home(y) == 1
    ag.sum(y * y).backward()
    assert {home(p.grad) for p in layer.parameters()} == {1}
    assert {home(x) for x in layer.state_dict().values()} == {1}


def test_threads_have_devices_of_their_own_on_cupy(cp):
    def work(number):
        cp.cuda.Device(number).use()
        x = on(cp, 1 - number, 5)
        for _ in range(10):
            x.grad = None
            (ag.exp(x) * x).sum().backward()
            assert (home(x.grad), cp.cuda.Device().id) == (1 - number, number)
        return True

    with ThreadPoolExecutor(2) as pool:
        assert all(pool.map(work, (0, 1)))


def test_streams_are_those_of_each_device_on_cupy(cp):
    with cp.cuda.Device(1):
        stream = cp.cuda.Stream(non_blocking=True)
        stream.use()
    try:
        x = on(cp, 1, 2)
        seen = []
        x.register_hook(lambda g: seen.append(cp.cuda.get_current_stream().ptr))
        (x * 2.0).sum().backward()
        assert seen == [stream.ptr]
        assert cp.cuda.get_current_stream() == cp.cuda.Stream.null
    finally:
        with cp.cuda.Device(1):
            cp.cuda.Stream.null.use()


def test_with_one_device_ops_look_at_none(cp, monkeypatch):
    from cupy_on_cpu import devices, is_started

    if not is_started():
        pytest.skip("how many devices there are is the emulation's to choose")
    backend = backends.load_backend("cupy")
    looked = []
    monkeypatch.setattr(type(backend), "device_number", lambda self, x: looked.append(x))
    with devices(1):
        backends.count_devices(backend)
        x = on(cp, 0, 2)
        (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert not looked
    with devices(2):
        backends.count_devices(backend)
        assert [backend] == backends.SEVERAL_DEVICES
