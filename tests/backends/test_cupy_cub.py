"""Our reductions, and CuPy's in our use, in the variants with CUB that a GPU runs: they compile."""

import numpy as np
import pytest

import autograd_gpu as ag

pytestmark = pytest.mark.usefixtures("counting")


def rows(cupy_backend, dtype):
    return cupy_backend.from_host(np.ones((8, 1024), "f4")).astype(dtype)


def row_kernel(name, *more):
    def run(xp, x):
        from autograd_gpu.backends import cupy_rows

        kernel = cupy_rows.kernels(np.dtype("f4"))[name]
        return kernel(x, *(xp.asarray(v, dtype="f4") for v in more), axis=1)

    return run


REDUCTIONS = {
    "sum": lambda xp, x: xp.sum(x, axis=1),
    "sum of all": lambda xp, x: xp.sum(x),
    "mean": lambda xp, x: xp.mean(x, axis=1),
    "max": lambda xp, x: xp.max(x, axis=1),
    "argmax": lambda xp, x: xp.argmax(x, axis=1),
    # the other reductions of ours have two results, for which CuPy has no variant with CUB
    "logsumexp": row_kernel("logsumexp"),
    "fused mean": lambda xp, x: ag.fuse(lambda x: -ag.mean(ag.exp(x) * x, axis=1))(x),
}


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_it_compiles_with_cub(cupy_backend, request, name, dtype):
    if not request.config.getoption("--full"):
        pytest.skip("CUB takes NVRTC several seconds each: with --full only")
    from cupy_on_cpu.cub import compile_with_cub

    x = rows(cupy_backend, dtype)
    compile_with_cub(lambda: REDUCTIONS[name](cupy_backend.xp, x))


def test_a_planted_error_is_found(cupy_backend, request):
    if not request.config.getoption("--full"):
        pytest.skip("CUB takes NVRTC several seconds each: with --full only")
    import cupy as cp
    from cupy_on_cpu.cub import compile_with_cub

    wrong = cp.ReductionKernel("T x", "T y", "x", "a + nothing", "y = a", "0", "wrong")
    with pytest.raises(cp.cuda.compiler.CompileException, match="nothing"):
        compile_with_cub(lambda: wrong(rows(cupy_backend, "float32"), axis=1))
    elsewhere = cp.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "by_columns")
    with pytest.raises(AssertionError, match="without CUB"):
        compile_with_cub(lambda: elsewhere(rows(cupy_backend, "float32").T[::2], axis=1))
