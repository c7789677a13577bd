"""Operands for the calls, and modules that are imported when a call needs them."""

import importlib

import numpy as np

import autograd_gpu as ag

_rng = np.random.default_rng(0)
x, y = _rng.normal(size=12), _rng.normal(size=12)
p = np.abs(x) + 0.3
small = p / 8 + 0.05
X, Y = _rng.normal(size=(8, 3)), _rng.normal(size=(8, 3))
t = np.array(1.3)


def f64(value):
    """A constant beside operands in float64; lists would be float32."""
    return ag.asarray(value, dtype=ag.float64)


class Module:
    """A module, imported when first used; a missing one skips the case."""

    def __init__(self, name):
        self.name = name

    def __getattr__(self, attribute):
        return getattr(importlib.import_module(self.name), attribute)
