"""Calling a primitive on a sample: on either backend, in several dtypes, with derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

import autograd_gpu as ag
from autograd_gpu.engine import gradients
from autograd_gpu.primitive import PRIMITIVES
from samples import SAMPLES
from samples.sample import Sample

FLOATS = {
    "float32": {"f": "float32", "c": "complex64"},
    "float16": {"f": "float16"},
}
TOLERANCE = {"float32": 2e-5, "float16": 2e-2}


# Vectors that are defined up to a factor of modulus 1, which is another one on a GPU.
UP_TO_PHASES = ("eigh", "svd")


# What cupyx.scipy.special lacks, or the derivatives of what it has need.
NUMPY_ONLY = (
    *("airy", "dawsn", "ellipe", "ellipk", "erfi", "fresnel", "hyp0f1", "hyp1f1", "hyp2f1"),
    *("hyperu", "iv", "ive", "jv", "kv", "kve", "ndtri_exp", "owens_t", "spence"),
    *("spherical_in", "spherical_jn", "spherical_kn", "stdtrit", "wofz", "wrightomega"),
    "yv",
)

# Their kernels use complex numbers in a way, or names, that g++ has not.
NOT_EMULATED = ("ellipj", "lambertw", "loggamma")


def in_depth(config: Any, name: str, sample: Sample, backend: Any) -> bool:
    """Whether a sample is taken through all that there is to test.  On CuPy, where each dtype and
    each derivative compiles kernels of its own, only the first of an op is, unless --full is given.
    """
    if backend.name != "cupy" or config.getoption("--full"):
        return True
    return sample is next(s for s in SAMPLES[name] if differentiable(name, s))


def on_gpu(backend: Any) -> bool:
    """Whether the backend is CuPy on a real device."""
    if backend.name != "cupy":
        return False
    import cupy_on_cpu

    return not cupy_on_cpu.is_started()


def missing(name: str, backend: Any) -> str | None:
    """Why an op can't be tried on the backend, if it can't."""
    if backend.name != "cupy":
        return None
    if name in NUMPY_ONLY:
        return "CuPy lacks a function that this needs"
    if name in NOT_EMULATED and not on_gpu(backend):
        return "the emulator can't compile CuPy's kernel"
    return None


def is_float(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind in "fc"


def differentiable(name: str, sample: Sample) -> list[int]:
    """The positions of the operands that have a derivative and can take one."""
    primitive = PRIMITIVES[name]
    given = primitive.operands * (len(sample.operands) if primitive.variadic else 1)
    return [
        i
        for i, (operand, x) in enumerate(zip(given, sample.operands, strict=True))
        if is_float(x) and operand in primitive.derivatives
    ]


def in_dtype(sample: Sample, dtype: str) -> tuple[Any, ...] | None:
    """The operands in another floating-point dtype; None where the sample cannot have it."""
    kinds = FLOATS.get(dtype)
    if kinds is None:
        return sample.operands
    floats = [x for x in sample.operands if is_float(x)]
    if any(x.dtype.kind not in kinds for x in floats):
        return None
    if sample.check and not all(np.isfinite(x).all() for x in floats):
        return None
    return tuple([x.astype(kinds[x.dtype.kind]) if is_float(x) else x for x in sample.operands])


def converted(x: Any, backend: Any) -> Any:
    """A static parameter with its arrays, also those within a tuple, on the backend."""
    if type(x) is tuple:
        return tuple([converted(v, backend) for v in x])
    return backend.from_host(x) if isinstance(x, np.ndarray) else x


def call(name: str, operands: Any, statics: Any, backend: Any) -> tuple[Any, ...]:
    """The outputs of the op, as a tuple."""
    primitive = PRIMITIVES[name]
    statics = {key: converted(value, backend) for key, value in statics.items()}
    y = (
        primitive.op(operands, **statics)
        if primitive.variadic
        else primitive.op(*operands, **statics)
    )
    return y if primitive.outputs else (y,)


def variables(operands: Any, needs: Any, backend: Any) -> list[Any]:
    """Arrays as Variables, of which those in `needs` require gradients; numbers as they are."""
    return [
        ag.Variable(backend.from_host(x), requires_grad=i in needs)
        if isinstance(x, np.ndarray)
        else x
        for i, x in enumerate(operands)
    ]


def run(name: str, sample: Sample, operands: Any, needs: Any, backend: Any) -> Any:
    """The outputs for operands of which those in `needs` require gradients, and the Variables."""
    xs = variables(operands, needs, backend)
    return call(name, xs, sample.statics, backend), xs


def cotangents(ys: Any, ones: bool, backend: Any) -> list[Any]:
    """A gradient for each output that can have one, None for the others."""
    rng = np.random.default_rng(0)
    made = []
    for y in ys:
        if y.grad_fn is None:
            made.append(None)
            continue
        g = np.ones(y.shape) if ones else rng.uniform(0.5, 1, y.shape)
        if y.dtype.kind == "c" and not ones:
            g = g + 1j * rng.uniform(0.5, 1, y.shape)
        made.append(backend.from_host(g.astype(y.dtype)))
    return made


def derivatives(
    name: str, sample: Sample, operands: Any, needs: Any, backend: Any, ones: bool = False
) -> dict[int, Any]:
    """The gradients, by position, for all outputs at once."""
    ys, xs = run(name, sample, operands, needs, backend)
    pairs = [
        (y, g) for y, g in zip(ys, cotangents(ys, ones, backend), strict=True) if g is not None
    ]
    assert pairs, "nothing was recorded"
    found = gradients(
        [y for y, _ in pairs], [xs[i] for i in needs], [g for _, g in pairs], allow_unused=True
    )
    return dict(zip(needs, found, strict=True))


def close(actual: Any, expected: Any, tolerance: float = 1e-10) -> None:
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)
