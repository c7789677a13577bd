"""fuse: the dtypes of sums and means, and half types, which are added up in float32."""

import numpy as np
import pytest
from fused import close, leaf, numbers

import autograd_gpu as ag
from autograd_gpu.backend import load_backend

F = ag.nn.functional


def test_halves_are_added_up_in_single_precision(xp):
    """In their own digits a sum of ones would end at 2048."""
    fused = ag.fuse(lambda x: ag.sum(x * x))
    x = leaf(xp, np.ones(5000), "float16")
    y = fused(x)
    assert (fused.reason, str(y.dtype), y.item()) == (None, "float16", 5000)
    fused = ag.fuse(lambda x: ag.mean(x * 20))
    assert fused(x).item() == 20
    assert fused.reason is None


@pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "uint8", "float32"])
def test_dtypes_of_sums_and_means(xp, dtype):
    x = ag.Variable(xp.from_host(np.array([[1, 0, 1], [1, 1, 0]], dtype)))
    for f in (
        lambda x: ag.sum(x == 1, axis=0),
        lambda x: ag.mean(x == 1),
        lambda x: ag.sum(x * x),
        lambda x: ag.mean(x * x, axis=1),
        lambda x: ag.sum(x * x, dtype="float64"),
        lambda x: ag.mean(x * x, dtype="float64", axis=(0, 1)),
    ):
        fused = ag.fuse(f)
        close(fused(x), f(x))
        assert fused.reason is None


@pytest.mark.parametrize("axes", [None, 0, (0,), (0, 2)])
def test_sums_over_axes_of_one_element_have_the_dtype_of_sums(axes):
    for dtype in ("bool", "int8", "float32"):
        x = ag.Variable(np.full((1, 4, 1) if axes is not None else (), 1, dtype))
        for f in (
            lambda x: ag.sum(x > 0, axis=axes),
            lambda x: -ag.sum(x > 0, axis=axes) * 3,
            lambda x: ag.sum(x * 1, axis=axes, dtype="float64"),
            lambda x: ag.mean(x * 1, axis=axes),
        ):
            fused = ag.fuse(f)
            close(fused(x), f(x))
            assert fused.reason is None


@pytest.mark.parametrize("dtype", ["int8", "bool", "int32", "uint8", "float16", "complex128"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_the_dtype_of_a_sum_that_is_asked_for(xp, dtype, axis):
    if xp.name == "cupy" and dtype.startswith("c"):
        pytest.skip("no fused kernels of complex numbers on a GPU")
    x = ag.Variable(xp.from_host(np.arange(12.0).reshape(3, 4) % 3))
    for f in (
        lambda x: ag.sum(x * x, axis=axis, dtype=dtype),
        lambda x: ag.mean(x * x, axis=axis, dtype=dtype),
    ):
        got, want = ag.fuse(f)(x), f(x)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=2e-3)


def test_a_sum_in_another_dtype_has_a_gradient_in_that_of_the_elements(xp):
    fused = ag.fuse(lambda x: ag.sum(ag.exp(x), dtype="float64"))
    x = leaf(xp, numbers(9), "float32")
    y = fused(x)
    assert (fused.reason, str(y.dtype)) == (None, "float64")
    close(ag.gradients(y, x), ag.exp(x).detach(), "float32")


def test_complex():
    fused = ag.fuse(lambda z: ag.sum(z * ag.exp(1j * z) * ag.conj(z), axis=0))
    z = ag.Variable(numbers((6, 2)) + 1j * numbers((6, 2), 1), requires_grad=True)
    got, want = (ag.gradients(ag.abs(f(z)).sum(), z) for f in (fused, fused.function))
    assert fused.reason is None
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-12)


def test_a_loss_is_computed_under_autocast_and_outside_of_it():
    plain = lambda x, t: F.mse_loss(ag.tanh(x) * 3, t)  # noqa: E731
    fused = ag.fuse(plain)
    x, t = (leaf(load_backend("numpy"), numbers(5, i), "float16") for i in range(2))
    for inside in (True, False, True):
        with ag.autocast("float16", enabled=inside):
            results = [f(x, t) for f in (fused, plain)]
            assert fused.reason is None
        assert str(results[0].dtype) == ("float32" if inside else "float16")
        close(*results, dtype="float16")
        grads = [ag.gradients(y, x, create_graph=True) for y in results]
        close(*grads, dtype="float16")
        close(*[ag.gradients(g.sum(), x) for g in grads], dtype="float16")
