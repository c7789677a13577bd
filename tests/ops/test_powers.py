"""x ** y: the operator and the two ways that it takes."""

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu.backend import load_backend


class Foreign:
    def __rpow__(self, other):
        return "mine"


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 0.5, -1, 2.0, -0.5, 7])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "int8", "int64"])
def test_a_number_as_exponent_gives_the_dtype_and_value_of_numpy(exponent, dtype):
    x = np.array([1, 2, 3], dtype)
    if exponent == -1 and x.dtype.kind == "i":
        with pytest.raises(ValueError, match="power_number"):
            ag.Variable(x) ** exponent
        return
    y = ag.Variable(x) ** exponent
    assert y.dtype == (x**exponent).dtype
    np.testing.assert_allclose(y.numpy(), x**exponent, rtol=1e-3 if dtype == "float16" else 1e-6)


def test_a_number_as_exponent_saves_no_exponent_array():
    x = ag.Variable([1.0], requires_grad=True)
    assert (x**2).grad_fn.name == "power_number"
    assert (x ** ag.Variable(2.0)).grad_fn.name == "power"
    assert (2.0**x).grad_fn.name == "power"
    assert ag.pow(x, 2).grad_fn.name == "power_number"


def test_number_to_a_variable():
    x = ag.Variable(3.0, requires_grad=True)
    y = 2**x
    assert y.item() == 8
    y.backward()
    assert x.grad.dtype == np.float32
    np.testing.assert_allclose(x.grad, 8 * np.log(2), rtol=1e-6)


def test_foreign_operands_get_their_turn():
    x = ag.Variable([1.0])
    assert x ** Foreign() == "mine"
    with pytest.raises(TypeError):
        x ** object()


def test_second_derivatives_at_zero():
    x = ag.Variable([0.0, 0.0, 0.0], requires_grad=True)
    for y, expected in ((x**2, 2), (x**3, 0), (x**0, None), (x ** np.full(3, 2.0, "f4"), 2)):
        (g,) = ag.gradients(y, [x], [np.ones(3, "f4")], create_graph=True)
        if expected is None:
            np.testing.assert_array_equal(g.numpy(), 0)
        else:
            (gg,) = ag.gradients(g, [x], [np.ones(3, "f4")])
            np.testing.assert_array_equal(gg.numpy(), expected)


@pytest.mark.parametrize("exponent", [2.5, 3.5, 4.5])
def test_higher_derivatives_at_zero_of_powers_that_a_root_computes(exponent):
    x = ag.Variable(np.zeros(1), requires_grad=True)
    g = x**exponent
    for _ in range(int(exponent)):
        g = ag.gradients(g, x, create_graph=True)
        np.testing.assert_array_equal(g.numpy(), 0)


def test_a_complex_power_of_negative_numbers():
    a, b = np.array([-1.5, 2.0]), np.array([0.5 + 1j, 1 - 2j])
    ag.grad_check(lambda a, b: a**b, [a, b], order=2)


@pytest.mark.parametrize("backend", ["numpy", "cupy"])
@pytest.mark.parametrize("name", ["atan2", "copysign", "hypot", "nextafter"])
@pytest.mark.parametrize("first", [1.0, 1j])
def test_complex_numbers_are_refused_by_a_type_error(backend, name, first):
    if backend not in ag.available_backends():
        pytest.skip("no GPU and not run with --cupy-on-cpu")
    b = load_backend(backend).asarray([1j, 2.0])
    with pytest.raises(TypeError, match=rf"^{name}\(a: .*, b: complex128\[2\]\): "):
        getattr(ag, name)(first, ag.Variable(b))
