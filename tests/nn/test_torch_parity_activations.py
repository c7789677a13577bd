"""Activations, against PyTorch's."""

import numpy as np
import pytest
from parity import compare, normal, torch

import autograd_gpu.nn.functional as F

TF = torch.nn.functional


ACTIVATIONS = {
    "relu": {}, "gelu": {"approximate": "tanh"}, "silu": {}, "elu": {"alpha": 0.7}, "selu": {},
    "leaky_relu": {"negative_slope": 0.1}, "mish": {}, "softplus": {}, "logsigmoid": {},
    "hardtanh": {}, "relu6": {}, "glu": {"dim": 0}, "softmax": {"dim": 1},
    "log_softmax": {"dim": 0}, "sigmoid": {}, "tanh": {},
}  # fmt: skip


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name):
    options = ACTIVATIONS[name]
    compare(
        lambda x: getattr(F, name)(x, **options),
        lambda x: getattr(TF, name)(x, **options),
        3 * normal(4, 3),
    )


MORE = {
    "softmin": {"dim": 1}, "softsign": {}, "tanhshrink": {}, "hardsigmoid": {}, "hardswish": {},
    "celu": {"alpha": 0.5}, "gelu": {"approximate": "none"}, "hardtanh": {"min_val": -2.0},
}  # fmt: skip


@pytest.mark.parametrize("name", MORE)
def test_more_activations(name):
    options = MORE[name]
    compare(
        lambda x: getattr(F, name)(x, **options),
        lambda x: getattr(TF, name)(x, **options),
        3 * normal(4, 3),
    )


@pytest.mark.parametrize(("shape", "n"), [((4, 3), 1), ((4, 3), 3), ((2, 3, 4, 2), 3), ((5,), 1)])
def test_prelu(shape, n):
    compare(F.prelu, TF.prelu, normal(*shape), normal(n))


X = normal(4, 3)


REFUSED = [
    (lambda: F.prelu(X, np.ones(4)), "one per channel"),
    (lambda: F.celu(X, 0.0), "must not be 0"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
