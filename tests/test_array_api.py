"""The array API standard 2024.12: names, signatures, results, dtypes and devices."""

import inspect

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu.backend import load_backend


def words(text):
    return text.split()


# name: the parameters that may be given by name, those by position alone being "x"
FUNCTIONS = {
    # Creation
    "arange": "x stop step dtype device",
    "asarray": "x dtype device copy",
    "empty": "shape dtype device",
    "empty_like": "x dtype device",
    "eye": "x x k dtype device",
    "from_dlpack": "x device copy",
    "full": "shape fill_value dtype device",
    "full_like": "x fill_value dtype device",
    "linspace": "x x num dtype device endpoint",
    "meshgrid": "*arrays indexing",
    "ones": "shape dtype device",
    "ones_like": "x dtype device",
    "tril": "x k",
    "triu": "x k",
    "zeros": "shape dtype device",
    "zeros_like": "x dtype device",
    # dtypes
    "astype": "x x copy device",
    "can_cast": "x x",
    "finfo": "x",
    "iinfo": "x",
    "isdtype": "dtype kind",
    "result_type": "*arrays_and_dtypes",
    # Elementwise
    **dict.fromkeys(
        words(
            "abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 "
            "floor imag isfinite isinf isnan log log10 log1p log2 logical_not negative "
            "positive real reciprocal round sign signbit sin sinh sqrt square tan tanh trunc"
        ),
        "x",
    ),
    **dict.fromkeys(
        words(
            "add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift "
            "bitwise_xor copysign divide equal floor_divide greater greater_equal hypot less "
            "less_equal logaddexp logical_and logical_or logical_xor maximum minimum multiply "
            "nextafter not_equal pow remainder subtract"
        ),
        "x x",
    ),
    "clip": "x min max",
    # Indexing, searching, sets, sorting
    "take": "x x axis",
    "take_along_axis": "x x axis",
    "argmax": "x axis keepdims",
    "argmin": "x axis keepdims",
    "count_nonzero": "x axis keepdims",
    "nonzero": "x",
    "searchsorted": "x x side sorter",
    "where": "x x x",
    "unique_all": "x",
    "unique_counts": "x",
    "unique_inverse": "x",
    "unique_values": "x",
    "argsort": "x axis descending stable",
    "sort": "x axis descending stable",
    # Linear algebra
    "matmul": "x x",
    "matrix_transpose": "x",
    "tensordot": "x x axes",
    "vecdot": "x x axis",
    # Manipulation
    "broadcast_arrays": "*arrays",
    "broadcast_to": "x shape",
    "concat": "x axis",
    "expand_dims": "x axis",
    "flip": "x axis",
    "moveaxis": "x x x",
    "permute_dims": "x axes",
    "repeat": "x x axis",
    "reshape": "x shape copy",
    "roll": "x shift axis",
    "squeeze": "x axis",
    "stack": "x axis",
    "tile": "x x",
    "unstack": "x axis",
    # Statistics
    "cumulative_prod": "x axis dtype include_initial",
    "cumulative_sum": "x axis dtype include_initial",
    "max": "x axis keepdims",
    "mean": "x axis keepdims",
    "min": "x axis keepdims",
    "prod": "x axis dtype keepdims",
    "std": "x axis correction keepdims",
    "sum": "x axis dtype keepdims",
    "var": "x axis correction keepdims",
    # Utilities
    "all": "x axis keepdims",
    "any": "x axis keepdims",
    "diff": "x axis n prepend append",
}
EXTENSIONS = {
    "fft": "fft fftfreq fftn fftshift hfft ifft ifftn ifftshift ihfft irfft irfftn rfft rfftfreq "
    "rfftn",
    "linalg": "cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power "
    "matrix_rank matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot "
    "vector_norm",
}
DTYPES = words(
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128"
)
METHODS = words(
    "__abs__ __add__ __and__ __array_namespace__ __bool__ __complex__ __dlpack__ "
    "__dlpack_device__ __eq__ __float__ __floordiv__ __ge__ __getitem__ __gt__ "
    "__index__ __int__ __invert__ __le__ __lshift__ __lt__ __matmul__ __mod__ __mul__ "
    "__ne__ __neg__ __or__ __pos__ __pow__ __rshift__ __setitem__ __sub__ __truediv__ "
    "__xor__ __iadd__ __isub__ __imul__ __itruediv__ __ifloordiv__ __ipow__ "
    "__imatmul__ __imod__ __iand__ __ior__ __ixor__ __ilshift__ __irshift__ __radd__ "
    "__rsub__ __rmul__ __rtruediv__ __rfloordiv__ __rpow__ __rmatmul__ __rmod__ "
    "__rand__ __ror__ __rxor__ __rlshift__ __rrshift__ to_device"
)

