"""grad and value_and_grad, on functions of arrays, Variables and nested structures."""

import numpy as np
import pytest
from operands import leaf

import autograd_gpu as ag

x3 = np.array([0.5, -1.0, 2.0])


def test_arrays_in_arrays_out():
    g = ag.grad(lambda x: ag.sum(x**3))(x3)
    assert type(g) is np.ndarray
    np.testing.assert_allclose(g, 3 * x3**2)
    value, g = ag.value_and_grad(lambda x: ag.sum(x**2))(x3)
    assert type(value) is np.ndarray
    assert value == (x3**2).sum()
    np.testing.assert_allclose(g, 2 * x3)


def test_variables_in_variables_out():
    g = ag.grad(lambda x: ag.sum(x**3))(ag.Variable(x3))
    assert isinstance(g, ag.Variable)
    assert not g.requires_grad
    value, _ = ag.value_and_grad(lambda x: ag.sum(x))(ag.Variable(x3))
    assert isinstance(value, ag.Variable)
    assert not value.requires_grad


def test_a_variable_that_requires_a_gradient_keeps_the_graph():
    x = leaf(x3)
    g = ag.grad(lambda x: ag.sum(x**3))(x)
    assert x.grad is None
    ag.sum(g).backward()
    np.testing.assert_allclose(x.grad, 6 * x3)


@pytest.mark.parametrize("order", range(1, 6))
def test_nesting_to_any_order(order):
    f, expected = (lambda x: x**6), 6
    for _ in range(order):
        f = ag.grad(f)
    for k in range(1, order):
        expected *= 6 - k
    x = np.array(1.3)
    np.testing.assert_allclose(f(x), expected * x ** (6 - order))


def test_an_inner_gradient_that_closes_over_outer_variables_stays_connected():
    # d/dx of d/dy (x y^2) at y=2 is 2 y
    outer = ag.grad(lambda x: ag.grad(lambda y: x * y * y)(np.array(2.0)))
    assert outer(np.array(3.0)) == 4.0
    # and with the inner argument depending on x: d/dx of x * 2 * x^2 = 6 x^2
    outer = ag.grad(lambda x: ag.grad(lambda y: x * y * y)(x * x))
    np.testing.assert_allclose(outer(np.array(3.0)), 6 * 9.0)


def test_no_perturbation_confusion():
    # the classic: d/dx (x * d/dy (x + y)) = 1
    f = ag.grad(lambda x: x * ag.grad(lambda y: x + y)(np.array(1.0)))
    assert f(np.array(1.0)) == 1.0


def test_a_closed_over_leaf_gets_a_gradient():
    w = leaf(2.0)
    g = ag.grad(lambda x: w * x * x)(np.array(3.0))
    assert isinstance(g, ag.Variable)
    g.backward()
    assert w.grad == 6.0


def test_no_grad_cuts_the_connection():
    w = leaf(2.0)
    with ag.no_grad():
        g = ag.grad(lambda x: w * x * x)(np.array(3.0))
    assert type(g) is np.ndarray
    assert g == 12.0
    assert ag.is_grad_enabled()


def test_argnums():
    def f(a, b, scale=1.0):
        return ag.sum(a * b) * scale

    a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    np.testing.assert_array_equal(ag.grad(f, 1)(a, b), a)
    np.testing.assert_array_equal(ag.grad(f, -1)(a, b), a)
    both = ag.grad(f, (0, 1))(a, b, scale=2.0)
    assert isinstance(both, tuple)
    np.testing.assert_array_equal(both[0], 2 * b)
    np.testing.assert_array_equal(both[1], 2 * a)
    with pytest.raises(ValueError, match="argnums: 2 is out of range for 2 arguments"):
        ag.grad(f, 2)(a, b)


