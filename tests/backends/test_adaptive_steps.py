"""RMSprop, Adagrad, Lion and averages: types, parts of complex numbers, layouts."""

import numpy as np
import pytest

STEPS = {
    "rmsprop": (
        "rmsprop_step", 3,
        {"lr": 0.1, "alpha": 0.9, "eps": 1e-3, "weight_decay": 0.1, "momentum": 0.5},
    ),
    "rmsprop plain": (
        "rmsprop_step", 1,
        {"lr": 0.1, "alpha": 0.9, "eps": 1e-3, "weight_decay": 0.0, "momentum": 0.0},
    ),
    "adagrad": (
        "adagrad_step", 1,
        {"lr": 0.1, "lr_decay": 0.1, "eps": 1e-3, "weight_decay": 0.1, "step": 3},
    ),
    "lion": ("lion_step", 1, {"lr": 0.1, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.1}),
    "average": ("average_step", 0, {"decay": 0.9}),
}  # fmt: skip


def call(backend, name, arrays):
    function, count, options = STEPS[name]
    states = list(arrays[2 : 2 + count])
    if function == "rmsprop_step":
        states += [None] * (3 - count)
    getattr(backend, function)(*arrays[:2], *states, **options)


def draw(shape, dtype="f8", count=5):
    rng = np.random.default_rng(0)
    arrays = [rng.uniform(0.2, 1, shape) for _ in range(count)]
    arrays[4] = arrays[4] * 0.1  # a mean, whose square is below the mean of squares
    return [a.astype(dtype) for a in arrays]


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("dtype", ["f2", "f4"])
@pytest.mark.parametrize("shape", [(), (3, 5), (2 * 32_768 + 3,)], ids=str)
def test_smaller_types(backend, name, dtype, shape):
    arrays = [backend.from_host(a) for a in draw(shape, dtype)]
    exact = [backend.from_host(a.astype("f8")) for a in draw(shape, dtype)]
    for _ in range(2):
        call(backend, name, arrays)
        call(backend, name, exact)
    tolerance = 2e-2 if dtype == "f2" else 1e-5
    used = 1 if name == "average" else 2 + STEPS[name][1]
    for a, b in zip(arrays[:used], exact[:used], strict=True):
        assert a.dtype == dtype
        np.testing.assert_allclose(
            backend.to_host(a).astype("f8"), backend.to_host(b), rtol=tolerance, atol=tolerance
        )


@pytest.mark.parametrize("name", STEPS)
def test_complex_numbers_are_their_parts(backend, name):
    re, im = draw((4, 3)), [a[::-1] for a in draw((4, 3))]
    both = [backend.from_host(a + 1j * b) for a, b in zip(re, im, strict=True)]
    call(backend, name, both)
    for part, pick in ((re, np.real), (im, np.imag)):
        alone = [backend.from_host(np.ascontiguousarray(a)) for a in part]
        call(backend, name, alone)
        for a, b in zip(both, alone, strict=True):
            np.testing.assert_allclose(pick(backend.to_host(a)), backend.to_host(b), rtol=1e-12)


@pytest.mark.parametrize("name", STEPS)
def test_any_layout(backend, name):
    dense = [backend.from_host(a) for a in draw((4, 6))]
    strided = []
    for a in draw((4, 6)):
        wide = backend.from_host(np.zeros((6, 8)))
        view = wide[:, ::2].T
        view[...] = backend.from_host(a)
        strided.append(view)
    call(backend, name, dense)
    call(backend, name, strided)
    for a, b in zip(strided, dense, strict=True):
        np.testing.assert_allclose(backend.to_host(a), backend.to_host(b), rtol=1e-12)
