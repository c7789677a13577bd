"""The array protocols: `np.asarray(v)`, the namespace, and operands of foreign types."""

import numpy as np
import pytest

import autograd_gpu as ag

V = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def test_other_types_get_their_turn():
    class Unit:
        __array_ufunc__ = None

        def __rmul__(self, other):
            return "mine"

    assert ag.Variable(V) * Unit() == "mine"


def test_a_variable_becomes_an_array_only_without_gradient():
    v = ag.Variable(V)
    assert np.asarray(v) is V
    assert np.array(v) is not V
    assert np.asarray(v, dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="copy"):
        np.array(v, dtype=np.float32, copy=False)
    with pytest.raises(TypeError, match=r"use \.detach\(\)\.numpy\(\)"):
        np.asarray(ag.Variable(V, requires_grad=True))
    with pytest.raises(TypeError, match=r"detach"):
        np.asarray(ag.Variable(V, requires_grad=True) * 2.0)


def test_the_array_namespace():
    v = ag.Variable(V)
    assert v.__array_namespace__() is ag
    assert v.__array_namespace__(api_version="2023.12").exp(v).shape == (2, 3)
    with pytest.raises(ValueError, match="api_version"):
        v.__array_namespace__(api_version="1999.01")
