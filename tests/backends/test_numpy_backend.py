"""The NumPy backend: its added functions against NumPy's plainest spelling of the same thing."""

import threading
import tracemalloc

import numpy as np
import pytest

from autograd_gpu.backend import Backend
from autograd_gpu.backends import numpy_matmul, numpy_steps
from autograd_gpu.backends.numpy_backend import create

backend: Backend = create()
xp = backend.xp


def added(g, index, shape):
    out = np.zeros(shape, np.result_type(g.dtype, np.float64))
    np.add.at(out, index, g)
    return out


I = np.array  # noqa: E741
SCATTERS = [
    ((6,), I([1, 1, -1, 0])),
    ((6,), I(2)),
    ((6, 3), I([[1, 1], [5, -6]])),
    ((6, 3), [0, 0, 2]),
    ((6, 3), []),
    ((6, 3), (I([1, 1, 0]), I([2, 2, -1]))),
    ((6, 3), (slice(None), I([1, 1, 0]))),
    ((6, 3), (..., I([1, 1, 0]))),
    ((6, 3), (I([0, 0]), ...)),
    ((6, 3), (slice(1, 5, 2), I([1, 1, 0]))),
    ((6, 3), (slice(None, None, -1), I([[1], [1]]))),
    ((6, 3), (None, I([3, 3]), None, slice(1, None))),
    ((4, 3, 5), (I([1, 1]), slice(None), I([2, 2]))),
    ((4, 3, 5), (1, slice(None), I([2, 2]))),
    ((4, 3, 5), (I([1, 1]), None, I([2, 2]))),
    ((4, 3, 5), (I([1, 1]), I([[2], [2]]))),
    ((4, 3, 5), (slice(None), I([1, 1]), I([[2], [2]]))),
    ((4, 3, 5), (slice(1, 3), 2, I([4, 4, 0]))),
    ((4, 3, 5), (I([0, 0]), ..., I([1, 1]))),
    ((4, 3), (I([0, 0]), ..., I([1, 1]))),
    ((4, 3), (I([True, False, True, True]), I([1]))),
    ((4, 3), (I([True, False, False, False]), I([1, 1]))),
    ((4, 3), I([True, False, True, True])),
    ((4, 3), np.eye(4, 3) > 0),
    ((4, 3), (slice(None), I([True, False, True]))),
    ((4, 3), (I([True, False, True, True]), 1)),
    ((4, 3), 2),
    ((4, 3), np.int64(2)),
    ((4, 3), (slice(None), -1)),
    ((4, 3), (slice(None, None, -2), None)),
    ((4, 3), ...),
    ((4, 3), ()),
    ((), ()),
    ((), None),
    ((4, 0), I([1, 1])),
    ((0, 3), I([], dtype=int)),
]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16", "i8"])
@pytest.mark.parametrize(("shape", "index"), SCATTERS, ids=str)
def test_scatter_add_is_add_at(shape, index, dtype):
    rng = np.random.default_rng(0)
    g = rng.integers(-9, 9, np.zeros(shape)[index].shape).astype(dtype)
    out = xp.scatter_add(g, index, shape)
    assert type(out) is np.ndarray
    assert out.dtype == g.dtype
    assert out.flags.c_contiguous
    assert not backend.is_shared(out)
    np.testing.assert_array_equal(out, added(g, index, shape))


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16", "i8"])
@pytest.mark.parametrize(
    ("rows", "width", "n"), [(500, 64, 300), (60, 12, 300), (5, 64, 500), (7, 2, 90), (40, 1, 99)]
)
def test_scatter_add_of_rows(rows, width, n, dtype):
    rng = np.random.default_rng(0)
    # few and many repetitions at once: one row takes a third of all
    index = np.where(rng.random(n) < 0.3, 3, rng.integers(-rows, rows, n))
    g = rng.integers(-9, 9, (n, width)).astype(dtype)
    out = xp.scatter_add(g, index, (rows, width))
    assert out.dtype == g.dtype
    np.testing.assert_array_equal(out, added(g, index, (rows, width)))


@pytest.mark.parametrize("width", [1, 64])
def test_scatter_add_sums_float16_in_float32(width):
    # in float16 a sum of ones sticks at 2048
    out = xp.scatter_add(np.ones((3000, width), "f2"), np.zeros(3000, int), (2, width))
    assert out.dtype == np.float16
    assert (out[0] == 3000).all()
    assert (out[1] == 0).all()


