"""Averages of parameters: means over steps, PyTorch's numbers, batch norms afterwards."""

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu import nn, optim


def test_the_mean_of_parameters(backend):
    x = ag.Variable(np.zeros(3)).to(backend).detach()
    swa = optim.SWA([x])
    for n in range(4):
        x.value = x.value * 0 + n
        swa.update()
    with swa.applied():
        np.testing.assert_allclose(x.numpy(), 1.5)
    np.testing.assert_allclose(x.numpy(), 3)
    again = optim.SWA([x])
    again.load_state_dict(swa.state_dict())
    x.value = x.value * 0 + 4
    again.update()
    again.copy_to()
    np.testing.assert_allclose(x.numpy(), 2)


@pytest.mark.parametrize("kind", ["mean", "moving"])
def test_averages_are_pytorchs(kind):
    parity = pytest.importorskip("parity", reason="PyTorch is not installed")
    utils = parity.torch.optim.swa_utils
    ours, theirs = parity.twins("Linear", 3, 2)
    if kind == "mean":
        a, b = optim.SWA(ours.parameters()), utils.AveragedModel(theirs)
    else:
        moving = utils.get_ema_multi_avg_fn(0.9)
        a, b = optim.EMA(ours.parameters(), 0.9), utils.AveragedModel(theirs, multi_avg_fn=moving)
        b.update_parameters(theirs)  # the first is a copy, which ours has from the beginning
    for n in range(4):
        for x, t in zip(ours.parameters(), theirs.parameters(), strict=True):
            x.value = x.value + n
            t.data += n
        a.update()
        b.update_parameters(theirs)
    for average, t in zip(a.averages, b.module.parameters(), strict=True):
        parity.close(average, t)


def test_batch_norms_see_all_data_again():
    parity = pytest.importorskip("parity", reason="PyTorch is not installed")
    ours, theirs = parity.twins("BatchNorm1d", 3)
    batches = [np.random.default_rng(n).normal(n, 1 + n, (8, 3)) for n in range(4)]
    ours.eval()
    optim.update_bn(((x, None) for x in batches), nn.Sequential(ours))
    parity.torch.optim.swa_utils.update_bn(map(parity.torch.tensor, batches), theirs)
    parity.close(ours.running_mean.value, theirs.running_mean)
    parity.close(ours.running_var.value, theirs.running_var)
    assert (ours.momentum, ours.training) == (0.1, False)


def test_what_is_refused():
    x = ag.Variable([1.0])
    with pytest.raises(TypeError, match="SWA: a parameter is a Variable, not ndarray"):
        optim.SWA([np.ones(2)])
    with pytest.raises(ValueError, match="decay=1.0 must be in"):
        optim.EMA([x], 1.0)
    with pytest.raises(ValueError, match=r"SWA: the state has \['averages', 'decay'\], not"):
        optim.SWA([x]).load_state_dict(optim.EMA([x]).state_dict())
    with pytest.raises(ValueError, match=r"shapes \[\(1,\)\], here they are \[\(2,\)\]"):
        optim.SWA([ag.Variable([1.0, 2.0])]).load_state_dict(optim.SWA([x]).state_dict())
