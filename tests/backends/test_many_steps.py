"""Steps of many parameters at once: those of each alone, in one launch on CuPy."""

import numpy as np
import pytest

from autograd_gpu import Variable, optim

OPTIONS = {
    "sgd": {
        "lr": 0.1, "momentum": 0.9, "dampening": 0.1, "weight_decay": 0.1, "nesterov": False,
        "first": False,
    },
    "adam": {
        "lr": 0.01, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "weight_decay": 0.1,
        "decoupled": True, "step": 2,
    },
    "rmsprop": {"lr": 0.1, "alpha": 0.9, "eps": 1e-3, "weight_decay": 0.1, "momentum": 0.5},
    "adagrad": {"lr": 0.1, "lr_decay": 0.1, "eps": 1e-3, "weight_decay": 0.1, "step": 3},
    "lion": {"lr": 0.1, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.1},
    "average": {"decay": 0.9},
}  # fmt: skip
MOMENTS = {"lr": 0.1, "beta1": 0.8, "beta2": 0.9, "eps": 1e-3, "weight_decay": 0.1, "step": 9}
RARE = {
    "amsgrad": {**MOMENTS, "decoupled": False},
    "adamax": MOMENTS,
    "nadam": {**MOMENTS, "decoupled": True, "momentum_decay": 0.1},
    "radam": {**MOMENTS, "decoupled": False},
    "lamb": MOMENTS,
    "adadelta": {"lr": 0.5, "rho": 0.9, "eps": 1e-3, "weight_decay": 0.1},
    "rprop": {"less": 0.5, "more": 1.2, "least": 1e-3, "most": 0.5},
}
STATES = {"sgd": 1, "adam": 2, "rmsprop": 3, "adagrad": 1, "lion": 1, "average": 0}
STATES |= dict.fromkeys(RARE, 2) | {"amsgrad": 3}
# with arrays that need one block, several, and none
SHAPES = [(3,), (), (4096,), (2, 4097), (0, 3), (5, 7), (1,), (100, 100)]


def rows(backend, name, shapes, dtype="f4"):
    rng = np.random.default_rng(0)
    # the last is a mean, whose square is below the mean of squares
    highs = [1, 1, 1, 1, 0.1][: 2 + STATES[name]]
    return [
        [
            backend.from_host(np.asarray(high * rng.uniform(0.2, 1, shape)).astype(dtype))
            for high in highs
        ]
        for shape in shapes
    ]


def assert_same(backend, a, b):
    for x, y in zip(a, b, strict=True):
        for p, q in zip(x, y, strict=True):
            np.testing.assert_array_equal(backend.to_host(p), backend.to_host(q))


CASES = [(name, dtype) for name in OPTIONS for dtype in ("f4", "f8", "f2", "c8")]
CASES += [(name, dtype) for name in RARE for dtype in ("f8", "c16")]


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_many_are_each_alone(backend, name, dtype):
    together, alone = (rows(backend, name, SHAPES, dtype) for _ in range(2))
    calls, options = [], (OPTIONS | RARE)[name]
    backend.steps(name, together, lambda: calls.append(1) or options)
    for row in alone:
        getattr(backend, f"{name}_step")(*row, **options)
    assert calls == [1]
    assert_same(backend, together, alone)


@pytest.mark.parametrize("dtype", ["f4", "c8", "f2"])
def test_unscaled_gradients_are_looked_at(backend, dtype):
    for bad in (None, np.inf, -np.inf, np.nan):
        host = [np.full((5000,), 3, dtype), np.ones((), dtype)]
        if bad is not None:
            host[0][4500] = complex(0, bad) if dtype == "c8" else bad
        grads = [backend.from_host(x) for x in host]
        found = backend.unscale(grads, 0.5)
        assert (found.shape, found.dtype) == ((), bool)
        assert bool(backend.to_host(found)) is (bad is not None)
        for got, x in zip(grads, host, strict=True):
            np.testing.assert_array_equal(
                backend.to_host(got).flat[:4000], x.flat[:4000] * x.dtype.type(0.5)
            )


@pytest.mark.parametrize("name", OPTIONS)
def test_many_are_one_launch(cupy_backend, counting, name):
    arrays = rows(cupy_backend, name, SHAPES)
    cupy_backend.steps(name, arrays, lambda: OPTIONS[name])
    with counting() as c:
        cupy_backend.steps(name, arrays, lambda: OPTIONS[name])
    assert c.kernels == [f"autograd_gpu_{'momentum' if name == 'sgd' else name}_step"]
    assert (c.waits, c.to_host, c.to_device, c.allocations) == (0, 0, 0, 0)


def test_more_than_fit_into_the_arguments(backend):
    shapes = [(1 + i % 5,) for i in range(300)]
    together, alone = (rows(backend, "adam", shapes) for _ in range(2))
    backend.steps("adam", together, lambda: OPTIONS["adam"])
    for row in alone:
        backend.adam_step(*row, **OPTIONS["adam"])
    assert_same(backend, together, alone)


def test_other_dtypes_are_other_launches(cupy_backend, counting):
    arrays = rows(cupy_backend, "lion", [(3,)] * 4) + rows(cupy_backend, "lion", [(3,)], "f8")
    with counting() as c:
        cupy_backend.steps("lion", arrays, lambda: OPTIONS["lion"])
    assert len(c.kernels) == 2


def test_copies_in_another_dtype(backend):
    arrays = rows(backend, "adam", [(3, 4), (5,)])
    half = backend.from_host(np.zeros((3, 4), "f2"))
    backend.steps("adam", arrays, lambda: OPTIONS["adam"], [half, None])
    expected = backend.to_host(arrays[0][0]).astype("f2")
    np.testing.assert_array_equal(backend.to_host(half), expected)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Lion"])
def test_an_optimiser_makes_one_launch(cupy_backend, counting, name):
    values = [cupy_backend.from_host(np.ones(n, "f4")) for n in range(1, 9)]
    xs = [Variable(v, requires_grad=True) for v in values]
    del values
    optimizer = getattr(optim, name)(xs, lr=0.1)
    for _ in range(3):
        for x in xs:
            x.grad = x.value * 0.5
        with counting() as c:
            optimizer.step()
    assert len(c.kernels) == 1
    assert (c.waits, c.allocations) == (0, 0)


class Halved(optim.Adam):
    """What a subclass says in `update` counts, one parameter at a time."""

    def update(self, x, grad, state, group):
        super().update(x, grad * 0.5, state, group)


def test_subclasses_of_optimisers_change_one_at_a_time(backend):
    ends = []
    for kind, factor in ((Halved, 1.0), (optim.Adam, 0.5)):
        values = [backend.from_host(np.ones(n, "f4")) for n in (2, 3)]
        xs = [Variable(v, requires_grad=True) for v in values]
        optimizer = kind(xs, lr=0.1, eps=1e-2)
        for _ in range(3):
            for x in xs:
                x.grad = x.value * factor
            optimizer.step()
        ends.append([backend.to_host(x.value) for x in xs])
    for a, b in zip(*ends, strict=True):
        np.testing.assert_array_equal(a, b)
