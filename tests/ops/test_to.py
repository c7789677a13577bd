"""Moving between backends; needs CuPy with a device, an emulated one too."""

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu import Variable

pytestmark = pytest.mark.skipif(
    "cupy" not in ag.available_backends(), reason="CuPy sees no device, not an emulated one either"
)


@pytest.mark.parametrize("target", ["cupy", "cuda", "cuda:0"])
def test_there_and_back(target):
    import cupy as cp

    x = Variable(np.array([1.0, 2.0]), requires_grad=True)
    y = x.to(target)
    assert type(y.value) is cp.ndarray
    assert y.to(target) is y
    z = (y * y).to("numpy")
    assert type(z.value) is np.ndarray
    z.backward(np.array([1.0, 10.0]))
    assert type(x.grad) is np.ndarray
    np.testing.assert_array_equal(x.grad, [2, 40])


def test_second_order():
    x = Variable(np.array(3.0), requires_grad=True)
    y = x.cuda()
    dx = ag.gradients((y * y * y).cpu(), x, create_graph=True)
    assert ag.gradients(dx, x).item() == 18


def test_without_a_gradient():
    x = Variable(np.array([1, 2]))
    assert x.cuda().is_leaf
    with ag.no_grad():
        assert Variable([1.0], requires_grad=True).cuda(0).is_leaf


def test_backends_do_not_mix():
    x = Variable(np.arange(3.0))
    y = x.cuda()
    with pytest.raises(TypeError, match=r"\.to\("):
        y[np.array([0, 1])]
    with pytest.raises(TypeError, match=r"\.to\("):
        y[0:2] = x[0:2]
    with pytest.raises(TypeError, match=r"\.to\("):
        y += x
    with pytest.raises(ValueError, match="names no device"):
        x.to("cuda:first")