x = np.array([[1.5, -2.0, 0.5], [3.0, 0.25, -1.0]])
RESULTS = {
    **{name: lambda v, name=name: getattr(ag, name)(v)
       for name, p in FUNCTIONS.items() if p == "x"},
    **{name: lambda v, name=name: getattr(ag, name)(v, v)
       for name, p in FUNCTIONS.items() if p == "x x" and name not in ("can_cast", "tile")},
    **{name: lambda v, name=name: getattr(ag, name)(v) for name in (
        "asarray", "empty_like", "from_dlpack", "ones_like", "zeros_like", "tril",
        "argmax", "argmin", "count_nonzero", "argsort", "sort", "broadcast_arrays", "flip",
        "squeeze", "unstack", "max", "mean", "min", "prod", "std", "sum", "var", "all", "any",
        "diff", "clip", "triu", "permute_dims", "vecdot")},
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
INTEGERS = [name for name in FUNCTIONS if name.startswith("bitwise")]
NO_ARRAYS = {"can_cast", "finfo", "iinfo", "isdtype", "result_type"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_parameters(name):
    parameters = list(inspect.signature(getattr(ag, name)).parameters.values())
    wanted = FUNCTIONS[name].split()
    names = {p.name: p for p in parameters}
    for i, want in enumerate(wanted):
        if want.startswith("*"):
            assert parameters[i].kind is inspect.Parameter.VAR_POSITIONAL
        elif want == "x":
            assert parameters[i].kind in (
                inspect.Parameter.POSITIONAL_ONLY,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
            )
        else:
            assert names[want].kind in (
                inspect.Parameter.KEYWORD_ONLY,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
            )
    # What is left must not be needed.
    count = sum(want == "x" for want in wanted)
    for p in parameters[count:]:
        assert p.name in wanted or p.default is not p.empty or "VAR" in str(p.kind)


def parts(result):
    return [y for r in result for y in parts(r)] if isinstance(result, (list, tuple)) else [result]


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in NO_ARRAYS])
@pytest.mark.parametrize("backend", ag.available_backends())
def test_results_are_variables(name, backend):
    value = load_backend(backend).from_host(np.abs(x) if name != "sign" else x)
    if name in ("acosh", "atanh", "asin", "acos"):
        value = value * 0 + (1.5 if name == "acosh" else 0.5)
    v = ag.Variable(value)
    if name in INTEGERS:
        v = ag.astype(v, ag.int64)
    with ag.use_backend(backend):
        result = RESULTS[name](v)
    for y in parts(result):
        assert type(y) is ag.Variable
        assert type(y.value) is load_backend(backend).array_type


@pytest.mark.parametrize("name", EXTENSIONS)
def test_extensions(name):
    for function in EXTENSIONS[name].split():
        assert callable(getattr(getattr(ag, name), function))


@pytest.mark.parametrize("name", METHODS)
def test_the_array_object_has(name):
    assert callable(getattr(ag.Variable, name))


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


