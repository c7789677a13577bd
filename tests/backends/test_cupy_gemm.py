"""matmul on CuPy arrays: values against NumPy, and the cuBLAS calls that it makes."""

import types

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st
from layouts import COPY_FREE, batch_inside, memory, problems

from autograd_gpu.backends.gemm_plan import OP_T, plan

pytestmark = pytest.mark.usefixtures("cupy_backend")

DTYPES = ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
COMPUTE_32F, COMPUTE_32F_FAST_TF32, COMPUTE_64F = 68, 77, 70


def dtype_of(name):
    return pytest.importorskip("ml_dtypes").bfloat16 if name == "bfloat16" else np.dtype(name)


def numbers(shape, dtype="float32", seed=0):
    rng = np.random.default_rng(seed)
    x = rng.integers(-3, 4, shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.integers(-3, 4, shape)
    return x.astype(dtype)


def wide(x):
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


@pytest.fixture
def cp(cupy_backend):
    import cupy

    return cupy


@pytest.fixture
def gemm(cupy_backend):
    from autograd_gpu.backends import cupy_gemm

    return cupy_gemm


SHAPES = [
    ((4,), (4,)),
    ((3, 4), (4,)),
    ((4,), (4, 5)),
    ((2, 3, 4), (4,)),
    ((4,), (2, 4, 5)),
    ((3, 4), (4, 5)),
    ((2, 3, 4), (2, 4, 5)),
    ((2, 3, 4), (4, 5)),
    ((3, 4), (2, 4, 5)),
    ((2, 1, 3, 4), (6, 4, 5)),
    ((3, 0), (0, 5)),
    ((0, 4), (4, 5)),
    ((2, 0, 3), (3, 1)),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_values(cupy_backend, a, b, dtype):
    dtype = dtype_of(dtype)
    a, b = numbers(a, dtype), numbers(b, dtype, 1)
    to = cupy_backend.from_host
    out = cupy_backend.xp.matmul(to(a), to(b))
    assert out.dtype == dtype
    assert type(out) is cupy_backend.array_type
    want = np.matmul(wide(a), wide(b))
    assert out.shape == want.shape
    np.testing.assert_array_equal(wide(cupy_backend.to_host(out)), want)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("float16", "float32"),
        ("float32", "float64"),
        ("complex64", "float64"),
        ("int32", "float32"),
    ],
)
def test_mixed_dtypes_promote_as_numpys(cupy_backend, a, b):
    a, b = numbers((2, 3, 4), a), numbers((4, 5), b, 1)
    out = cupy_backend.xp.matmul(cupy_backend.from_host(a), cupy_backend.from_host(b))
    want = np.matmul(a, b)
    assert out.dtype == want.dtype
    np.testing.assert_array_equal(cupy_backend.to_host(out), want)


@pytest.mark.parametrize("dtype", ["int64", "bool"])
def test_integers_are_cupys(cupy_backend, dtype):
    a, b = numbers((3, 4)) > 0, numbers((4, 5), seed=1) > 0
    a, b = a.astype(dtype), b.astype(dtype)
    out = cupy_backend.xp.matmul(cupy_backend.from_host(a), cupy_backend.from_host(b))
    np.testing.assert_array_equal(cupy_backend.to_host(out), np.matmul(a, b))


@pytest.mark.parametrize("batch", [(), (4,), (2, 3)], ids=str)
@pytest.mark.parametrize(
    ("dtype", "out"), [*((d, d) for d in DTYPES), ("float16", "float32"), ("bfloat16", "float32")]
)
def test_a_backward_is_two_calls(cp, gemm, counting, dtype, out, batch):
    dtype, out = dtype_of(dtype), dtype_of(out)
    host = [numbers((*batch, *s), dtype, i) for i, s in enumerate([(5, 7), (7, 3), (5, 3)])]
    a, b, g = map(cp.array, host)
    da, db = cp.ones(a.shape, out), cp.ones(b.shape, out)
    with counting() as c:
        gemm.matmul(g, b.swapaxes(-1, -2), da, beta=1)
        gemm.matmul(a.swapaxes(-1, -2), g, db, beta=1)
    assert (c.launches, c.copies, c.waits, c.allocations) == (0, [], 0, 0), str(c)
    assert [call.name for call in c.blas] == 2 * ["gemmStridedBatchedEx" if batch else "gemmEx"]
    a, b, g = map(wide, host)
    np.testing.assert_array_equal(wide(da.get()), 1 + g @ b.swapaxes(-1, -2))
    np.testing.assert_array_equal(wide(db.get()), 1 + a.swapaxes(-1, -2) @ g)