def test_scatter_add_takes_non_contiguous_gradients():
    g = np.arange(24.0).reshape(4, 6).T
    index = I([0, 2, 2, 1, 0, 0])
    np.testing.assert_array_equal(xp.scatter_add(g, index, (3, 4)), added(g, index, (3, 4)))


def test_scatter_add_refuses_too_many_indices():
    with pytest.raises(IndexError, match="too many"):
        xp.scatter_add(np.ones(2), (I([0, 0]), I([0, 0])), (3,))


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
    ],
)
def test_matmul_is_numpys(a, b, layout_a, layout_b, copies, monkeypatch):
    monkeypatch.setattr(numpy_matmul, "_COPIES_FOR_BLAS", copies)
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


@pytest.mark.parametrize(
    ("shape", "size", "stride", "dilation"),
    [
        ((2, 3, 7, 9), (3, 2), (2, 1), (1, 3)),
        ((5,), (5,), (1,), (1,)),
        ((2, 6), (2,), (3,), (2,)),
        ((4, 5, 6), (2, 2, 2), (1, 2, 3), (2, 1, 1)),
    ],
)
def test_windows(shape, size, stride, dilation):
    x = np.random.default_rng(0).random(shape)[..., ::-1]
    out = xp.windows(x, size, stride, dilation)
    d = len(size)
    lead = len(shape) - d
    full = tuple(step * (k - 1) + 1 for k, step in zip(size, dilation, strict=True))
    want = np.lib.stride_tricks.sliding_window_view(x, full, tuple(range(lead, len(shape))))
    steps = tuple(slice(None, None, s) for s in stride)
    inner = tuple(slice(None, None, s) for s in dilation)
    np.testing.assert_array_equal(out, want[(slice(None),) * lead + steps + inner])
    assert np.shares_memory(out, x)
    assert not out.flags.writeable


@pytest.mark.parametrize(
    ("size", "stride", "dilation"),
    [((4,), (1,), (1,)), ((2,), (0,), (1,)), ((2,), (1, 1), (1,)), ((2,), (1,), (3,))],
)
def test_windows_refuses(size, stride, dilation):
    with pytest.raises(ValueError, match="windows"):
        xp.windows(np.ones(3), size, stride, dilation)


@pytest.mark.parametrize("x", [np.ones(3), np.ones((), "f4"), 2, 2.5, np.ones(1, "?")])
def test_conj_of_real_is_itself(x):
    assert xp.conj(x) is x


@pytest.mark.parametrize("x", [np.array([1 + 2j]), np.complex64(1 + 2j), 1 + 2j])
def test_conj_of_complex(x):
    np.testing.assert_array_equal(xp.conj(x), np.conj(x))


@pytest.mark.parametrize("bounds", [(0.25, 0.5), (None, 0.5), (0.25, None), (np.full(9, 0.3), 0.5)])
def test_clip(bounds):
    x = np.linspace(0, 1, 9, dtype="f4")
    low, high = (-np.inf if bounds[0] is None else bounds[0]), bounds[1] or np.inf
    np.testing.assert_array_equal(xp.clip(x, *bounds), np.minimum(np.maximum(x, low), high))
    # bounds promote as in any ufunc: numbers are weak, arrays are not
    assert xp.clip(x, min=bounds[0], max=0.5).dtype == (x + low).dtype


def test_asarray_takes_only_what_is_numpys():
    x = np.ones(3)
    assert backend.asarray(x) is x
    assert backend.asarray(2.0, "f4").dtype == np.float32
    assert backend.asarray([1, 2]).shape == (2,)
    assert type(backend.asarray(np.float32(1))) is np.ndarray

    class Foreign:
        def __dlpack__(self):
            raise AssertionError("moved")

        def __array__(self, dtype=None, copy=None):
            raise AssertionError("moved")

    with pytest.raises(TypeError, match="Foreign"):
        backend.asarray(Foreign())


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


def test_add_into():
    for out in (np.ones(3), np.ones(())):
        backend.add_into(out, np.full(out.shape, 2.0))
        assert (out == 3).all()


def sgd_reference(p, g, buf, lr, momentum, dampening, weight_decay, nesterov, first):
    g = g + weight_decay * p
    if buf is not None:
        buf = g if first else momentum * buf + (1 - dampening) * g
        g = g + momentum * buf if nesterov else buf
    return p - lr * g, buf


def adam_reference(p, g, m, v, lr, beta1, beta2, eps, weight_decay, decoupled, step):
    if decoupled:
        p = p * (1 - lr * weight_decay)
    else:
        g = g + weight_decay * p
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g * g
    m_hat, v_hat = m / (1 - beta1**step), v / (1 - beta2**step)
    return p - lr * m_hat / (np.sqrt(v_hat) + eps), m, v


