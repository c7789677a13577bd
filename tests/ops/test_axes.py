"""Axes in every way that NumPy takes them: its own integers, and the axis 0 of a number."""

import numpy as np
import pytest

import autograd_gpu as ag

X = np.random.default_rng(0).normal(size=(3, 4))

ONE_AXIS = {
    "concat": lambda x, axis: ag.concat([x, x * x], axis=axis),
    "cumulative_prod": lambda x, axis: ag.cumulative_prod(x, axis=axis),
    "cumulative_sum": lambda x, axis: ag.cumulative_sum(x, axis=axis),
    "diff": lambda x, axis: ag.diff(x, axis=axis),
    "expand_dims": lambda x, axis: ag.expand_dims(x, axis=axis),
    "fft": lambda x, axis: ag.real(ag.fft.fft(x, axis=axis)),
    "rfft": lambda x, axis: ag.imag(ag.fft.rfft(x, axis=axis)),
    "softmax": lambda x, axis: ag.softmax(x, axis=axis),
    "sort": lambda x, axis: ag.sort(x, axis=axis),
    "stack": lambda x, axis: ag.stack([x, x * x], axis=axis),
    "take": lambda x, axis: ag.take(x, np.array([1, 0]), axis=axis),
}
SOME_AXES = {
    "average": lambda x, axis: ag.average(x, axis=axis),
    "fftn": lambda x, axis: ag.real(ag.fft.fftn(x, axes=axis)),
    "fftshift": lambda x, axis: ag.fft.fftshift(x, axes=axis),
    "flip": lambda x, axis: ag.flip(x, axis=axis),
    "logsumexp": lambda x, axis: ag.logsumexp(x, axis=axis),
    "max": lambda x, axis: ag.max(x, axis=axis),
    "mean": lambda x, axis: ag.mean(x, axis=axis),
    "moveaxis": lambda x, axis: ag.moveaxis(x, axis, axis),
    "prod": lambda x, axis: ag.prod(x, axis=axis),
    "squeeze": lambda x, axis: ag.squeeze(x[:1, :1], axis=axis),
    "std": lambda x, axis: ag.std(x, axis=axis),
    "sum": lambda x, axis: ag.sum(x, axis=axis),
    "vector_norm": lambda x, axis: ag.linalg.vector_norm(x, axis=axis),
}
PAIRS = [(0, np.int64(0)), (-1, np.int32(-1)), (1, np.uint8(1))]
CASES = [(f, a, b) for f in (*ONE_AXIS.values(), *SOME_AXES.values()) for a, b in PAIRS]
CASES += [(f, (0, 1), (np.int64(0), np.int8(1))) for f in SOME_AXES.values()]


def derivatives(function):
    """The value, and Jacobians of function and gradient in both modes."""

    def loss(x):
        return ag.sum(ag.sin(function(x)))

    yield function(ag.Variable(X)).numpy()
    for mode in ("reverse", "forward"):
        yield ag.jacobian(function, mode=mode)(X)
        yield ag.jacobian(ag.grad(loss), mode=mode)(X)


@pytest.mark.parametrize(("function", "axis", "same"), CASES)
def test_integers_of_numpy(function, axis, same):
    pairs = zip(*[derivatives(lambda x, a=a: function(x, a)) for a in (axis, same)], strict=True)
    for got, want in pairs:
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def test_axes_of_numpy_integers_name_pairs_and_weights():
    one = np.int64(1)
    want = ag.tensordot(X, X.T, 1).numpy()
    for axes in (one, (one, np.int64(0)), np.array([[1], [0]])):
        np.testing.assert_array_equal(ag.tensordot(ag.Variable(X), X.T, axes).numpy(), want)
    weights = np.arange(4.0)
    want = np.average(X, 1, weights)
    np.testing.assert_allclose(ag.average(X, one, weights).numpy(), want, rtol=1e-12)
    np.testing.assert_allclose(ag.apply_over_axes(ag.sum, X, one).numpy(), X.sum(1, keepdims=True))


@pytest.mark.parametrize("dtype", ["float16", "float64"])
@pytest.mark.parametrize("axis", [0, -1, (0,), (-1,)])
@pytest.mark.parametrize(
    "name", ["sum", "mean", "prod", "max", "min", "var", "std", "logsumexp", "nansum", "nanmean"]
)
def test_the_axis_of_a_number(name, axis, dtype):
    """NumPy reduces a number over axis 0; then its derivatives are those over no axes."""
    x = np.array(1.5, dtype)

    def reduced(x, axis=axis):
        return getattr(ag, name)(x, axis=axis)

    try:
        want = np.asarray(reduced(ag.Variable(x)).value)
    except IndexError:
        pytest.skip("the value is an error too")
    got = [ag.grad(reduced)(x), ag.jacobian(reduced)(x), ag.jacobian(reduced, mode="forward")(x)]
    expected = 0.0 if name in ("var", "std") else 1.0
    assert want.shape == ()
    assert [float(g) for g in got] == [expected] * 3
    assert float(ag.grad(ag.grad(reduced))(x)) == 0


def test_nothing_to_go_along():
    for f in (ag.cumulative_sum, ag.cumulative_prod):
        with pytest.raises(ValueError, match="at least one axis"):
            f(ag.Variable(2.0), axis=0)