def uploaded(cp, x, dtype):
    """`x` on the device with the same strides, and what lies between its elements."""
    flat, start = memory(x)
    items = [step // x.itemsize for step in x.strides]
    there = cp.asarray(flat.astype(dtype))
    strides = [step * there.itemsize for step in items]
    return cp.lib.stride_tricks.as_strided(there[start:], x.shape, strides)


TYPES = [*((d, d) for d in DTYPES), ("float16", "float32"), ("bfloat16", "float32")]
READABLE = st.sampled_from([*COPY_FREE, batch_inside])


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    problems(READABLE, axes=2),
    st.sampled_from(TYPES),
    st.sampled_from([(1, 0), (1, 1), (2, -1)]),
    st.tuples(st.booleans(), st.booleans()),
)
def test_what_cublas_can_read_is_never_copied(cp, gemm, counting, problem, types, factors, conj):
    dtype, out = map(dtype_of, types)
    is_complex = np.dtype(dtype).kind == "c"
    host = [x * (1 + 0.5j) if is_complex else x for x in problem]
    a, b, c = host
    assume((a @ b).shape == c.shape)
    todo = plan(*(v for x in host for v in (x.shape, x.strides)), a.itemsize, c.itemsize, True)
    assume(not any(todo.copies))
    for call in todo.calls if is_complex else ():  # only what is transposed can be conjugated
        ops = (call.transb, call.transa) if call.swapped else (call.transa, call.transb)
        assume(all(op == OP_T for op, flag in zip(ops, conj, strict=True) if flag))
    x, y, z = (uploaded(cp, v, t) for v, t in zip(host, (dtype, dtype, out), strict=True))
    alpha, beta = factors
    with counting() as count:
        gemm.matmul(x, y, z, alpha, beta, conj)
    assert set(count.kernels) <= {"autograd_gpu_gemm_pointers"}
    assert (count.copies, count.waits) == ([], 0)
    assert len(count.blas) == len(todo.calls)
    if is_complex:
        a, b = (v.conj() if flag else v for v, flag in zip((a, b), conj, strict=True))
    np.testing.assert_array_equal(wide(z.get()), alpha * (a @ b) + beta * c)


@pytest.mark.parametrize("conj", [(True, False), (False, True), (True, True)])
def test_conjugates_of_what_is_not_transposed(cp, gemm, conj):
    a, b = numbers((2, 3, 4), "c16"), numbers((2, 4, 5), "c16", 1)
    found = gemm.matmul(cp.array(a), cp.array(b), conj=conj)
    a, b = (x.conj() if flag else x for x, flag in zip((a, b), conj, strict=True))
    np.testing.assert_array_equal(found.get(), a @ b)
    strided = cp.array(np.repeat(a, 2, -1))[..., ::2]
    found = gemm.matmul(strided, cp.array(b), conj=(False, True))
    np.testing.assert_array_equal(found.get(), a @ b.conj())


@pytest.mark.parametrize("dtype", DTYPES)
def test_types_given_to_cublas(cp, gemm, counting, dtype):
    x = cp.ones((3, 3), dtype_of(dtype))
    with counting() as c:
        gemm.matmul(x, x)
    args = c.blas[0].args
    # the emulation says the names of cudaDataType_t's numbers
    assert [args[name] for name in ("Atype", "Btype", "Ctype")] == [dtype] * 3
    wide = dtype in ("float64", "complex128")
    assert args["computeType"] == (COMPUTE_64F if wide else COMPUTE_32F)


def test_tf32_is_a_switch(cp, gemm, counting):
    single, double, half = (cp.ones((3, 3), dtype) for dtype in ("f4", "f8", "f2"))
    gemm.set_tf32(True)
    try:
        with counting() as c:
            for x in (single, double, half):
                gemm.matmul(x, x)
    finally:
        gemm.set_tf32(False)
    types = [call.args["computeType"] for call in c.blas]
    assert types == [COMPUTE_32F_FAST_TF32, COMPUTE_64F, COMPUTE_32F]


