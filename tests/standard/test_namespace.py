"""Constants, dtypes and what the namespace tells of itself."""

import numpy as np
import pytest
from standard.draws import ALL as DTYPES

import autograd_gpu as ag

x = np.array([[1.5, -2.0, 0.5], [3.0, 0.25, -1.0]])


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
    assert tuple(info.dtypes()) == DTYPES
    assert list(info.dtypes(kind="complex floating")) == ["complex64", "complex128"]
    assert list(info.dtypes(kind=("bool", "unsigned integer"))) == ["bool", *DTYPES[5:9]]
    with pytest.raises(ValueError, match="kind"):
        info.dtypes(kind="float")
