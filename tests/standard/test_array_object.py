"""The array object: attributes, conversions, and operands of foreign types."""

import numpy as np
import pytest

import autograd_gpu as ag

x = np.array([[1.5, -2.0, 0.5], [3.0, 0.25, -1.0]])


def test_attributes_of_the_array_object():
    v = ag.Variable(x)
    assert v.dtype == ag.float64
    assert v.device == "cpu"
    assert (v.ndim, v.size, v.shape) == (2, 6, (2, 3))
    assert v.T.shape == v.mT.shape == (3, 2)
    assert v.__array_namespace__() is ag
    assert v.to_device("cpu") is v
    with pytest.raises(ValueError, match="no device"):
        v.to_device("float32")


def test_operators_return_notimplemented_for_foreign_types():
    v = ag.Variable(x)
    for name in ("__eq__", "__ne__", "__add__", "__rsub__", "__matmul__", "__lt__", "__ror__"):
        assert getattr(v, name)(object()) is NotImplemented


def test_conversions():
    assert complex(ag.Variable(1 + 2j)) == 1 + 2j
    assert [10, 20][ag.asarray(1)] == 20
    assert float(ag.Variable(2.5)) == 2.5
    assert int(ag.asarray(3)) == 3
    assert bool(ag.asarray(True)) is True
    with pytest.raises(TypeError, match="index"):
        [1][ag.Variable(0.0)]