def test_a_one_sided_batch_is_one_product(cupy_backend, counting):
    x, w = (cupy_backend.from_host(numbers(s)) for s in ((6, 3, 4), (4, 5)))
    with counting() as c:
        out = cupy_backend.xp.matmul(x, w)
    (call,) = c.blas
    assert (call.name, call.args["m"], call.args["n"], call.args["k"]) == ("gemmEx", 5, 18, 4)
    assert (c.launches, c.allocations) == (0, 1)
    np.testing.assert_array_equal(out.get(), numbers((6, 3, 4)) @ numbers((4, 5)))


def test_only_what_cublas_cannot_read_is_copied(cupy_backend, counting):
    x, w = (cupy_backend.from_host(numbers(s)) for s in ((6, 8), (4, 5)))
    with counting() as c:
        out = cupy_backend.xp.matmul(x[:, ::2], w)
    assert (c.launches, len(c.blas), c.waits) == (1, 1, 0)
    np.testing.assert_array_equal(out.get(), numbers((6, 8))[:, ::2] @ numbers((4, 5)))


@pytest.mark.parametrize("beta", [0, 1])
def test_out_can_be_any_view(cp, gemm, beta):
    a, b = numbers((3, 4), "f8"), numbers((4, 5), "f8", 1)
    for view in (
        cp.ones((5, 3)).T,
        cp.ones((3, 9))[:, 2:7],
        cp.ones((6, 10))[::2, ::2],
        cp.ones((3, 5))[::-1],
    ):
        out = gemm.matmul(cp.array(a), cp.array(b), view, alpha=2, beta=beta)
        assert out is view
        np.testing.assert_array_equal(out.get(), 2 * (a @ b) + beta)


def test_half_products_of_several_calls_into_float32(cp, gemm, counting):
    # heads of [batch, tokens, heads, width]: a call for each element of the batch
    q, k = numbers((2, 256, 3, 64), "f2"), numbers((2, 256, 3, 64), "f2", 1)
    out = cp.empty((2, 3, 256, 256), "f4")
    with counting() as c:
        gemm.matmul(cp.array(q).transpose(0, 2, 1, 3), cp.array(k).transpose(0, 2, 3, 1), out)
    assert (len(c.blas), c.launches) == (2, 0)
    q, k = q.astype("f4").transpose(0, 2, 1, 3), k.astype("f4").transpose(0, 2, 3, 1)
    np.testing.assert_array_equal(out.get(), q @ k)


HEADS = {
    "scores": lambda q, k: (q, k.swapaxes(-1, -2)),
    "values": lambda q, k: (q.swapaxes(-1, -2), k),
}


@pytest.mark.parametrize(
    ("dtype", "out"), [*((d, d) for d in DTYPES), ("float16", "float32"), ("bfloat16", "float32")]
)
@pytest.mark.parametrize("name", HEADS)
def test_batches_without_a_stride_are_given_by_pointers(cp, gemm, counting, name, dtype, out):
    dtype, out = np.dtype(dtype_of(dtype)), np.dtype(dtype_of(out))
    # [batch, tokens, heads, width], whose heads lie within tokens
    stored = [numbers((5, 3, 4, 8), dtype, seed) for seed in (0, 1)]
    a, b = HEADS[name](*(cp.array(x).transpose(0, 2, 1, 3) for x in stored))
    c = cp.ones((*a.shape[:-1], b.shape[-1]), out)
    with counting() as count:
        gemm.matmul(a, b, c, beta=1)
    assert (count.kernels, count.copies, count.waits) == (["autograd_gpu_gemm_pointers"], [], 0)
    (call,) = count.blas
    assert call.name == "gemmBatchedEx"
    # cuBLAS is column-major: B is its first operand
    assert [call.Aarray, call.Barray, call.Carray] == [
        [int(x[i, j].data.ptr) for i in range(5) for j in range(4)] for x in (b, a, c)
    ]
    assert (call.batchCount, call.m, call.n, call.k) == (20, *c.shape[:1:-1], a.shape[-1])
    assert (call.lda, call.ldb, call.ldc) == (32, 32, c.shape[-1])
    assert (call.transa, call.transb) == ((1, 0) if name == "scores" else (0, 1))
    assert [call.Atype, call.Btype, call.Ctype] == [dtype.name, dtype.name, out.name]
    is_wide = out.name in ("float64", "complex128")
    assert (call.computeType, call.algo) == (COMPUTE_64F if is_wide else COMPUTE_32F, -1)
    wide_a, wide_b = HEADS[name](*(wide(x).transpose(0, 2, 1, 3) for x in stored))
    np.testing.assert_array_equal(wide(c.get()), 1 + wide_a @ wide_b)


