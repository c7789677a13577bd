"""NumPy's functions and ufuncs on Variables: values and gradients."""

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu import ops

V = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
A = np.array([[1.5, -1.0, 0.5], [2.0, 0.25, -3.0]])
row = np.array([1.0, 2.0, 4.0])

DIFFERENTIABLE = {
    "array * v": lambda x: A * x,
    "array - v": lambda x: A - x,
    "array / v": lambda x: A / x,
    "array @ v": lambda x: np.ones((4, 2)) @ x,
    "number ** v": lambda x: np.float64(2.0) ** x,
    "scalar * v": lambda x: np.float64(2.0) * x,
    "abs": lambda x: np.abs(x - 2.5),
    "add dtype": lambda x: np.add(x, A, dtype=np.float64),
    "append": lambda x: np.append(x, A, axis=0),
    "append flat": lambda x: np.append(x, A),
    "arcsin": lambda x: np.arcsin(x / 10),
    "arctan2": lambda x: np.arctan2(x, A),
    "array_split": lambda x: np.array_split(x, 2, axis=1)[1],
    "average": lambda x: np.average(x, axis=1, weights=row),
    "average plain": lambda x: np.average(x, axis=0, keepdims=True),
    "average matrix": lambda x: np.average(x, weights=np.abs(A)),
    "broadcast_arrays": lambda x: np.broadcast_arrays(x, np.ones((2, 2, 3)))[0],
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 2, 3)),
    "clip": lambda x: np.clip(x, 1.5, 4.5),
    "clip keywords": lambda x: np.clip(x, a_min=1.5, a_max=None),
    "clip min": lambda x: np.clip(x, min=1.5),
    "column_stack": lambda x: np.column_stack([x[0], x[1]]),
    "concatenate": lambda x: np.concatenate([x, A], axis=1),
    "concatenate positional": lambda x: np.concatenate((x, A), 0),
    "copy": lambda x: np.copy(x),
    "cumprod": lambda x: np.cumprod(x, axis=1),
    "cumsum": lambda x: np.cumsum(x),
    "cumsum axis": lambda x: np.cumsum(x, 1),
    "diag": lambda x: np.diag(x[0], k=1),
    "diag of a matrix": lambda x: np.diag(x, k=-1),
    "diagonal": lambda x: np.diagonal(x, offset=1),
    "diff": lambda x: np.diff(x, n=2, axis=1),
    "dot": lambda x: np.dot(x, np.ones((3, 2))),
    "bincount": lambda x: np.bincount(np.array([0, 2, 2]), x[0], 4),
    "block": lambda x: np.block([[x, A], [A, x]]),
    "choose": lambda x: np.choose(np.array([0, 1, 1]), x),
    "compress": lambda x: np.compress([True, False, True], x, axis=1),
    "convolve": lambda x: np.convolve(x[0], x[1], mode="same"),
    "correlate": lambda x: np.correlate(x[0], x[1], "full"),
    "cov": lambda x: np.cov(x, ddof=0),
    "cross": lambda x: np.cross(x[0], x[1]),
    "delete": lambda x: np.delete(x, 1, axis=1),
    "diff prepend": lambda x: np.diff(x, prepend=0.0, axis=0),
    "dsplit": lambda x: np.dsplit(x[None], 3)[1],
    "ediff1d": lambda x: np.ediff1d(x, to_begin=0.0),
    "extract": lambda x: np.extract(A > 0, x),
    "fix": lambda x: np.fix(x / 2.7) * x,
    "fliplr": lambda x: np.fliplr(x),
    "float_power": lambda x: np.float_power(x, 1.5),
    "fmax": lambda x: np.fmax(x, 2.5),
    "fmod": lambda x: np.fmod(x, 2.7),
    "gradient": lambda x: np.gradient(x, axis=1),
    "gradient spacing": lambda x: np.gradient(x, row, axis=1, edge_order=2),
    "heaviside": lambda x: np.heaviside(A, x),
    "i0": lambda x: np.i0(x),
    "insert": lambda x: np.insert(x, 1, 7.0, axis=1),
    "interp": lambda x: np.interp(x[0] + 0.25, x[1] - 3.5, A[0]),
    "logaddexp2": lambda x: np.logaddexp2(x, A),
    "maximum.accumulate": lambda x: np.maximum.accumulate(x, 1),
    "median": lambda x: np.median(x, axis=1),
    "modf": lambda x: np.modf(x / 7)[0],
    "nanmax": lambda x: np.nanmax(x, axis=0),
    "nanmean": lambda x: np.nanmean(x, axis=0),
    "nanmedian": lambda x: np.nanmedian(x),
    "nanstd": lambda x: np.nanstd(x, ddof=1, axis=1),
    "nansum": lambda x: np.nansum(x, axis=1),
    "partition": lambda x: np.partition(x, 1, axis=1)[:, 1],
    "percentile": lambda x: np.percentile(x, 30, axis=1),
    "piecewise": lambda x: np.piecewise(x, [A > 1, A < 0], [lambda v: v * v, 2.0]),
    "polyval": lambda x: np.polyval(np.array([1.0, 2.0, 3.0]), x),
    "quantile": lambda x: np.quantile(x, np.array([0.2, 0.7]), axis=0, keepdims=True),
    "rot90": lambda x: np.rot90(x),
    "sinc": lambda x: np.sinc(x / 7),
    "unwrap": lambda x: np.unwrap(x * 2, axis=1),
    "vander": lambda x: np.vander(x[0]),
    "vsplit": lambda x: np.vsplit(x, 2)[0],
    "linspace": lambda x: np.linspace(x[0], 9.0, 4),
    "logspace": lambda x: np.logspace(x[0] / 9, 0.5, 4),
    "matvec": lambda x: np.matvec(x, row) if hasattr(np, "matvec") else x @ row,
    "apply_over_axes": lambda x: np.apply_over_axes(np.sum, x[None], [0, 2]),
    "intersect1d": lambda x: np.intersect1d(x, x[:, 1:]),
    "setdiff1d": lambda x: np.setdiff1d(x, [7.0, 8.0]),
    "setxor1d": lambda x: np.setxor1d(x, [7.0, 8.0]),
    "union1d": lambda x: np.union1d(x, [7.5, 8.5]),
    "unique": lambda x: np.unique(x),
    "vecmat": lambda x: np.vecmat(row[:2], x) if hasattr(np, "vecmat") else row[:2] @ x,
    "dstack": lambda x: np.dstack([x, A]),
    "einsum": lambda x: np.einsum("ij,kj->ik", x, A),
    "einsum optimize": lambda x: np.einsum("ij->j", x, optimize=True),
    "exp": lambda x: np.exp(x),
    "expand_dims": lambda x: np.expand_dims(x, 1),
    "flip": lambda x: np.flip(x, 0),
    "hstack": lambda x: np.hstack([x, x]),
    "hstack of vectors": lambda x: np.hstack([x[0], x[1]]),
    "hypot": lambda x: np.hypot(x, A),
    "inner": lambda x: np.inner(x, A),
    "kron": lambda x: np.kron(x, np.ones((2, 2))),
    "logaddexp": lambda x: np.logaddexp(x, A),
    "matmul": lambda x: np.matmul(x, np.ones(3)),
    "max": lambda x: np.max(x, axis=1),
    "maximum": lambda x: np.maximum(x, 2.5),
    "mean": lambda x: np.mean(x, axis=(0, 1)),
    "meshgrid": lambda x: np.meshgrid(x[0], x[1])[0],
    "min": lambda x: np.amin(x),
    "moveaxis": lambda x: np.moveaxis(x, 0, 1),
    "multi_dot": lambda x: np.linalg.multi_dot([x, A.T, x]),
    "nan_to_num": lambda x: np.nan_to_num(np.where(A > 0, x, np.inf), posinf=7.0),
    "outer": lambda x: np.outer(x, x),
    "pad": lambda x: np.pad(x, 1),
    "power": lambda x: np.power(x, 3),
    "prod": lambda x: np.prod(x, axis=0),
    "ptp": lambda x: np.ptp(x, axis=0),
    "ravel": lambda x: np.ravel(x),
    "real": lambda x: np.real(x * (1 + 2j)),
    "repeat": lambda x: np.repeat(x, 2, axis=0),
    "reshape": lambda x: np.reshape(x, (3, 2)),
    "reshape -1": lambda x: np.reshape(x, -1, order="C"),
    "roll": lambda x: np.roll(x, 1, axis=1),
    "rollaxis": lambda x: np.rollaxis(x, 1),
    "select": lambda x: np.select([A > 1, A > 0], [x, x * x], 0.0),
    "sort": lambda x: np.sort(x, axis=0),
    "split": lambda x: np.split(x, 3, axis=1)[2],
    "squeeze": lambda x: np.squeeze(x[None]),
    "stack": lambda x: np.stack([x, x], axis=-1),
    "std": lambda x: np.std(x, ddof=1),
    "sum": lambda x: np.sum(x, axis=0),
    "sum keepdims": lambda x: np.sum(x, 1, keepdims=True),
    "sum dtype": lambda x: np.sum(x, dtype=np.float64),
    "mean dtype": lambda x: np.mean(x, axis=1, dtype=np.float64),
    "var dtype": lambda x: np.var(x, ddof=1, dtype=np.float64),
    "nanstd dtype": lambda x: np.nanstd(x, axis=0, dtype=np.float64),
    "sum by name": lambda x: np.sum(a=x, axis=1),
    "swapaxes": lambda x: np.swapaxes(x, 0, 1),
    "take": lambda x: np.take(x, [0, 2], axis=1),
    "tensordot": lambda x: np.tensordot(x, A, axes=([1], [1])),
    "tile": lambda x: np.tile(x, (2, 1)),
    "trace": lambda x: np.trace(x, offset=1),
    "transpose": lambda x: np.transpose(x),
    "transpose axes": lambda x: np.transpose(x, (1, 0)),
    "trapezoid": lambda x: np.trapezoid(x, dx=0.5, axis=0),
    "trapezoid x": lambda x: np.trapezoid(x, row, axis=1),
    "tril": lambda x: np.tril(x, k=-1),
    "var": lambda x: np.var(x, axis=1),
    "vdot": lambda x: np.vdot(x, A),
    "vstack": lambda x: np.vstack([x, np.ones(3)]),
    "where": lambda x: np.where(A > 0, x, 0.0),
    "sort flat": lambda x: np.sort(x, axis=None),
    "add.reduce": lambda x: np.add.reduce(x),
    "add.reduce of all": lambda x: np.add.reduce(x, axis=None),
    "maximum.reduce of all": lambda x: np.maximum.reduce(x, axis=None, keepdims=True),
    "multiply.reduce": lambda x: np.multiply.reduce(x, axis=1),
    "maximum.reduce": lambda x: np.maximum.reduce(x, axis=1, keepdims=True),
    "logaddexp.reduce": lambda x: np.logaddexp.reduce(x, axis=1),
    "add.accumulate": lambda x: np.add.accumulate(x, 1),
    "multiply.outer": lambda x: np.multiply.outer(x, np.ones(2)),
    "outer of an array": lambda x: np.subtract.outer(row, x),
}
if hasattr(ops, "linalg"):
    DIFFERENTIABLE |= {
        "norm": lambda x: np.linalg.norm(x),
        "norm axis": lambda x: np.linalg.norm(x, ord=1, axis=1, keepdims=True),
        "inv": lambda x: np.linalg.inv(x @ x.T),
    }