TRANSFORMS = ["grad", "value_and_grad", "elementwise_grad", "jacobian", "hessian", "hvp"]


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize(
    "argnums",
    [np.ones(3), ag.Variable(np.ones(3)), np.array([0, 1]), 0.5, "x", None, [np.ones(3)], {}],
    ids=str,
)
def test_an_argument_given_as_argnums(name, argnums):
    with pytest.raises(TypeError, match=rf"^{name}\(f, argnums?\): write {name}\(f\)\(x"):
        getattr(ag, name)(lambda x: ag.sum(x * x), argnums)


@pytest.mark.parametrize("name", [*TRANSFORMS, "vjp", "jvp", "checkpoint", "fuse", "compile"])
def test_a_value_given_as_the_function(name):
    given = [3.0, 1.0] if name == "jvp" else []
    with pytest.raises(
        TypeError, match=rf"^{name}: write {name}\(f.* with a function f, not Variable float32\[2\]"
    ):
        getattr(ag, name)(ag.Variable([1.0, 2.0]), *given)


def test_argnums_that_are_no_python_ints():
    x = np.array([1.0, 2.0])
    for argnums in (np.int64(1), np.array(1)):
        np.testing.assert_array_equal(ag.grad(lambda a, b: ag.sum(a * b), argnums)(x, 2 * x), x)
    first, second = ag.grad(lambda a, b: ag.sum(a * b), range(2))(x, 2 * x)
    np.testing.assert_array_equal([first, second], [2 * x, x])
    first, second = ag.grad(lambda a, b: ag.sum(a * b), [np.int64(0), 1])(x, 2 * x)
    np.testing.assert_array_equal([first, second], [2 * x, x])


def test_nested_structures():
    params = {"w": np.array([1.0, 2.0]), "layers": [(np.array(3.0), None), np.array(4.0)]}

    def loss(p):
        return ag.sum(p["w"] ** 2) + p["layers"][0][0] * p["layers"][1]

    g = ag.grad(loss)(params)
    np.testing.assert_array_equal(g["w"], [2.0, 4.0])
    assert g["layers"][0] == (4.0, None)
    assert g["layers"][1] == 3.0


def test_aux():
    def f(x):
        y = x * x
        return ag.sum(y), {"y": y, "n": 3}

    (value, aux), g = ag.value_and_grad(f, has_aux=True)(x3)
    assert value == (x3**2).sum()
    assert aux["n"] == 3
    assert type(aux["y"]) is np.ndarray
    np.testing.assert_allclose(g, 2 * x3)
    with pytest.raises(TypeError, match="pair"):
        ag.value_and_grad(ag.sum, has_aux=True)(x3)


def test_what_does_not_depend_on_the_argument_has_gradient_zero():
    np.testing.assert_array_equal(ag.grad(lambda x: 1.0)(x3), np.zeros(3))
    w = leaf(1.0)
    np.testing.assert_array_equal(raw(ag.grad(lambda x: w * 1.0)(x3)), np.zeros(3))
    a, b = ag.grad(lambda a, b: ag.sum(a), (0, 1))(x3, x3)
    np.testing.assert_array_equal(a, np.ones(3))
    np.testing.assert_array_equal(b, np.zeros(3))


def raw(x):
    return x.value if isinstance(x, ag.Variable) else x


def test_refusals():
    with pytest.raises(ValueError, match=r"needs a scalar, .* returned an array of shape \(3,\)"):
        ag.grad(lambda x: x * 2.0)(x3)
    with pytest.raises(TypeError, match="complex"):
        ag.grad(lambda x: ag.sum(x))(x3 * 1j)
    with pytest.raises(TypeError, match="int64"):
        ag.grad(lambda x: ag.sum(x))(np.arange(3))
    with pytest.raises(TypeError, match="returned tuple"):
        ag.grad(lambda x: (x, x))(np.array(1.0))
    assert ag.is_grad_enabled()


def test_no_gradient_is_left_behind():
    x = leaf(x3)
    ag.grad(lambda x: ag.sum(x * x))(x)
    ag.jacobian(lambda x: x * x)(x)
    assert x.grad is None


def test_float32_stays():
    assert ag.grad(lambda x: ag.sum(x * x))(x3.astype(np.float32)).dtype == np.float32