def test_pointers_of_a_large_batch_of_three_axes(cp, gemm, counting):
    a, b = numbers((9, 3, 2, 40, 2), "f4"), numbers((40, 9, 3, 2, 2), "f4", 1)
    with counting() as c:
        got = gemm.matmul(cp.array(a).transpose(3, 0, 1, 4, 2), cp.array(b))
    np.testing.assert_array_equal(got.get(), a.transpose(3, 0, 1, 4, 2) @ b)
    assert [(call.name, call.batchCount) for call in c.blas] == [("gemmBatchedEx", 1080)]


class FakeLibrary:
    """What ctypes would find in libcublas."""

    def __init__(self, status):
        self.calls = []

        def gemm(*arguments):
            self.calls.append(arguments)
            return status

        self.cublasGemmBatchedEx = gemm


@pytest.fixture
def batched(gemm, monkeypatch):
    """The module, with a CuPy that has no gemmBatchedEx, as 14.2 has none."""
    from autograd_gpu.backends import cupy_gemm_batched as module

    stand_in = types.SimpleNamespace(setStream=lambda handle, stream: None)
    monkeypatch.setattr(module, "cublas", stand_in)
    module.gemm_batched_ex.cache_clear()
    yield module
    module.gemm_batched_ex.cache_clear()


def test_the_librarys_own_function_is_called(cp, batched, monkeypatch):
    library = FakeLibrary(0)
    names = []
    monkeypatch.setattr(batched.ctypes, "CDLL", lambda name: names.append(name) or library)
    arguments = tuple(range(1, 21))
    batched.gemm_batched_ex()(*arguments)
    assert library.calls == [arguments]
    assert names == [f"libcublas.so.{cp.cuda.runtime.runtimeGetVersion() // 1000}"]
    assert len(library.cublasGemmBatchedEx.argtypes) == len(arguments)
    monkeypatch.setattr(batched.ctypes, "CDLL", lambda name: FakeLibrary(7))
    batched.gemm_batched_ex.cache_clear()
    call = batched.gemm_batched_ex()
    with pytest.raises(RuntimeError, match="cublasStatus_t 7"):
        call(*arguments)


def test_without_that_function_calls_are_made_one_by_one(cp, gemm, batched, counting, monkeypatch):
    def missing(name):
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(batched.ctypes, "CDLL", missing)
    a = cp.array(numbers((5, 64, 4, 64), "f4")).transpose(0, 2, 1, 3)
    with counting() as c:
        got = gemm.matmul(a, a.swapaxes(-1, -2))
    assert {call.name for call in c.blas} == {"gemmStridedBatchedEx"}
    host = a.get()
    np.testing.assert_array_equal(got.get(), host @ host.swapaxes(-1, -2))


def test_empty_sums_follow_beta(cp, gemm):
    out = cp.full((2, 3), 5.0)
    gemm.matmul(cp.ones((2, 0)), cp.ones((0, 3)), out, beta=2)
    assert (out.get() == 10).all()
    gemm.matmul(cp.ones((2, 0)), cp.ones((0, 3)), out)
    assert (out.get() == 0).all()


def test_complex_factors(cp, gemm):
    a, b = numbers((3, 4), "c16"), numbers((4, 5), "c16", 1)
    out = cp.ones((3, 5), "c16")
    gemm.matmul(cp.array(a), cp.array(b), out, alpha=2 + 1j, beta=1j)
    np.testing.assert_array_equal(out.get(), (2 + 1j) * (a @ b) + 1j)


def test_errors(cp, gemm):
    x = cp.ones((3, 4))
    with pytest.raises(ValueError, match="inner sizes"):
        gemm.matmul(x, x)
    with pytest.raises(ValueError, match="shape"):
        gemm.matmul(x, x.T, cp.ones((3, 4)))
    with pytest.raises(ValueError, match="axis"):
        gemm.matmul(x, cp.ones(()))
    with pytest.raises(TypeError, match="cannot be written"):
        gemm.matmul(x, x.T, cp.ones((3, 3), "f4"))
    with pytest.raises(TypeError, match="no out"):
        gemm.matmul(cp.ones((2, 2), int), cp.ones((2, 2), int), beta=1)
    with pytest.raises(ValueError, match="broadcast"):
        gemm.matmul(cp.ones((2, 3, 4)), cp.ones((5, 4, 3)))