OTHERS = {
    "argmax": lambda x: np.argmax(x, axis=1),
    "argsort": lambda x: np.argsort(-x, axis=1),
    "divmod": lambda x: np.divmod(x, 2)[0],
    "full_like": lambda x: np.full_like(x, 3.0),
    "greater": lambda x: x > A,
    "isnan": lambda x: np.isnan(x),
    "rint": lambda x: np.rint(x),
    "round": lambda x: np.around(x / 7, 2),
    "sign": lambda x: np.sign(x),
    "where nonzero": lambda x: np.where(x > 3)[1],
    "zeros_like": lambda x: np.zeros_like(x),
}


@pytest.mark.parametrize("name", [*DIFFERENTIABLE, *OTHERS])
@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated:DeprecationWarning")
def test_values_are_numpys(name):
    f = DIFFERENTIABLE.get(name) or OTHERS[name]
    found, expected = f(ag.Variable(V.copy(), requires_grad=True)), f(V.copy())
    assert isinstance(found, ag.Variable)
    np.testing.assert_allclose(found.value, expected)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients(name):
    assert ag.grad_check(DIFFERENTIABLE[name], V)


def test_what_only_looks_returns_no_variable():
    v = ag.Variable(V, requires_grad=True)
    assert np.shape(v) == (2, 3)
    assert np.ndim(v) == 2
    assert np.size(v) == 6
    assert np.result_type(v, np.float32) == np.float64
    assert np.array_equal(v, V)
    assert np.allclose(v, V)
    assert not np.iscomplexobj(v)


def test_float32_is_kept():
    v = ag.Variable(np.ones(3, np.float32), requires_grad=True)
    assert np.mean(v, dtype=np.float64).dtype == np.float64
    for y in (np.ones(3, np.float32) * v, np.exp(v), np.sum(v), np.float32(2) * v, 2.0 * v):
        assert y.dtype == np.float32


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda v: np.histogram2d(v[0], v[1]), r"np\.histogram2d"),
        (lambda v: np.packbits(v), r"np\.packbits"),
        (lambda v: np.histogramdd(v), r"np\.histogramdd"),
        (lambda v: np.subtract.accumulate(v), r"np\.subtract\.accumulate"),
        (lambda v: np.subtract.reduceat(v, [0, 1]), r"np\.subtract\.reduceat"),
    ],
)
def test_a_name_without_a_derivative_is_refused(call, name):
    for requires_grad in (False, True):
        with pytest.raises(TypeError, match=f"{name} has no derivative here.*detach"):
            call(ag.Variable(V, requires_grad=requires_grad))


def test_nothing_recurses_for_lists_of_variables():
    v = ag.Variable(V, requires_grad=True)
    assert np.stack([v, V]).requires_grad
    assert np.concatenate([[v[0], v[1]][0], row]).shape == (6,)
