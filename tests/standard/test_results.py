"""Every function returns Variables on the backend of its operands."""

import numpy as np
import pytest
from standard.signatures import MAIN

import autograd_gpu as ag
from autograd_gpu.backend import load_backend

x = np.array([[1.5, -2.0, 0.5], [3.0, 0.25, -1.0]])
NAMES = {name: signature for signature, names in MAIN.items() for name in names.split()}
TWO = {name: lambda v, name=name: getattr(ag, name)(v, v) for name in MAIN["x1, x2, /"].split()}
ONE = {name: lambda v, name=name: getattr(ag, name)(v) for name in NAMES}
RESULTS = {
    **ONE,
    **TWO,
    "astype": lambda v: ag.astype(v, ag.float32),
    "meshgrid": lambda v: ag.meshgrid(v[0], v[1]),
    "full_like": lambda v: ag.full_like(v, 2.0),
    "take": lambda v: ag.take(v, ag.asarray([0]), axis=0),
    "take_along_axis": lambda v: ag.take_along_axis(v, ag.asarray([[0], [1]])),
    "searchsorted": lambda v: ag.searchsorted(v[0, :], v[1, :]),
    "where": lambda v: ag.where(v > 0, v, 0),
    "tensordot": lambda v: ag.tensordot(v, v.T, axes=1),
    "vecdot": lambda v: ag.vecdot(v, v),
    "matmul": lambda v: ag.matmul(v, v.T),
    "broadcast_to": lambda v: ag.broadcast_to(v, (2, 2, 3)),
    "concat": lambda v: ag.concat([v, v]),
    "stack": lambda v: ag.stack((v, v)),
    "expand_dims": lambda v: ag.expand_dims(v, axis=0),
    "moveaxis": lambda v: ag.moveaxis(v, 0, 1),
    "permute_dims": lambda v: ag.permute_dims(v, (1, 0)),
    "repeat": lambda v: ag.repeat(v, np.array(2)),
    "reshape": lambda v: ag.reshape(v, (3, 2), copy=True),
    "roll": lambda v: ag.roll(v, 1, axis=0),
    "tile": lambda v: ag.tile(v, (2, 1)),
    "cumulative_sum": lambda v: ag.cumulative_sum(v, axis=0),
    "cumulative_prod": lambda v: ag.cumulative_prod(v, axis=0),
    "arange": lambda v: ag.arange(3),
    "empty": lambda v: ag.empty((2,)),
    "eye": lambda v: ag.eye(2, 3, k=1),
    "full": lambda v: ag.full((2,), 3.0),
    "linspace": lambda v: ag.linspace(0.0, 1.0, num=3),
    "ones": lambda v: ag.ones(2),
    "zeros": lambda v: ag.zeros((2, 3)),
    "squeeze": lambda v: ag.squeeze(v[None], axis=0),
}  # fmt: skip
NO_ARRAYS = {"can_cast", "finfo", "iinfo", "isdtype", "result_type", "__array_namespace_info__"}


def parts(result):
    return [y for r in result for y in parts(r)] if isinstance(result, (list, tuple)) else [result]


@pytest.mark.parametrize("name", [name for name in NAMES if name not in NO_ARRAYS])
@pytest.mark.parametrize("backend", ag.available_backends())
def test_results_are_variables(name, backend):
    value = load_backend(backend).from_host(np.abs(x) if name != "sign" else x)
    if name in ("acosh", "atanh", "asin", "acos"):
        value = value * 0 + (1.5 if name == "acosh" else 0.5)
    v = ag.Variable(value)
    if name.startswith("bitwise"):
        v = ag.astype(v, ag.int64)
    with ag.use_backend(backend):
        result = RESULTS[name](v)
    for y in parts(result):
        assert type(y) is ag.Variable
        assert type(y.value) is load_backend(backend).array_type


def test_namedtuples_stay_namedtuples():
    v = ag.Variable([3.0, 1.0, 3.0])
    found = ag.unique_all(v)
    assert found._fields == ("values", "indices", "inverse_indices", "counts")
    assert found.indices.tolist() == [1, 0]
    assert ag.unique_counts(v).counts.tolist() == [1, 2]
    assert ag.unique_inverse(v).inverse_indices.tolist() == [1, 0, 1]
