"""What only the NumPy backend has: BLAS's needs, shared memory, threads, scratch space."""

import threading
import tracemalloc

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu.backend import Backend
from autograd_gpu.backends import numpy_matmul
from autograd_gpu.backends.numpy_backend import create

backend: Backend = create()
xp = backend.xp

LAYOUTS = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.swapaxes(-1, -2).copy().swapaxes(-1, -2),
    "reversed": lambda x: x[..., ::-1, ::-1].copy()[..., ::-1, ::-1],
    "strided": lambda x: np.repeat(np.repeat(x, 2, -1), 2, -2)[..., ::2, ::2],
    "fortran": np.asfortranarray,
}


@pytest.mark.parametrize("copies", [False, True], ids=["numpy copies", "copied here"])
@pytest.mark.parametrize("layout_b", LAYOUTS)
@pytest.mark.parametrize("layout_a", LAYOUTS)
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3, 4), (4, 5)),
        ((2, 3, 4), (4, 5)),
        ((2, 6, 3, 4), (4, 5)),
        ((3, 4), (2, 4, 5)),
        ((2, 1, 3, 4), (6, 4, 5)),
        ((1, 1), (1, 1)),
        ((2, 0, 4), (4, 5)),
        ((2, 3, 0), (0, 5)),
        ((2, 3, 4), (4, 0)),
    ],
)
def test_matmul_is_numpys(a, b, layout_a, layout_b, copies, monkeypatch):
    monkeypatch.setattr(numpy_matmul, "_COPIES_FOR_BLAS", copies)
    monkeypatch.setattr(numpy_matmul, "_FOLDED_FROM", 1)
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-9, 9, shape).astype("f4") for shape in (a, b))
    out = xp.matmul(LAYOUTS[layout_a](a), LAYOUTS[layout_b](b))
    assert out.dtype == np.float32
    np.testing.assert_array_equal(out, np.matmul(a, b))


@pytest.mark.parametrize(("a", "b"), [((4,), (4,)), ((2, 3, 4), (4,)), ((4,), (2, 4, 5))])
def test_matmul_of_vectors(a, b):
    a, b = np.random.default_rng(0).random(a), np.random.default_rng(1).random(b)
    np.testing.assert_allclose(xp.matmul(a, b), np.matmul(a, b), rtol=1e-14)


@pytest.mark.parametrize(
    ("a", "b"), [("f2", "f2"), ("f2", "f4"), ("f4", "f8"), ("c8", "f8"), ("i4", "i4"), ("?", "?")]
)
def test_matmul_promotes_as_numpy(a, b):
    a, b = np.ones((2, 3, 4), a), np.ones((4, 5), b)
    out = xp.matmul(a, b)
    assert out.dtype == np.matmul(a, b).dtype
    np.testing.assert_array_equal(out, np.matmul(a, b))


def test_matmul_sums_float16_in_float32():
    ones = np.ones((1, 4000), "f2")
    assert xp.matmul(ones, ones.T)[0, 0] == 4000


def test_matmul_copies_only_what_blas_cannot_take():
    x = np.ones((4, 6, 8))
    for taken in (x, x.swapaxes(1, 2), x[:, 1:4, 2:5], np.broadcast_to(x[0], (9, 6, 8))):
        assert numpy_matmul._for_blas(taken) is taken
    for copied in (x[:, ::-1], x[:, :, ::2], np.broadcast_to(x[:, :1], x.shape)):
        assert numpy_matmul._for_blas(copied).flags.c_contiguous


def test_transfers_copy():
    x = np.ones(3)
    for y in (backend.to_host(x), backend.from_host(x), backend.from_host(x, "cpu")):
        assert not np.shares_memory(x, y)
        np.testing.assert_array_equal(x, y)
    with pytest.raises(ValueError, match="cuda"):
        backend.from_host(x, "cuda")
    assert backend.device(x) == "cpu" == x.device
    assert backend.memory() == {}
    backend.synchronize()


def test_is_shared():
    x = np.ones((2, 3))
    assert not backend.is_shared(x)
    assert backend.is_shared(x[0])
    assert backend.is_shared(x.T)
    x.flags.writeable = False
    assert backend.is_shared(x)


def test_windows_are_read_only():
    out = xp.windows(np.ones(3), (2,), (1,), (1,))
    assert not out.flags.writeable


def state(shape, dtype, count):
    rng = np.random.default_rng(0)
    return [np.asarray(rng.uniform(-1, 1, shape)).astype(dtype) for _ in range(count)]


