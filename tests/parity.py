"""Comparison of a function with PyTorch's: values, gradients, and our second derivatives."""

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu import nn
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


def twins(name, *args, **kwargs):
    """The module of that name here and in PyTorch, in float64 and with the same weights."""
    theirs = getattr(torch.nn, name)(*args, **kwargs).double()
    ours = getattr(nn, name)(*args, **kwargs).to("float64")
    assert [n for n, _ in ours.named_parameters()] == [n for n, _ in theirs.named_parameters()]
    ours.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
    return ours, theirs


def leaves(result):
    """All arrays of a nested result."""
    if isinstance(result, (tuple, list)):
        return [leaf for item in result if item is not None for leaf in leaves(item)]
    return [result]


def compare_modules(ours, theirs, *inputs, **options):
    """Compare the values, and the gradients for `inputs` and parameters, of two modules."""
    xs = [ag.Variable(x, True) for x in inputs]
    ts = [torch.tensor(x, requires_grad=True) for x in inputs]
    ys = leaves(ours(*xs, **options))
    tensors = {k: torch.tensor(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
    expected = leaves(theirs(*ts, **tensors))
    assert len(ys) == len(expected)
    for y, e in zip(ys, expected, strict=True):
        assert y.shape == tuple(e.shape)
        close(y.value, e)
    sum(ag.sum(y * normal(*y.shape)) for y in ys).backward()
    sum((e * torch.tensor(normal(*e.shape))).sum() for e in expected).backward()
    for x, t in zip(xs, ts, strict=True):
        close(x.grad, t.grad, atol=1e-11)
    for (name, p), q in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        close(p.grad, q.grad, atol=1e-11, err_msg=name)
