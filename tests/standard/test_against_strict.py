"""The same calls through array_api_strict: equal dtypes, shapes and values.

array_api_strict is the standard's own strict implementation on NumPy.
"""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from standard import calls, linear_calls

import autograd_gpu as ag

strict = pytest.importorskip("array_api_strict")

CALLS = {**calls.CALLS, **linear_calls.CALLS}


def parts(result):
    return [y for r in result for y in parts(r)] if isinstance(result, (list, tuple)) else [result]


def as_numpy(y):
    return y.numpy() if isinstance(y, ag.Variable) else np.from_dlpack(y)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_like_array_api_strict(name, data):
    call = CALLS[name](data)
    found, expected = parts(call(ag)), parts(call(strict))
    assert len(found) == len(expected)
    for mine, theirs in zip(found, expected, strict=True):
        theirs = as_numpy(theirs)
        assert isinstance(mine, ag.Variable)
        assert mine.dtype == theirs.dtype
        assert mine.shape == theirs.shape
        np.testing.assert_allclose(mine.numpy(), theirs, rtol=1e-4, atol=1e-4)