SGD = [
    {"momentum": 0.0, "dampening": 0.0, "weight_decay": 0.0, "nesterov": False},
    {"momentum": 0.0, "dampening": 0.0, "weight_decay": 0.1, "nesterov": False},
    {"momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1, "nesterov": False},
    {"momentum": 0.9, "dampening": 0.0, "weight_decay": 0.0, "nesterov": True},
    {"momentum": 0.9, "dampening": 0.0, "weight_decay": 0.1, "nesterov": True},
]
ADAM = [
    {"weight_decay": decay, "decoupled": decoupled} for decay in (0, 0.1) for decoupled in (0, 1)
]
SHAPES = [(), (3, 5), (2 * numpy_steps.BLOCK + 3,)]
TOLERANCE = {"f2": 2e-3, "f4": 1e-6, "f8": 1e-12}


def state(shape, dtype, count):
    rng = np.random.default_rng(0)
    return [np.asarray(rng.uniform(-1, 1, shape)).astype(dtype) for _ in range(count)]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("options", SGD, ids=str)
def test_sgd_step(options, shape, dtype):
    p, buf = state(shape, dtype, 2)
    want_p, want_buf = p.astype("f8"), buf.astype("f8")
    use = options["momentum"] > 0
    for i in range(3):
        (g,) = state(shape, dtype, 1)
        kept = g.copy()
        backend.sgd_step(p, g, buf if use else None, lr=0.1, first=i == 0, **options)
        want_p, want_buf = sgd_reference(
            want_p, g.astype("f8"), want_buf if use else None, 0.1, first=i == 0, **options
        )
        np.testing.assert_array_equal(g, kept)
        np.testing.assert_allclose(p, want_p, rtol=0, atol=TOLERANCE[dtype])
        if use:
            np.testing.assert_allclose(buf, want_buf, rtol=0, atol=2 * TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("options", ADAM, ids=str)
def test_adam_step(options, shape, dtype):
    p, g = state(shape, dtype, 2)
    # moments of half-precision parameters are kept in float32
    m, v = (np.zeros(shape, "f4" if dtype == "f2" else dtype) for _ in range(2))
    fixed = {"lr": 0.01, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8}
    want = [x.astype("f8") for x in (p, m, v)]
    for step in range(1, 4):
        kept = g.copy()
        backend.adam_step(p, g, m, v, step=step, **fixed, **options)
        want = adam_reference(want[0], g.astype("f8"), *want[1:], step=step, **fixed, **options)
        np.testing.assert_array_equal(g, kept)
        for got, x in zip((p, m, v), want, strict=True):
            np.testing.assert_allclose(got, x, rtol=0, atol=TOLERANCE[dtype])
        g = g * 0.7


def test_adam_step_of_complex_is_that_of_its_parts():
    p, g, m, v = (x[..., 0] + 1j * x[..., 1] for x in state((4, 5, 2), "f8", 4))
    v = np.abs(v.real) + 1j * np.abs(v.imag)
    parts = [x.view("f8").copy() for x in (p, g, m, v)]
    options = {
        "lr": 0.01,
        "beta1": 0.9,
        "beta2": 0.99,
        "eps": 1e-8,
        "weight_decay": 0.1,
        "decoupled": False,
        "step": 2,
    }
    backend.adam_step(p, g, m, v, **options)
    backend.adam_step(*parts, **options)
    for x, part in zip((p, m, v), (parts[0], *parts[2:]), strict=True):
        np.testing.assert_array_equal(x.view("f8"), part)


def test_steps_take_any_layout():
    p, g, m, v = state((6, 8), "f8", 4)
    v = abs(v)
    options = {
        "lr": 0.01,
        "beta1": 0.9,
        "beta2": 0.99,
        "eps": 1e-8,
        "weight_decay": 0.1,
        "decoupled": False,
        "step": 2,
    }
    strided = [np.asfortranarray(p), g[:, ::-1].copy()[:, ::-1], m.copy(), np.asfortranarray(v)]
    backend.adam_step(*strided, **options)
    backend.adam_step(p, g, m, v, **options)
    for got, x in zip(strided, (p, g, m, v), strict=True):
        np.testing.assert_array_equal(got, x)


def test_steps_need_no_memory_of_the_size_of_a_parameter():
    p, g, m, v = state((500_000,), "f4", 4)
    v = abs(v)
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
