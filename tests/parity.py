"""Comparison of a function with PyTorch's: values, gradients, and our second derivatives."""

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu.nn import functional as F

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

comparisons = 0  # how many arrays were compared so far; the suite reports their number


def normal(*shape):
    return np.random.default_rng(sum(shape) + len(shape)).standard_normal(shape)


def close(actual, expected, rtol=1e-7, atol=1e-12, **more):
    """Compare one of our arrays with one of PyTorch's."""
    global comparisons
    expected = expected.detach().numpy() if isinstance(expected, torch.Tensor) else expected
    np.testing.assert_allclose(np.asarray(actual), expected, rtol=rtol, atol=atol, **more)
    comparisons += 1


def compare(ours, theirs, *arrays, order=2):
    """Compare values and the gradients for `arrays`; then check ours, to that order."""
    variables = [ag.Variable(x, requires_grad=True) for x in arrays]
    tensors = [torch.tensor(x, requires_grad=True) for x in arrays]
    y, expected = ours(*variables), theirs(*tensors)
    assert y.shape == tuple(expected.shape)
    assert y.dtype == np.float64
    close(y.value, expected)
    g = normal(*y.shape)
    y.backward(ag.Variable(g).value if g.ndim else float(g))
    expected.backward(torch.tensor(g))
    for variable, tensor in zip(variables, tensors, strict=True):
        close(np.zeros(variable.shape) if variable.grad is None else variable.grad, tensor.grad)
    if order:
        assert ag.grad_check(ours, list(arrays), order=order, fast=True)


def compare_function(name, *arrays, order=2, **options):
    """Compare `nn.functional`'s function of that name; arrays among the options stay constant."""
    tensors = {k: torch.tensor(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
    compare(
        lambda *xs: getattr(F, name)(*xs, **options),
        lambda *xs: getattr(torch.nn.functional, name)(*xs, **tensors),
        *arrays,
        order=order,
    )
