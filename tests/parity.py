"""Comparison of a function with PyTorch's: values, gradients, and our second derivatives."""

import numpy as np
import pytest

import autograd_gpu as ag

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


def normal(*shape):
    return np.random.default_rng(sum(shape) + len(shape)).standard_normal(shape)


def compare(ours, theirs, *arrays, order=2):
    """Compare values and the gradients for `arrays`; then check ours, to that order."""
    variables = [ag.Variable(x, requires_grad=True) for x in arrays]
    tensors = [torch.tensor(x, requires_grad=True) for x in arrays]
    y, expected = ours(*variables), theirs(*tensors)
    assert y.shape == tuple(expected.shape)
    assert y.dtype == np.float64
    np.testing.assert_allclose(y.value, expected.detach().numpy(), rtol=1e-7, atol=1e-12)
    g = normal(*y.shape)
    y.backward(ag.Variable(g).value if g.ndim else float(g))
    expected.backward(torch.tensor(g))
    for variable, tensor in zip(variables, tensors, strict=True):
        grad = np.zeros(variable.shape) if variable.grad is None else variable.grad
        np.testing.assert_allclose(grad, tensor.grad.numpy(), rtol=1e-7, atol=1e-12)
    if order:
        assert ag.grad_check(ours, list(arrays), order=order, fast=True)
