"""Convolution: values by its definition, derivatives, dtypes, errors."""

import numpy as np
import pytest
from operands import normal, on

import autograd_gpu as ag
import autograd_gpu.nn.functional as F


def convolved(x, w, stride, padding, dilation, groups):
    """The definition, in loops."""
    x = np.pad(x, ((0, 0), (0, 0), *((p, p) for p in padding)))
    (n, _, h, width), (o, c, kh, kw) = x.shape, w.shape
    out_h = (h - dilation[0] * (kh - 1) - 1) // stride[0] + 1
    out_w = (width - dilation[1] * (kw - 1) - 1) // stride[1] + 1
    y = np.zeros((n, o, out_h, out_w))
    for k in range(o):
        first = k // (o // groups) * c
        for i in range(out_h):
            for j in range(out_w):
                rows = i * stride[0] + dilation[0] * np.arange(kh)
                columns = j * stride[1] + dilation[1] * np.arange(kw)
                part = x[:, first : first + c][:, :, rows[:, None], columns]
                y[:, k, i, j] = (part * w[k]).sum((1, 2, 3))
    return y


CONVOLUTIONS = [
    ((1, 1), (0, 0), (1, 1), 1),
    ((1, 1), (1, 2), (1, 1), 2),
    ((2, 1), (1, 0), (1, 2), 1),
    ((3, 2), (2, 2), (2, 1), 2),
]


@pytest.mark.parametrize(("stride", "padding", "dilation", "groups"), CONVOLUTIONS)
def test_conv2d_by_definition(backend, stride, padding, dilation, groups):
    x, w, b = normal(2, 4, 6, 5), normal(6, 4 // groups, 3, 2), normal(6)
    expected = convolved(x, w, stride, padding, dilation, groups) + b[:, None, None]
    y = F.conv2d(on(backend, x), on(backend, w), on(backend, b), stride, padding, dilation, groups)
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("stride", "padding", "dilation", "groups"), CONVOLUTIONS)
def test_conv2d_derivatives_are_the_same_on_all_backends(
    backend, stride, padding, dilation, groups
):
    arrays = [normal(2, 4, 6, 5), normal(6, 4 // groups, 3, 2), normal(6)]

    def derivatives(name):
        xs = [on(name, a, True) for a in arrays]
        y = F.conv2d(*xs, stride, padding, dilation, groups)
        first = ag.gradients(ag.sum(y**3), xs, create_graph=True)
        second = ag.gradients(sum(ag.sum(g * g) for g in first), xs)
        return [g.numpy() for g in (*first, *second)]

    for actual, expected in zip(derivatives(backend), derivatives("numpy"), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("stride", "padding", "dilation", "groups"), CONVOLUTIONS)
def test_conv2d_derivatives(stride, padding, dilation, groups):
    arrays = [normal(2, 4, 6, 5), normal(6, 4 // groups, 3, 2), normal(6)]

    def f(x, w, b):
        return F.conv2d(x, w, b, stride, padding, dilation, groups) ** 2

    assert ag.grad_check(f, arrays, fast=True, order=2)


def test_conv2d_in_blocks_of_images():
    x, w = normal(300, 3, 20, 20), normal(8, 3, 5, 5)  # several blocks
    y = F.conv2d(x, w)
    np.testing.assert_allclose(y.value[::77], F.conv2d(x[::77], w).value, rtol=1e-12)
    g = normal(*y.shape)
    vx, vw = ag.Variable(x, True), ag.Variable(w, True)
    F.conv2d(vx, vw).backward(g)
    parts = [ag.Variable(w, True) for _ in range(3)]
    for i, part in enumerate(parts):
        vi = ag.Variable(x[i::3], True)
        F.conv2d(vi, part).backward(g[i::3])
        np.testing.assert_allclose(vx.grad[i::3], vi.grad, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(vw.grad, sum(p.grad for p in parts), rtol=1e-9)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex128"])
def test_conv2d_keeps_dtypes(backend, dtype):
    if backend == "cupy" and dtype == "float16":
        pytest.skip("checked by value in float32; half types are the matmul's matter")
    x = on(backend, normal(2, 2, 5, 5).astype(dtype), True)
    w = on(backend, normal(3, 2, 3, 3).astype(dtype), True)
    y = F.conv2d(x, w, padding=1)
    assert y.dtype == dtype
    ag.sum(ag.abs(y)).backward()
    assert x.grad.dtype == w.grad.dtype == dtype


def test_conv2d_of_complex_numbers():
    x, w = normal(1, 2, 4, 4) + 1j * normal(1, 2, 4, 4), normal(2, 2, 3, 3) * (1 - 2j)
    assert ag.grad_check(lambda x, w: F.conv2d(x, w), [x, w], order=2, fast=True)


def test_conv2d_names_what_does_not_fit():
    x = np.ones((1, 4, 6, 6))
    with pytest.raises(ValueError, match=r"weight \[6, 3, 3, 3\] do not fit"):
        F.conv2d(x, np.ones((6, 3, 3, 3)))
    with pytest.raises(ValueError, match=r"bias \[5\] must be \[6\]"):
        F.conv2d(x, np.ones((6, 4, 3, 3)), np.ones(5))
    with pytest.raises(ValueError, match="does not fit into padded images"):
        F.conv2d(x, np.ones((6, 4, 7, 3)))
    with pytest.raises(ValueError, match=r"must be \[N, C, H, W\]"):
        F.conv2d(np.ones((4, 4)), np.ones((6, 4, 3, 3)))
    with pytest.raises(ValueError, match="at least 1"):
        F.conv2d(x, np.ones((6, 4, 3, 3)), stride=0)
    with pytest.raises(ValueError, match="'same' needs stride 1"):
        F.conv2d(x, np.ones((6, 4, 3, 3)), stride=2, padding="same")
