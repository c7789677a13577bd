"""New Variables: dtypes, backends, and graphs that go on."""

import numpy as np
import pytest

import autograd_gpu as ag


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (lambda: ag.zeros((2, 3)), np.zeros((2, 3), "f4")),
        (lambda: ag.zeros(2, dtype="int64"), np.zeros(2, "i8")),
        (lambda: ag.ones((), device=None), np.ones((), "f4")),
        (lambda: ag.full((2,), 3), np.full(2, 3)),
        (lambda: ag.full(2, 0.5), np.full(2, 0.5, "f4")),
        (lambda: ag.full(2, True), np.full(2, True)),
        (lambda: ag.full(2, 1j), np.full(2, 1j, "c8")),
        (lambda: ag.full(2, np.float64(3)), np.full(2, 3.0)),
        (lambda: ag.arange(3), np.arange(3)),
        (lambda: ag.arange(1, 3), np.arange(1, 3)),
        (lambda: ag.arange(3.0), np.arange(3, dtype="f4")),
        (lambda: ag.arange(0, 1, 0.25), np.arange(0, 1, 0.25, "f4")),
        (lambda: ag.arange(3, dtype="float64"), np.arange(3.0)),
        (lambda: ag.linspace(0, 1, 5), np.linspace(0, 1, 5, dtype="f4")),
        (lambda: ag.linspace(0, 1, 4, endpoint=False), np.linspace(0, 1, 4, False, dtype="f4")),
        (lambda: ag.eye(2), np.eye(2, dtype="f4")),
        (lambda: ag.eye(2, 3, k=1), np.eye(2, 3, 1, "f4")),
        (lambda: ag.zeros_like(np.ones(2, "i4")), np.zeros(2, "i4")),
        (lambda: ag.ones_like(ag.zeros(2), dtype="f8"), np.ones(2)),
        (lambda: ag.full_like([1.0, 2.0], 7), np.full(2, 7, "f4")),
        (lambda: ag.asarray([1, 2]), np.array([1, 2])),
        (lambda: ag.asarray(2.5), np.array(2.5, "f4")),
        (lambda: ag.asarray(np.ones(2), dtype="f4"), np.ones(2, "f4")),
    ],
)
def test_values_and_dtypes(made, expected):
    with ag.use_backend("numpy"):
        x = made()
    assert type(x) is ag.Variable
    assert not x.requires_grad
    assert x.dtype == expected.dtype
    assert x.shape == expected.shape
    np.testing.assert_array_equal(x.numpy(), expected)


def test_empty_arrays_have_shape_and_dtype():
    with ag.use_backend("numpy"):
        assert (ag.empty((2, 3)).shape, ag.empty(2).dtype) == ((2, 3), np.float32)
    assert ag.empty_like(np.zeros((2, 3), "i4")).dtype == np.int32


def test_the_default_dtype_is_that_of_new_arrays():
    ag.set_default_dtype("float64")
    try:
        with ag.use_backend("numpy"):
            assert ag.zeros(2).dtype == ag.arange(1.0).dtype == np.float64
            assert ag.full(2, 1j).dtype == np.complex128
    finally:
        ag.set_default_dtype("float32")


def test_asarray_keeps_the_graph():
    x = ag.Variable([1.0, 2.0], requires_grad=True)
    assert ag.asarray(x) is x
    (ag.asarray(x, dtype="float64") * 2).sum().backward()
    np.testing.assert_array_equal(x.grad, [2, 2])
    y = ag.asarray(x, copy=True)
    assert y.requires_grad
    assert not np.shares_memory(y.value, x.value)
    array = np.ones(2)
    assert ag.asarray(array).value is array
    assert not np.shares_memory(ag.asarray(array, copy=True).value, array)


def test_full_of_a_variable_keeps_the_graph():
    x = ag.Variable(2.0, requires_grad=True)
    ag.full((2, 3), x).sum().backward()
    assert x.grad == 6


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("sizes", [(), (2,), (2, 3), (2, 3, 4)])
def test_meshgrid(indexing, sizes):
    axes = [np.arange(float(n)) for n in sizes]
    for ours, theirs in zip(
        ag.meshgrid(*axes, indexing=indexing), np.meshgrid(*axes, indexing=indexing), strict=True
    ):
        np.testing.assert_array_equal(ours.numpy(), theirs)


def test_meshgrid_keeps_the_graph_and_checks_its_arguments():
    x = ag.Variable([1.0, 2.0], requires_grad=True)
    ag.meshgrid(x, np.zeros(3, "f4"))[0].sum().backward()
    np.testing.assert_array_equal(x.grad, [3, 3])
    with pytest.raises(ValueError, match="indexing"):
        ag.meshgrid(x, indexing="yx")
    with pytest.raises(ValueError, match="1-d"):
        ag.meshgrid(np.zeros((2, 2)))
