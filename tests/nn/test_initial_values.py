"""Initial values: PyTorch's where they are fixed, their statistics where they are drawn."""

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu import nn

init = nn.init


@pytest.mark.parametrize(("shape", "groups"), [
    ((4, 4, 3), 1), ((6, 2, 3, 3), 1), ((2, 5, 3, 4), 1), ((4, 2, 2, 3, 3), 2), ((6, 3, 1), 3),
])  # fmt: skip
def test_kernels_that_return_the_input(shape, groups):
    parity = pytest.importorskip("parity", reason="PyTorch is not installed")
    ours, theirs = ag.Variable(np.ones(shape)), parity.torch.ones(shape)
    parity.close(init.dirac_(ours, groups).value, parity.torch.nn.init.dirac_(theirs, groups))


def test_gains():
    parity = pytest.importorskip("parity", reason="PyTorch is not installed")
    names = ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose2d", "sigmoid", "tanh", "relu",
             "leaky_relu", "selu")  # fmt: skip
    gains = [init.calculate_gain(name) for name in names]
    parity.close(gains, [parity.torch.nn.init.calculate_gain(name) for name in names])
    with pytest.raises(ValueError, match="no gain is known for 'step'"):
        init.calculate_gain("step")


def test_sparse_columns(backend):
    x = ag.Variable(np.ones((40, 6))).to(backend)
    values = init.sparse_(x, 0.3, std=2.0, generator=ag.Generator(0)).numpy()
    assert ((values == 0).sum(0) == 12).all()
    assert values[values != 0].std() == pytest.approx(2.0, rel=0.2)
    assert len({tuple(np.flatnonzero(column)) for column in values.T}) > 1


REFUSED = [
    (lambda: init.dirac_(ag.Variable(np.ones((2, 2)))), "3 to 5 axes"),
    (lambda: init.dirac_(ag.Variable(np.ones((3, 2, 2))), 2), "a multiple of groups=2"),
    (lambda: init.sparse_(ag.Variable(np.ones(3)), 0.1), "a matrix is needed"),
    (lambda: init.sparse_(ag.Variable(np.ones((3, 2))), 1.5), "sparsity=1.5"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
