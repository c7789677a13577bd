"""compile on CuPy: a step as a CUDA graph does what the eager step does, bit for bit."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import sys
import types

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu import nn, optim
from autograd_gpu.backend import BackendError, load_backend

F = nn.functional
STEPS = 7


@pytest.fixture
def cp():
    try:
        load_backend("cupy")
    except BackendError as error:
        pytest.skip(f"no GPU and not run with --cupy-on-cpu: {error}")
    import cupy

    with ag.use_backend("cupy"):
        yield cupy


@pytest.fixture
def counting(cp):
    cupy_on_cpu = pytest.importorskip("cupy_on_cpu")
    if not cupy_on_cpu.is_started():
        pytest.skip("counts need --cupy-on-cpu")
    return cupy_on_cpu.counting


def is_emulated():
    cupy_on_cpu = sys.modules.get("cupy_on_cpu")
    return cupy_on_cpu is not None and cupy_on_cpu.is_started()


def mlp():
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 4))


def convnet():
    return nn.Sequential(
        nn.Conv2d(1, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.2), nn.Linear(27, 4),
    )  # fmt: skip


class Block(nn.Module):
    """A block of a GPT, with a head on top."""

    def __init__(self, dim=8, heads=2):
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.q, self.k, self.v, self.proj = (nn.Linear(dim, dim) for _ in range(4))
        self.fc, self.out, self.head = nn.Linear(dim, 16), nn.Linear(16, dim), nn.Linear(dim, 4)

    def forward(self, x):
        b, t, d = x.shape
        h = self.ln1(x)
        q, k, v = (
            f(h).reshape((b, t, self.heads, d // self.heads)).swapaxes(1, 2)
            for f in (self.q, self.k, self.v)
        )
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=0.1)
        x = x + self.proj(a.swapaxes(1, 2).reshape((b, t, d)))
        x = x + self.out(F.gelu(self.fc(self.ln2(x)), approximate="tanh"))
        return self.head(x).mean(1)


class Words(nn.Module):
    """Embeddings, whose gradients are sums over repeated indices."""

    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(7, 8), nn.Linear(8, 4)

    def forward(self, x):
        return self.head(self.table(ag.astype(abs(x) * 3, "int64")).mean(1))


NETWORKS = {
    "embedding": (Words, (4, 9), lambda p: optim.RMSprop(p, lr=1e-2, momentum=0.5, centered=True)),
    "mlp": (mlp, (5, 6), lambda p: optim.Adam(p, lr=1e-2)),
    "mlp, Adagrad": (mlp, (5, 6), lambda p: optim.Adagrad(p, lr=0.1, lr_decay=0.1)),
    "mlp, SGD": (mlp, (5, 6), lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True)),
    "convnet": (convnet, (3, 1, 6, 6), lambda p: optim.AdamW(p, lr=1e-2)),
    "GPT block": (Block, (2, 5, 8), lambda p: optim.Lion(p, lr=1e-2)),
}


class Training:
    """A network that is trained by one function, eager or compiled."""

    def __init__(self, name, is_compiled, dtype="float32"):
        make, self.shape, optimiser = NETWORKS[name]
        ag.manual_seed(0)
        self.model = make()
        self.model.to("cupy")
        if dtype != "float32":
            self.model.to(dtype)
        self.dtype = dtype
        self.optimizer = optimiser(self.model.parameters())
        self.rng = np.random.default_rng(0)
        self.step = ag.compile(self.plain) if is_compiled else self.plain

    def plain(self, x, t):
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(ag.Variable(x)), ag.Variable(t))
        loss.backward()
        optim.clip_grad_norm_(self.model.parameters(), 0.5)
        self.optimizer.step()
        return loss

    def batch(self, cp):
        x = self.rng.standard_normal(self.shape)
        return cp.asarray(x.astype(self.dtype)), cp.asarray(self.rng.integers(0, 4, self.shape[0]))

    def state(self):
        """Everything that training goes on from."""
        parts = [x.value.get() for x in [*self.model.parameters(), *self.model.buffers()]]
        parts += [x.grad.get() for x in self.model.parameters()]
        for state in self.optimizer.state.values():
            parts += [v.get() if hasattr(v, "get") else v for v in state.values()]
        return [*parts, ag.random.default_generator().state_dict()["offset"]]


def assert_near(a, b):
    for x, y in zip(a, b, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-3, atol=1e-4)


def assert_same(a, b):
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.fixture
def products(cp):
    """For steps with products, which nvmath-python captures on a device."""
    if not is_emulated() and importlib.util.find_spec("nvmath") is None:
        pytest.skip("nvmath-python is not installed")


@pytest.mark.parametrize("name", NETWORKS)
def test_a_captured_step_is_the_eager_one(cp, products, name):
    runs = []
    for is_compiled in (False, True):
        training = Training(name, is_compiled)
        ag.manual_seed(1)
        losses = [training.step(*training.batch(cp)).value.get() for _ in range(STEPS)]
        runs.append((losses, training.state()))
    assert training.step.reason is None
    assert training.step.replays == STEPS - 2
    for eager, captured in zip(*runs, strict=True):
        # cuBLAS may choose another algorithm for a captured product
        same = assert_same if is_emulated() else assert_near
        same(captured, eager)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_replay_neither_waits_nor_copies_nor_asks_for_memory(cp, counting, name):
    training = Training(name, True)
    for i in range(4):
        batch = training.batch(cp)
        with counting() as c:
            training.step(*batch)
        if i >= 2:
            assert (c.graph_launches, c.waits, c.to_host, c.to_device) == (1, 0, 0, 0)
            assert c.raw_sizes == []
    assert training.step.reason is None


def test_nothing_is_allocated_in_the_capture(cp, counting):
    training = Training("mlp", True)
    training.step(*training.batch(cp))
    batch = training.batch(cp)
    with counting() as c:
        training.step(*batch)
    assert training.step.reason is None
    assert len(c.raw_sizes) == 1  # the pool's, before the capture
    assert (c.waits, c.to_host, c.to_device) == (0, 0, 0)


def test_eager_and_captured_steps_may_alternate(cp, counting):
    states = []
    for is_compiled in (False, True):
        training = Training("mlp", is_compiled)
        ema = optim.EMA(training.model.parameters(), 0.9)
        plain = training.plain

        def step(x, t, plain=plain, ema=ema):
            loss = plain(x, t)
            ema.update()
            return loss

        function = ag.compile(step) if is_compiled else step
        for i in range(2 * STEPS):
            (step if i % 3 == 2 else function)(*training.batch(cp))
        states.append(training.state() + [a.get() for a in ema.averages])
    assert function.replays > STEPS
    assert_same(*states)


def test_optimisers_without_a_kernel_run_eagerly(cp):
    for make in (lambda p: optim.NAdam(p), lambda p: optim.Adam(p, amsgrad=True)):
        w = parameter(cp)
        optimizer = make([w])

        def step(x, w=w, optimizer=optimizer):
            optimizer.zero_grad()
            (w * x).sum().backward()
            optimizer.step()

        function = ag.compile(step)
        for _ in range(4):
            function(ag.Variable(cp.ones(3, "float32")))
        assert function.replays == 0
        assert "has no kernel that counts its steps" in function.reason
        assert optimizer.state[w]["step"] == 4


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_half_types_keep_their_masters(cp, counting, dtype):
    if dtype == "bfloat16":
        dtype = pytest.importorskip("ml_dtypes").bfloat16
    states = []
    for is_compiled in (False, True):
        training = Training("mlp", is_compiled, dtype)
        for _ in range(STEPS):
            training.step(*training.batch(cp))
        states.append(training.state())
    assert training.step.replays == STEPS - 2
    assert_same(*states)


def both(cp, make, calls=STEPS, argument=lambda i: float(i)):
    """What an eager function and a compiled one return, call by call; and the compiled one."""
    results = []
    for wrap in (lambda f: f, ag.compile):
        ag.manual_seed(3)
        function = wrap(make())
        results.append([])
        for i in range(calls):
            y = function(ag.Variable(cp.full(3, argument(i), "float32")))
            y = y if isinstance(y, tuple) else (y,)
            results[-1].append([v.value.get() if isinstance(v, ag.Variable) else v for v in y])
    eager, compiled = results
    for a, b in zip(eager, compiled, strict=True):
        assert_same(b, a)
    return function


def parameter(cp, value=1.0):
    return ag.Variable(cp.full(3, value, "float32"), requires_grad=True)


def test_the_learning_rate_may_change_between_calls(cp):
    outputs = []
    for wrap in (lambda f: f, ag.compile):
        w = parameter(cp)
        optimizer = optim.AdamW([w], lr=0.1)
        schedule = optim.StepLR(optimizer, 2, 0.5)

        def step(x, w=w, optimizer=optimizer):
            optimizer.zero_grad()
            (w * x).sum().backward()
            optimizer.step()
            return w.detach() * 1.0

        function = wrap(step)
        outputs.append([])
        for _ in range(STEPS):
            outputs[-1].append(function(ag.Variable(cp.ones(3, "float32"))).value.get()[0])
            schedule.step()
    assert outputs[1] == outputs[0]
    assert function.replays == STEPS - 2
    steps = -np.diff(outputs[0])
    assert steps[0] > 1.5 * steps[1] > 2.5 * steps[3]


def test_masks_go_on_with_the_generator(cp):
    generators = []

    def make():
        generators.append(ag.random.Generator(5))
        return lambda x: F.dropout(x, 0.5, generator=generators[-1])

    function = both(cp, make, argument=lambda i: 1.0)
    assert function.replays == STEPS - 2
    assert [g.state_dict()["offset"] for g in generators] == [STEPS, STEPS]
    generators[-1].manual_seed(5)  # also the seed is read anew
    first = function(ag.Variable(cp.ones(3, "float32")))
    generators[0].manual_seed(5)
    np.testing.assert_array_equal(
        first.value.get(),
        F.dropout(cp.ones(3, "float32"), 0.5, generator=generators[0]).value.get(),
    )


def test_more_numbers_than_one_block_has(cp):
    def make():
        def step(x):
            y = x
            for _ in range(70):
                y = y + F.dropout(x + 1.0, 0.5)
            return y

        return step

    assert both(cp, make, 5).replays == 3


# --- what cannot be captured --------------------------------------------------------------------


def counted(cp, waits):
    """A step that trains with dropout, and does something that waits at the end."""

    def make():
        w = parameter(cp)
        optimizer = optim.Adam([w], lr=0.1)

        def step(x):
            optimizer.zero_grad()
            loss = (F.dropout(w, 0.3) * x).sum()
            loss.backward()
            optimizer.step()
            return waits(w, loss), w.detach()

        return step

    return make


@pytest.mark.parametrize(
    ("waits", "name"),
    [
        (lambda w, loss: ag.nonzero(w.detach())[0], "nonzero"),
        (lambda w, loss: loss.item(), "the step, in line "),
        (lambda w, loss: float(loss.detach() > 0), "the step, in line "),
        (lambda w, loss: ag.sort(w.detach()), "sort"),
        (lambda w, loss: ag.linalg.inv(ag.eye(2) + ag.sum(w.detach())), "inv"),
    ],
)
def test_what_cannot_be_captured_runs_eagerly_and_is_named(cp, counting, waits, name):
    function = both(cp, counted(cp, waits), 4)
    assert function.replays == 0
    assert function.reason.startswith(name)
    assert "cannot be captured in a CUDA graph" in function.reason
    if name.startswith("the step"):
        assert " of test_compile_on_cupy.py, " in function.reason
    # everything is as usable as before
    cp.cuda.Device().synchronize()
    assert not cp.cuda.get_current_stream().is_capturing()
    assert gc.isenabled()
    other = both(cp, lambda: lambda x: x * 2, 4)
    assert other.replays == 2


def test_loss_scaling_waits_and_says_so(cp, counting):
    def make():
        w = parameter(cp)
        optimizer, scaler = optim.SGD([w], lr=0.1), optim.GradScaler(init_scale=4.0)

        def step(x):
            optimizer.zero_grad()
            scaler.scale((w * x).sum()).backward()
            scaler.step(optimizer)
            scaler.update()
            return w.detach() * 1.0

        return step

    function = both(cp, make, 4, argument=lambda i: float("inf") if i == 2 else 1.0)
    assert function.replays == 0
    assert function.reason.startswith("GradScaler.unscale_, which waits to see the gradients")


def test_errors_of_the_step_are_raised_as_ever(cp):
    fails = False

    def step(x):
        y = x * 2
        return y + ag.ones(2) if fails else y

    function = ag.compile(step)
    x = ag.Variable(cp.ones(3, "float32"))
    function(x)
    fails = True
    with pytest.raises(ValueError, match="add"):
        function(x)
    fails = False
    assert function(x).value.get().tolist() == [2.0] * 3


def test_without_nvmath_products_are_named(cp, counting, monkeypatch):
    monkeypatch.setitem(sys.modules, "nvmath.bindings.cublas", None)
    w = ag.Variable(cp.ones((3, 3), "float32"))
    function = both(cp, lambda: lambda x: w @ x, 4)
    assert function.replays == 0
    assert function.reason.startswith("matmul(a: float32[3, 3], b: float32[3]) cannot be captured")
    assert "nvmath-python" in function.reason
    assert both(cp, lambda: lambda x: x * 2, 4).replays == 2  # which needs no product


def test_an_nvmath_without_cublas_is_no_error(cp, counting, monkeypatch):
    cublas = sys.modules["nvmath.bindings.cublas"]
    threads = importlib.import_module("autograd_gpu.backends.cupy_graph_blas")

    def create():
        raise RuntimeError("libcublas.so.13 is not found")

    monkeypatch.setattr(threads, "_handles", types.SimpleNamespace())
    monkeypatch.setattr(cublas, "create", create)
    w = ag.Variable(cp.ones((3, 3), "float32"))
    function = both(cp, lambda: lambda x: w @ x, 4)
    assert function.replays == 0
    assert "nvmath-python cannot use cuBLAS: RuntimeError: libcublas.so.13" in function.reason


# --- arguments and results ----------------------------------------------------------------------


def test_other_shapes_and_dtypes_are_recorded_anew(cp):
    function = ag.compile(lambda x: x * 2 + 1)
    for _ in range(2):
        for shape, dtype in (((3,), "float32"), ((4,), "float32"), ((3,), "float64")):
            for i in range(4):
                y = function(ag.Variable(cp.full(shape, i, dtype)))
                assert y.dtype == dtype
                np.testing.assert_array_equal(y.value.get(), np.full(shape, 2 * i + 1))
    assert (function.calls, function.replays) == (24, 18)
    strided = function(ag.Variable(cp.arange(6.0, dtype="float32")[::2]))
    assert strided.value.get().tolist() == [1.0, 5.0, 9.0]


def test_results_are_the_callers_own(cp):
    function = ag.compile(lambda x: x * 2)
    results = [function(ag.Variable(cp.full(3, float(i)))) for i in range(5)]
    assert [float(y.value[0]) for y in results] == [0.0, 2.0, 4.0, 6.0, 8.0]


def test_arguments_are_changed_as_by_the_step(cp):
    def step(x):
        x += 1.0
        return (x * x).detach()

    function = ag.compile(step)
    for i in range(5):
        array = cp.full(3, float(i), "float32")
        x = ag.Variable(array)
        y = function(x)
        assert y.value.get().tolist() == [(i + 1.0) ** 2] * 3
        assert x.value.get().tolist() == [i + 1.0] * 3
        assert array.get().tolist() == [float(i)] * 3  # what the caller holds is not
    assert function.replays == 3


def test_gradients_of_arguments(cp):
    def step(x):
        (x * x).sum().backward()

    function = ag.compile(step)
    kept = []
    for i in range(5):
        x = ag.Variable(cp.full(3, float(i), "float32"), requires_grad=True)
        function(x)
        kept.append(x.grad)
    assert [float(g[0]) for g in kept] == [0.0, 2.0, 4.0, 6.0, 8.0]
    assert function.replays == 3
    function(x)  # which has a gradient already
    assert x.grad.get().tolist() == [16.0] * 3


# --- Variables that the step goes on from -------------------------------------------------------


def test_gradients_that_accumulate(cp):
    w = parameter(cp)

    def step(x):
        (w * x).sum().backward()

    function = ag.compile(step)
    expected = np.zeros(3, "float32")
    for i in range(6):
        if i == 4:
            w.grad, expected = None, expected * 0
        function(ag.Variable(cp.full(3, float(i), "float32")))
        expected += i
        assert w.grad.get().tolist() == expected.tolist()
    assert function.replays > 0


def test_gradients_that_are_zeroed_outside(cp):
    w = parameter(cp)

    def step(x):
        (w * x).sum().backward()

    function = ag.compile(step)
    for i in range(6):
        w.grad = None
        function(ag.Variable(cp.full(3, float(i), "float32")))
        assert w.grad.get().tolist() == [float(i)] * 3
    assert function.replays == 4


def test_values_that_the_step_replaces(cp):
    def make():
        w = ag.Variable(cp.ones(3, "float32"))

        def step(x):
            w.value = (w * 0.5 + x).value
            return w.detach() * 1.0

        return step

    assert both(cp, make).replays == STEPS - 2


def test_values_that_are_replaced_from_outside(cp):
    w = parameter(cp)
    function = ag.compile(lambda x: (w * x).detach())
    for i in range(6):
        if i == 3:
            w.value = cp.full(3, 10.0, "float32")
        y = function(ag.Variable(cp.full(3, float(i), "float32")))
        assert float(y.value[0]) == i * (10.0 if i >= 3 else 1.0)
    assert function.reason is None
    assert function.replays == 3


def test_values_that_are_held_elsewhere_stay(cp):
    w = parameter(cp)
    optimizer = optim.SGD([w], lr=1.0)

    def step(x):
        optimizer.zero_grad()
        (w * x).sum().backward()
        optimizer.step()

    function = ag.compile(step)
    x = ag.Variable(cp.ones(3, "float32"))
    held = []
    for i in range(6):
        function(x)
        if i in (2, 4):
            held.append(w.value)
    assert [float(v[0]) for v in held] == [-2.0, -4.0]
    assert float(w.value[0]) == -5.0


def test_a_loaded_state_is_gone_on_from(cp, counting):
    for load in ("optimizer", "model"):
        ends = []
        for is_compiled in (False, True):
            training = Training("mlp", is_compiled)
            for i in range(STEPS):
                if i == 2:
                    saved = {
                        "optimizer": training.optimizer.state_dict(),
                        "model": {k: v.copy() for k, v in training.model.state_dict().items()},
                    }
                if i == 5:
                    getattr(training, load).load_state_dict(saved[load])
                training.step(*training.batch(cp))
            ends.append(training.state())
        assert training.step.replays >= STEPS - 4
        assert_same(*ends)


def test_parameters_may_be_frozen(cp):
    a, b = parameter(cp), parameter(cp)
    optimizer = optim.SGD([a, b], lr=1.0)

    def step(x):
        optimizer.zero_grad()
        ((a + b) * x).sum().backward()
        optimizer.step()

    function = ag.compile(step)
    x = ag.Variable(cp.ones(3, "float32"))
    for i in range(8):
        b.requires_grad = i < 4
        function(x)
    assert (float(a.value[0]), float(b.value[0])) == (-7.0, -3.0)
    assert function.replays == 5


def test_the_training_mode_counts(cp):
    drop = nn.Dropout(0.5)
    function = ag.compile(lambda x: drop(x))
    x = ag.Variable(cp.ones(64, "float32"))
    for i in range(8):
        drop.train(i < 4)
        assert (function(x).value.get() == 1).all() == (i >= 4)


# --- memory and streams -------------------------------------------------------------------------


def test_a_graphs_memory_is_its_own(cp, products):
    training = Training("mlp", True)
    eager = Training("mlp", False)
    ag.manual_seed(1)
    expected = [eager.step(*eager.batch(cp)).value.get() for _ in range(STEPS)]
    ag.manual_seed(1)
    others = []
    for i in range(STEPS):
        loss = training.step(*training.batch(cp))
        np.testing.assert_allclose(loss.value.get(), expected[i], rtol=0 if is_emulated() else 1e-3)
        for n in (1, 4, 8, 30, 32, 40, 48, 2000):  # sizes as the step has them
            others.append(cp.full(n, float(i), "float32"))
        for j, x in enumerate(others):
            assert (x.get() == j // 8).all()


def test_what_the_step_reads_from_elsewhere_is_kept(cp):
    tables = types.SimpleNamespace(a=cp.full(1000, 3.0, "float32"), b=cp.full(1000, 4.0, "float32"))
    direct = cp.full(1000, 5.0, "float32")

    def step(x):
        return x * ag.Variable(tables.a) + ag.Variable(tables.b) + direct

    function = ag.compile(step)
    x = ag.Variable(cp.ones(1000, "float32"))
    for _ in range(3):
        function(x)
    tables.a = tables.b = direct = None  # the step is recorded with what they were
    others = [cp.full(1000, 9.0, "float32") for _ in range(20)]
    assert (function(x).value.get() == 12).all()
    assert len(others) == 20


def test_launches_on_another_stream(cp):
    w = parameter(cp)

    def step(x):
        w.value = (w + x).value
        return w.detach() * 1.0

    function = ag.compile(step)
    stream = cp.cuda.Stream(non_blocking=True)
    for i in range(6):
        x = ag.Variable(cp.full(3, 1.0, "float32"))
        cp.cuda.Device().synchronize()
        if i % 2:
            with stream:
                y = function(x)
            stream.synchronize()
        else:
            y = function(x)
        assert y.value.get().tolist() == [i + 2.0] * 3
    assert function.replays == 4