def test_steps_need_no_memory_of_the_size_of_a_parameter():
    p, g, m, v = state((2_000_000,), "f4", 4)  # every thread has blocks of its own
    v = abs(v)
    threads = ag.get_num_threads()
    ag.set_num_threads(2)
    tracemalloc.start()
    backend.adam_step(
        p,
        g,
        m,
        v,
        lr=1e-3,
        beta1=0.9,
        beta2=0.99,
        eps=1e-8,
        weight_decay=0.1,
        decoupled=True,
        step=1,
    )
    backend.sgd_step(
        p, g, m, lr=1e-3, momentum=0.9, dampening=0, weight_decay=0.1, nesterov=True, first=False
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    ag.set_num_threads(threads)
    assert peak < p.nbytes / 4


def test_steps_run_in_threads():
    def steps(p, g, m):
        for _ in range(200):
            backend.sgd_step(
                p, g, m, lr=0.1, momentum=0.9, dampening=0, weight_decay=0.1, nesterov=1, first=0
            )

    states = [state((4000,), "f4", 3) for _ in range(4)]
    threads = [threading.Thread(target=steps, args=arrays) for arrays in states]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    want = state((4000,), "f4", 3)
    steps(*want)
    for arrays in states:
        np.testing.assert_array_equal(arrays[0], want[0])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("shape", [(), (3, 5), (100, 70)])
def test_masked_clears_also_what_is_infinite(dtype, shape):
    rng = np.random.default_rng(0)
    x = np.asarray(rng.standard_normal(shape)).astype(dtype)
    mask = np.asarray(rng.random(shape) < 0.5)
    x[~mask & np.asarray(rng.random(shape) < 0.5)] = np.inf
    before = x.copy()
    y = xp.masked(x, mask)
    np.testing.assert_array_equal(y, np.where(mask, x, 0))
    np.testing.assert_array_equal(x, before)
    assert y.dtype == dtype


@pytest.mark.parametrize("bound", [0, -0.5, 2, np.inf, np.nan, np.float32(0.3)])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64"])
@pytest.mark.parametrize("n", [3, 5000])
@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_bounds_that_are_numbers(name, n, dtype, bound):
    x = (100 * np.random.default_rng(0).standard_normal(n)).astype(dtype)
    if x.dtype.kind == "f":
        x[:3] = np.nan, np.inf, -np.inf
    y, want = getattr(xp, name)(x, bound), getattr(np, name)(x, bound)
    np.testing.assert_array_equal(y, want)
    assert y.dtype == want.dtype


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_a_bound_of_minus_zero_keeps_its_sign(name, dtype):
    other = -1 if name == "maximum" else 1
    y = getattr(xp, name)(np.full(3, other, dtype), -0.0)
    assert np.signbit(y.real).all()


@pytest.mark.parametrize("axes", [(0,), (-2, -1), (2, 0), (0, 1, 2)])
@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["fftn", "ifftn"])
def test_transforms_over_several_axes(name, layout, dtype, axes):
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((4, 6, 5)) + 1j * rng.standard_normal((4, 6, 5))).astype("complex128")
    x = LAYOUTS[layout](x if dtype[0] == "c" else x.real).astype(dtype)
    before = x.copy()
    for sizes in (None, [x.shape[axis] for axis in axes], [x.shape[axis] + 1 for axis in axes]):
        y = getattr(xp.fft, name)(x, s=sizes, axes=axes, norm="ortho")
        want = getattr(np.fft, name)(x, s=sizes, axes=axes, norm="ortho")
        np.testing.assert_array_equal(y, want)
        assert y.dtype == want.dtype
        assert not np.shares_memory(x, y)
        np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("name", ["fft", "ifft"])
def test_transforms_compiled(name):
    def step(x):
        y = getattr(ag.fft, f"{name}n")(x)
        ag.sum(ag.abs(y)).backward()
        return y.detach()

    compiled = ag.compile(step)
    rng = np.random.default_rng(0)
    for _ in range(5):
        z = (rng.standard_normal((4, 6)) + 1j * rng.standard_normal((4, 6))).astype("complex64")
        a, b = ag.Variable(z, requires_grad=True), ag.Variable(z, requires_grad=True)
        np.testing.assert_array_equal(compiled(a).value, step(b).value)
        np.testing.assert_array_equal(a.grad, b.grad)
    assert compiled.replays == 2


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [0, (0,), (0, 1), (0, 1, 2), 1, (1, 0), (), -3, None, np.int64(0)])
@pytest.mark.parametrize("layout", ["contiguous", "transposed", "strided"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int32"])
@pytest.mark.parametrize("shape", [(40, 30, 5), (300, 4, 1), (2, 3, 4), (0, 2000, 3), (5000, 3, 2)])
def test_sums(shape, dtype, layout, axis, keepdims):
    x = LAYOUTS[layout]((100 * np.random.default_rng(0).standard_normal(shape)).astype(dtype))
    before = x.copy()
    y, want = xp.sum(x, axis=axis, keepdims=keepdims), x.sum(axis, keepdims=keepdims)
    wide = x.sum(axis, "complex128" if dtype[0] == "c" else "float64", keepdims=keepdims)
    scale = np.abs(x).sum(axis, keepdims=keepdims, dtype="float64")
    np.testing.assert_array_less(
        np.abs(y - wide), 1e-20 + 20 * np.finfo(np.result_type(want.dtype, "f4")).eps * scale
    )
    assert (y.shape, y.dtype) == (want.shape, want.dtype)
    np.testing.assert_array_equal(x, before)


def test_sums_over_rows_pass_on_what_is_not_finite():
    x = np.zeros((400, 5), "f4")
    x[7, 1], x[8, 2], x[9:11, 3] = np.inf, np.nan, (np.inf, -np.inf)
    with np.errstate(invalid="ignore"):
        y = xp.sum(x, axis=0)
    np.testing.assert_array_equal(y, [0, np.inf, np.nan, np.nan, 0])


def test_sums_over_rows_round_less_than_one_after_the_other():
    x = np.random.default_rng(0).random((1_000_003, 3), "f4")
    assert np.abs(xp.sum(x, axis=0) / x.sum(0, "f8") - 1).max() < 1e-6


@pytest.mark.parametrize("bad", [3, (0, 0), (0, 3)])
def test_sums_over_axes_that_are_not_there(bad):
    with pytest.raises(ValueError, match="axis"):
        xp.sum(np.ones((40, 30, 5)), axis=bad)
