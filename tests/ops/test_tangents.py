"""Forward mode and batches of every primitive on its samples, against reverse mode."""

import numpy as np
import pytest
from samples import SAMPLES
from samples.calling import call, differentiable, in_depth, in_dtype, missing, variables
from samples.products import check_batches, check_second_order, check_tangents

import autograd_gpu as ag
from autograd_gpu.backend import load_backend
from autograd_gpu.primitive import PRIMITIVES, primitive


def samples(condition=lambda sample: True):
    """Runs a test on the samples that have derivatives and for which the condition holds."""
    chosen = [
        pytest.param(name, sample, id=f"{name}-{i}-{sample.label}")
        for name, mine in SAMPLES.items()
        for i, sample in enumerate(mine)
        if differentiable(name, sample) and condition(sample)
    ]
    return pytest.mark.parametrize(("name", "sample"), chosen)


@pytest.fixture(params=ag.available_backends())
def backend(request, name, sample):
    chosen = load_backend(request.param)
    if not in_depth(request.config, name, sample, chosen):
        pytest.skip("on CuPy the first sample of an op stands for all, unless --full is given")
    if reason := missing(name, chosen):
        pytest.skip(reason)
    return chosen


def recorded(name, sample, operands, backend):
    """The outputs that have derivatives, and the operands that they depend on."""
    needs = differentiable(name, sample)
    xs = variables(operands, needs, backend)
    ys = [y for y in call(name, xs, sample.statics, backend) if y.grad_fn is not None]
    return ys, [xs[i] for i in needs]


@samples()
def test_tangents_agree_with_gradients(name, sample, backend, record_property):
    dtypes = [("float64", 1e-9)]
    if sample.check and backend.name == "numpy":
        dtypes.append(("float32", 1e-4))
    for dtype, tolerance in dtypes:
        operands = in_dtype(sample, dtype)
        if operands is None:
            continue
        with np.errstate(all="ignore"):
            ys, xs = recorded(name, sample, operands, backend)
            record_property("proofs", check_tangents(ys, xs, backend, tolerance))


@samples(lambda sample: sample.second and sample.check)
def test_tangents_can_be_differentiated(name, sample, record_property):
    numpy = load_backend("numpy")
    ys, xs = recorded(name, sample, sample.operands, numpy)
    record_property("proofs", check_second_order(ys, xs, numpy))


@samples()
def test_batches_agree_with_one_after_the_other(name, sample, backend, record_property):
    with np.errstate(all="ignore"):
        ys, xs = recorded(name, sample, sample.operands, backend)
        record_property("proofs", check_batches(ys, xs, backend))


# Declarations ---------------------------------------------------------------------------------


def test_what_is_declared_is_checked_at_the_definition():
    with pytest.raises(TypeError, match=r"'twice': 'diagonal' is no rule for tangents"):

        @primitive(x=lambda g: 2 * g, tangent="diagonal")
        def twice(xp, x):
            return 2 * x

    with pytest.raises(TypeError, match=r"names \['axis'\], which its derivative does not"):

        @primitive(x=lambda g: 2 * g, tangent=lambda t, axis: 2 * t)
        def twice(xp, x, *, axis=0):
            return 2 * x

    with pytest.raises(TypeError, match=r"needs \['n'\], which the derivative for 'x' does not"):

        @primitive(x=lambda g: 2 * g, tangent="linear")
        def twice(xp, x, *, n):
            return 2 * x

    with pytest.raises(TypeError, match=r"tangents are for \['a'\], derivatives for \['a', 'b'\]"):

        @primitive(a=lambda g: g, b=lambda g: g, tangent={"a": "elementwise"})
        def plus(xp, a, b):
            return a + b

    assert "twice" not in PRIMITIVES


def test_nothing_is_saved_for_tangents():
    node = PRIMITIVES["sum"].node_type
    assert set(node.__slots__) == {"s_x_shape", "s_axis", "s_keepdims"}