def test_constants():
    assert (ag.e, ag.pi, ag.inf) == (np.e, np.pi, np.inf)
    assert ag.nan != ag.nan
    assert ag.newaxis is None
    assert ag.__array_api_version__ == "2024.12"


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_are_numpys(name):
    dtype = getattr(ag, name)
    assert dtype == np.dtype(name)
    assert dtype == getattr(np, name if name != "bool" else "bool_")
    assert ag.zeros(2, dtype=dtype).dtype == dtype
    assert {dtype: 1}[ag.zeros(2, dtype=name).dtype] == 1
    assert name in dir(ag)


def test_unknown_names_are_no_dtypes():
    with pytest.raises(AttributeError, match="float128"):
        ag.float128  # noqa: B018


def test_isdtype():
    assert ag.isdtype(ag.float32, "real floating")
    assert ag.isdtype(ag.int8, ("bool", "signed integer"))
    assert not ag.isdtype(ag.complex64, (ag.complex128, "integral"))
    assert ag.isdtype(ag.zeros(1).dtype, ag.float32)
    assert not ag.isdtype(ag.bool, "numeric")


def test_result_type():
    v = ag.zeros(2, dtype=ag.float32)
    assert ag.result_type(v, 1.0) == ag.float32
    assert ag.result_type(v, ag.float64) == ag.float64
    assert ag.result_type(ag.int8, ag.int32) == ag.int32
    assert ag.result_type(v, 1j) == ag.complex64
    assert ag.result_type(x, v) == ag.float64
    with pytest.raises(ValueError, match="at least one"):
        ag.result_type()


def test_can_cast():
    assert ag.can_cast(ag.int8, ag.int32)
    assert not ag.can_cast(ag.zeros(1, dtype=ag.float64), ag.int32)


@pytest.mark.parametrize("name", ["float32", "float64", "complex64", "complex128"])
def test_finfo(name):
    info, theirs = ag.finfo(getattr(ag, name)), np.finfo(name)
    assert type(info.bits) is int
    assert info.bits == theirs.bits
    for field in ("eps", "max", "min", "smallest_normal"):
        assert type(getattr(info, field)) is float
        assert getattr(info, field) == getattr(theirs, field)
    assert info.dtype == theirs.dtype
    assert ag.finfo(ag.zeros(1, dtype=name)) == info


@pytest.mark.parametrize("name", ["int8", "uint64"])
def test_iinfo(name):
    info, theirs = ag.iinfo(getattr(ag, name)), np.iinfo(name)
    assert (info.bits, info.max, info.min) == (theirs.bits, theirs.max, theirs.min)
    assert info.dtype == name
    assert all(type(v) is int for v in (info.bits, info.max, info.min))


def test_namespace_info():
    info = ag.__array_namespace_info__()
    assert info.capabilities()["data-dependent shapes"]
    assert "cpu" in info.devices()
    with ag.use_backend("numpy"):
        assert info.default_device() == "cpu"
    assert info.default_dtypes()["real floating"] == ag.asarray(1.0).dtype
    assert info.default_dtypes()["complex floating"] == ag.asarray(1j).dtype
    assert info.default_dtypes()["integral"] == ag.asarray(1).dtype
    assert list(info.dtypes()) == DTYPES
    assert list(info.dtypes(kind="complex floating")) == ["complex64", "complex128"]
    assert list(info.dtypes(kind=("bool", "unsigned integer"))) == ["bool", *DTYPES[5:9]]
    with pytest.raises(ValueError, match="kind"):
        info.dtypes(kind="float")


def test_namedtuples_stay_namedtuples():
    v = ag.Variable([3.0, 1.0, 3.0])
    found = ag.unique_all(v)
    assert found._fields == ("values", "indices", "inverse_indices", "counts")
    assert found.indices.tolist() == [1, 0]
    assert ag.unique_counts(v).counts.tolist() == [1, 2]
    assert ag.unique_inverse(v).inverse_indices.tolist() == [1, 0, 1]


