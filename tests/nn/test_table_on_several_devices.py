"""Functions, modules and optimisers on a device that is not the current one."""

from contextlib import nullcontext
from types import SimpleNamespace

import cupy_on_cpu
import numpy as np
import pytest
from function_cases import CASES, IMAGE, normal
from raw_kernels import forget

import autograd_gpu as ag
from autograd_gpu import backend as backends, nn, optim
from autograd_gpu.nn import functional as F, utils

ROWS = {(c.function, c.options.get("mode"), c.options.get("padding_mode")): c for c in CASES}


@pytest.fixture
def second():
    """The second of two devices, emulated or real; the first is the current one."""
    try:
        backend = backends.load_backend("cupy")
    except backends.BackendError as error:
        pytest.skip(f"no GPU and not run with --cupy-on-cpu: {error}")
    import cupy

    if not cupy_on_cpu.is_started():
        if backend.device_count() < 2:
            pytest.skip("there is one GPU only")
        yield cupy.cuda.Device(1)
        return
    forget()
    with cupy_on_cpu.devices(2):
        backends.count_devices(backend)
        yield cupy.cuda.Device(1)
    backends.count_devices(backend)


def counting():
    """What is counted of the emulated device; of a real one nothing is."""
    if cupy_on_cpu.is_started():
        return cupy_on_cpu.counting()
    return nullcontext(SimpleNamespace(waits=0, to_host=0))


def there(second, x):
    with second:
        return backends.load_backend("cupy").from_host(x)


def homes(*variables):
    return {backends.load_backend("cupy").device_number(v.value) for v in variables}


@pytest.mark.parametrize("row", [pytest.param(c, id=c.id) for c in ROWS.values()])
def test_functions_run_there_on_cupy(second, row):
    def run():
        xs = [ag.Variable(there(second, x), True) for x in row.operands]
        options = {
            k: there(second, v) if isinstance(v, np.ndarray) else v for k, v in row.options.items()
        }
        y = getattr(F, row.function)(*xs, **options)
        first = ag.gradients(ag.sum(y**3), xs, create_graph=True, allow_unused=True)
        first = [g for g in first if g is not None]
        second_ = ag.gradients(sum(ag.sum(g * g) for g in first), xs, allow_unused=True)
        return [y, *first, *[g for g in second_ if g is not None]]

    found = run()
    assert homes(*found) == {1}
    with second:
        expected = run()
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


MODULES = {
    "packed": (
        lambda: nn.LSTM(3, 4, bidirectional=True),
        lambda m, x: m(utils.rnn.pack_padded_sequence(x, [2, 4], enforce_sorted=False))[0].data,
        (4, 2, 3),
    ),
    "projected": (lambda: nn.LSTM(3, 4, proj_size=2), lambda m, x: m(x)[0], (4, 2, 3)),
    "more keys": (
        lambda: nn.MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True),
        lambda m, x: m(x, x, x, is_causal=True)[0],
        (3, 2, 4),
    ),
    "transformer": (
        lambda: nn.Transformer(4, 2, 1, 1, 8, 0.0),
        lambda m, x: m(x, x, tgt_is_causal=True),
        (3, 2, 4),
    ),
    "instance norm": (
        lambda: nn.InstanceNorm1d(4, affine=True, track_running_stats=True),
        lambda m, x: m(x),
        (3, 4, 5),
    ),
    "weight norm": (
        lambda: utils.parametrizations.weight_norm(nn.Linear(4, 2)), lambda m, x: m(x), (3, 4),
    ),
    "spectral norm": (
        lambda: utils.parametrizations.spectral_norm(nn.Linear(4, 2)), lambda m, x: m(x), (3, 4),
    ),
    "alpha dropout": (
        lambda: nn.Sequential(nn.Linear(4, 2), nn.AlphaDropout()), lambda m, x: m(x), (3, 4),
    ),
    "bag": (lambda: nn.EmbeddingBag(5, 3), lambda m, x: m([[0, 4], [1, 1]]), (1,)),
}  # fmt: skip
OPTIMISERS = {
    "adamax": optim.Adamax, "nadam": optim.NAdam, "radam": optim.RAdam, "lamb": optim.LAMB,
    "adadelta": optim.Adadelta, "rprop": optim.Rprop,
    "amsgrad": lambda params: optim.Adam(params, amsgrad=True, maximize=True),
}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_modules_run_there_on_cupy(second, name):
    make, run, shape = MODULES[name]
    layer = make().to("cuda:1")
    x = ag.Variable(there(second, normal(*shape).astype("f4")), True)
    with counting() as c:
        y = run(layer, x)
        ag.sum(y * y).backward()
    assert (c.waits, c.to_host) == (0, 0), str(c)
    assert homes(y, *layer.parameters()) == {1}
    assert homes(*[ag.Variable(p.grad) for p in layer.parameters() if p.grad is not None]) == {1}


@pytest.mark.parametrize("name", OPTIMISERS)
def test_optimisers_step_there_on_cupy(second, name):
    x = ag.Variable(there(second, IMAGE), True)
    optimizer = OPTIMISERS[name]([x])
    for _ in range(2):
        x.grad = there(second, np.cos(IMAGE))
        with counting() as c:
            optimizer.step()
        assert (c.waits, c.to_host) == (0, 0), str(c)
    states = [ag.Variable(s) for s in optimizer.state[x].values() if hasattr(s, "dtype")]
    assert homes(x, *states) == {1}
    expected = ag.Variable(IMAGE.copy(), True)
    optimizer = OPTIMISERS[name]([expected])
    for _ in range(2):
        expected.grad = np.cos(IMAGE)
        optimizer.step()
    np.testing.assert_allclose(x.numpy(), expected.value, rtol=1e-9)
