"""Lists of Python numbers beside arrays: as precise as these, and float32 beside nothing else."""

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu import backend

X = np.array([0.3, 0.7, 1.1])
L = [0.1, 0.2, 0.7]

CALLS = {
    "multiply": lambda x: x * L,
    "rmultiply": lambda x: L * x,
    "matmul": lambda x: x @ L,
    "dot": lambda x: np.dot(x, L),
    "rdot": lambda x: np.dot(L, x),
    "dot of a number": lambda x: np.dot(x, 0.1),
    "inner": lambda x: np.inner(L, x),
    "outer": lambda x: np.outer(L, x),
    "outer, the other way": lambda x: np.outer(x, L),
    "vdot": lambda x: np.vdot(L, x),
    "kron": lambda x: np.kron(L, x),
    "cross": lambda x: np.cross(L, x),
    "tensordot": lambda x: np.tensordot(L, x, 1),
    "einsum": lambda x: np.einsum("i,j->ij", x, L),
    "convolve": lambda x: np.convolve(L, x),
    "correlate": lambda x: np.correlate(L, x),
    "power": lambda x: np.power(L, x),
    "concatenate": lambda x: np.concatenate([x, L]),
    "stack": lambda x: np.stack([L, x]),
    "vstack": lambda x: np.vstack([L, x]),
    "hstack": lambda x: np.hstack([L, x]),
    "column_stack": lambda x: np.column_stack([L, x]),
    "where": lambda x: np.where(x > 0.5, x, L),
    "select": lambda x: np.select([x > 1, x > 0.5], [x, 0.3], 0.7),
    "piecewise": lambda x: np.piecewise(x, [x > 0.5], [0.1, 0.3]),
    "solve": lambda x: np.linalg.solve(np.diag(x), L),
    "lstsq": lambda x: np.linalg.lstsq(np.diag(x), L, rcond=None)[0],
    "polyfit": lambda x: np.polyfit(L, x, 1),
    "polyval": lambda x: np.polyval(L, x),
    "linspace": lambda x: np.linspace(L, x, 3),
    "meshgrid": lambda x: np.meshgrid(x, L)[1],
    "broadcast_arrays": lambda x: np.broadcast_arrays(x, [0.1])[1],
    "searchsorted": lambda x: np.searchsorted(L, x),
    "isclose": lambda x: np.isclose(x, [0.3, 0.7, 1.1], rtol=0, atol=0),
    "equal": lambda x: x == [0.3, 0.7, 1.1],
    "complex numbers": lambda x: x * [0.1j, 0.2, 0.7],
}


@pytest.mark.parametrize("name", CALLS)
def test_double_precision_stays(name):
    f = CALLS[name]
    y, expected = f(ag.Variable(X)), f(X)
    assert y.dtype == expected.dtype
    np.testing.assert_allclose(y.value, expected, rtol=1e-14, atol=1e-16)


def written(x, write):
    write(x)
    return x


WRITES = {
    "slice": lambda x: x.__setitem__(slice(1, None), [0.3, 0.7]),
    "put": lambda x: np.put(x, [0], [0.1]),
    "place": lambda x: np.place(x, X > 0.5, [0.1, 0.3]),
    "add.at": lambda x: np.add.at(x, [0, 0], [0.1, 0.2]),
    "subtract.at": lambda x: np.subtract.at(x, [0, 0], [0.1, 0.2]),
}


@pytest.mark.parametrize("name", WRITES)
def test_what_is_written_too(name):
    y, expected = written(ag.Variable(X.copy()), WRITES[name]), written(X.copy(), WRITES[name])
    np.testing.assert_allclose(y.value, expected, rtol=1e-14, atol=1e-15)


def test_single_precision_stays_single():
    x = ag.Variable(X.astype("float32"))
    for name in ("multiply", "matmul", "dot", "outer", "einsum", "concatenate", "where", "kron"):
        assert CALLS[name](x).dtype == np.float32, name
    assert CALLS["complex numbers"](x).dtype == np.complex64
    assert ag.asarray(L).dtype == np.float32


ON_CUPY = {
    "multiply": lambda x: x * L,
    "dot": lambda x: ag.dot(x, L),
    "dot of a number": lambda x: ag.dot(x, 0.1),
    "vstack": lambda x: ag.vstack([L, x]),
    "select": lambda x: ag.select([x > 1, x > 0.5], [x, 0.3], 0.7),
    "piecewise": lambda x: ag.piecewise(x, [x > 0.5], [0.1, 0.3]),
    "meshgrid": lambda x: ag.meshgrid(x, L)[1],
}


@pytest.mark.parametrize("name", ON_CUPY)
def test_they_are_made_where_the_arrays_beside_them_are_on_cupy(name):
    try:
        cupy = backend.load_backend("cupy")
    except backend.BackendError as error:
        pytest.skip(f"no GPU and not run with --cupy-on-cpu: {error}")
    with ag.use_backend("numpy"):
        y = ON_CUPY[name](ag.Variable(cupy.from_host(X)))
    assert type(y.value) is cupy.array_type
    np.testing.assert_allclose(y.numpy(), ON_CUPY[name](ag.Variable(X)).value, rtol=1e-14)
