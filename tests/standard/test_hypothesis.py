"""hypothesis's own strategies for array API libraries, on this namespace."""

import numpy as np
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.extra.array_api import make_strategies_namespace

import autograd_gpu as ag

xps = make_strategies_namespace(ag)
CONFIGURED = settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
any_shape = xps.array_shapes(min_dims=0, min_side=0)
any_array = xps.arrays(xps.scalar_dtypes(), any_shape) | xps.arrays(xps.complex_dtypes(), any_shape)


@CONFIGURED
@given(any_array, st.data())
def test_indices(x, data):
    index = data.draw(xps.indices(x.shape, allow_newaxis=True))
    found = x[index]
    assert isinstance(found, ag.Variable)
    np.testing.assert_array_equal(found.numpy(), x.numpy()[index])


@CONFIGURED
@given(any_array, st.sampled_from([None, True, False]), st.sampled_from([None, (0, 8), (1, 0)]))
def test_dlpack(x, copy, version):
    assert x.__dlpack__(max_version=version, dl_device=(1, 0), copy=copy) is not None
    for device in (None, x.device):
        y = ag.from_dlpack(x, device=device, copy=copy)
        assert y.device == x.device
        np.testing.assert_array_equal(y.numpy(), x.numpy())
        assert np.shares_memory(y.value, x.value) == (copy is not True and x.size > 0)


@CONFIGURED
@given(any_array)
def test_round_trips(x):
    listed = ag.reshape(ag.asarray(x.tolist(), dtype=x.dtype), x.shape)  # [] has no shape (0, 3)
    np.testing.assert_array_equal(listed.numpy(), x.numpy())
    np.testing.assert_array_equal(ag.stack(ag.unstack(x[None, ...]))[0, ...].numpy(), x.numpy())
