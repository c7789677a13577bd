"""Operands of tests: arrays of fixed random numbers, on any backend."""

import numpy as np

import autograd_gpu as ag
from autograd_gpu.backend import load_backend


def normal(*shape):
    """Normal numbers that depend on the shape alone."""
    return np.random.default_rng(sum(shape)).standard_normal(shape)


def on(backend, x, requires_grad=False):
    """`x` as a Variable of that backend."""
    return ag.Variable(load_backend(backend).from_host(np.asarray(x)), requires_grad)


def leaf(value, dtype=np.float64, name=None):
    """A NumPy leaf that wants a gradient."""
    return ag.Variable(np.array(value, dtype=dtype), requires_grad=True, name=name)