def test_asarray_keeps_the_graph():
    v = ag.Variable(x, requires_grad=True)
    assert ag.asarray(v) is v
    assert ag.asarray(v, copy=True).requires_grad
    assert ag.asarray(v, copy=True).value is not v.value
    assert ag.asarray(v, dtype=ag.float32).requires_grad
    assert ag.asarray(v, device="cpu") is v
    stacked = ag.asarray([[v[0, 0], 2.0], [v[1, 1], 3.0]])
    assert stacked.shape == (2, 2)
    stacked.sum().backward()
    np.testing.assert_array_equal(v.grad, [[1, 0, 0], [0, 1, 0]])


def test_asarray_without_a_copy():
    v = ag.Variable(x)
    assert ag.asarray(v, copy=False) is v
    assert ag.asarray(x, copy=False).value is x
    assert ag.asarray(x, copy=True).value is not x
    assert ag.asarray(x > 0, copy=True).dtype == ag.bool
    for call in (
        lambda: ag.asarray([1.0], copy=False),
        lambda: ag.asarray(v, dtype=ag.float32, copy=False),
    ):
        with pytest.raises(ValueError, match="copy"):
            call()


@pytest.mark.parametrize(
    "call",
    [
        lambda **k: ag.zeros(2, **k),
        lambda **k: ag.ones(2, **k),
        lambda **k: ag.empty(2, **k),
        lambda **k: ag.full(2, 1.0, **k),
        lambda **k: ag.full(2, ag.Variable(1.0), **k),
        lambda **k: ag.arange(2, **k),
        lambda **k: ag.linspace(0, 1, 2, **k),
        lambda **k: ag.eye(2, **k),
        lambda **k: ag.asarray([1.0], **k),
        lambda **k: ag.zeros_like(ag.Variable(x), **k),
        lambda **k: ag.full_like(ag.Variable(x), 3.0, **k),
        lambda **k: ag.astype(ag.Variable(x), ag.float32, **k),
        lambda **k: ag.from_dlpack(x, **k),
    ],
)
def test_devices(call):
    assert call(device="cpu").device == "cpu"
    assert call(device=ag.Variable(x).device).device == "cpu"
    with pytest.raises(ValueError, match="device"):
        call(device="tpu")


def test_linspace_between_variables():
    a = ag.Variable(np.array([0.0, 1.0]), requires_grad=True)
    y = ag.linspace(a[0], a[1] * 4, 5)
    np.testing.assert_array_equal(y.numpy(), [0, 1, 2, 3, 4])
    y.sum().backward()
    np.testing.assert_allclose(a.grad, [2.5, 10])


def test_dlpack():
    v = ag.Variable(x)
    assert v.__dlpack_device__() == (1, 0)
    assert np.shares_memory(np.from_dlpack(v), x)
    assert ag.from_dlpack(v).value is not None
    assert np.shares_memory(ag.from_dlpack(x).value, x)
    assert not np.shares_memory(ag.from_dlpack(x, copy=True).value, x)
    with pytest.raises(TypeError, match="requires a gradient.*detach"):
        np.from_dlpack(ag.Variable(x, requires_grad=True))


def test_operators_return_notimplemented_for_foreign_types():
    v = ag.Variable(x)
    for name in METHODS:
        if name in ("__eq__", "__ne__", "__add__", "__rsub__", "__matmul__", "__lt__", "__ror__"):
            assert getattr(v, name)(object()) is NotImplemented


def test_conversions():
    assert complex(ag.Variable(1 + 2j)) == 1 + 2j
    assert [10, 20][ag.asarray(1)] == 20
    assert float(ag.Variable(2.5)) == 2.5
    assert int(ag.asarray(3)) == 3
    assert bool(ag.asarray(True)) is True
    with pytest.raises(TypeError, match="index"):
        [1][ag.Variable(0.0)]
