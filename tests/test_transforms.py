"""grad and its relatives, on functions of arrays, Variables and nested structures."""

import gc
import weakref

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu.graph import Node


def leaf(value):
    return ag.Variable(np.array(value, dtype=np.float64), requires_grad=True)


x3 = np.array([0.5, -1.0, 2.0])


# grad and value_and_grad ---------------------------------------------------------------------


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


# vjp and jvp ---------------------------------------------------------------------------------


def mix(a, b):
    return a * ag.sin(b), ag.sum(a * a)


def test_vjp():
    a, b = np.array([1.0, 2.0]), np.array([0.3, 0.4])
    y, pull = ag.vjp(mix, a, b)
    np.testing.assert_allclose(y[0], a * np.sin(b))
    for _ in range(2):  # as often as you like
        ga, gb = pull((np.array([1.0, 10.0]), np.array(2.0)))
        np.testing.assert_allclose(ga, np.array([1.0, 10.0]) * np.sin(b) + 4 * a)
        np.testing.assert_allclose(gb, np.array([1.0, 10.0]) * a * np.cos(b))
    with pytest.raises(ValueError, match="1 arrays were given for 2"):
        pull((np.ones(2),))
    with pytest.raises(ValueError, match=r"array 0 has shape \(3,\)"):
        pull((np.ones(3), np.array(1.0)))


def test_vjp_of_a_scalar_takes_a_number():
    _, pull = ag.vjp(lambda x: x * x, np.array(3.0))
    assert pull(1.0) == (6.0,)


def test_vjp_is_differentiable():
    x, g = leaf(x3), leaf([1.0, 2.0, 3.0])
    _, pull = ag.vjp(lambda x: x**3, x)
    (gx,) = pull(g)
    ag.sum(gx).backward()
    np.testing.assert_allclose(x.grad, 6 * x3 * g.value)
    np.testing.assert_allclose(g.grad, 3 * x3**2)


def test_jvp():
    a, b = np.array([1.0, 2.0]), np.array([0.3, 0.4])
    va, vb = np.array([1.0, -1.0]), np.array([0.5, 2.0])
    y, dy = ag.jvp(mix, (a, b), (va, vb))
    np.testing.assert_allclose(y[1], 5.0)
    np.testing.assert_allclose(dy[0], va * np.sin(b) + vb * a * np.cos(b))
    np.testing.assert_allclose(dy[1], 2 * (a * va).sum())
    y, dy = ag.jvp(lambda x: x * x, x3, np.ones(3))
    np.testing.assert_allclose(dy, 2 * x3)


def test_jvp_of_constants_and_linear_functions():
    _, dy = ag.jvp(lambda x: np.ones(2), x3, np.ones(3))
    np.testing.assert_array_equal(dy, np.zeros(2))
    _, dy = ag.jvp(lambda x: 2.0 * x, x3, x3)
    np.testing.assert_allclose(dy, 2 * x3)


def test_jvp_is_differentiable():
    x = leaf(x3)
    _, dy = ag.jvp(lambda x: x**3, (x,), (np.ones(3),))
    ag.sum(dy).backward()
    np.testing.assert_allclose(x.grad, 6 * x3)
    # forward over forward
    _, ddy = ag.jvp(lambda x: ag.jvp(lambda t: t**3, x, np.ones(3))[1], x3, np.ones(3))
    np.testing.assert_allclose(ddy, 6 * x3)


def test_jvp_with_complex_numbers():
    z, v = np.array([1.0 + 2.0j]), np.array([0.5 - 1.0j])
    _, dy = ag.jvp(lambda z: z * z, z, v)
    np.testing.assert_allclose(dy, 2 * z * v)
    _, dy = ag.jvp(lambda z: ag.real(z * ag.conj(z)), z, v)
    np.testing.assert_allclose(dy, 2 * (np.conj(z) * v).real)


# Jacobians -----------------------------------------------------------------------------------


def test_jacobian():
    a = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(ag.jacobian(lambda x: a @ x)(x3), a)
    j = ag.jacobian(lambda x: ag.sin(x))(a)
    assert j.shape == (2, 3, 2, 3)
    np.testing.assert_allclose(j.reshape(6, 6), np.diag(np.cos(a).ravel()))
    assert ag.jacobian(lambda x: ag.sum(x))(x3).shape == (3,)
    assert ag.jacobian(lambda x: x[:0])(x3).shape == (0, 3)
    np.testing.assert_array_equal(ag.jacobian(lambda x: np.ones(2))(x3), np.zeros((2, 3)))


def test_jacobian_of_structures():
    j = ag.jacobian(lambda p: (p["a"] * p["b"], ag.sum(p["b"])))({"a": x3, "b": 2 * x3})
    np.testing.assert_allclose(j[0]["a"], np.diag(2 * x3))
    np.testing.assert_allclose(j[1]["b"], np.ones(3))
    np.testing.assert_array_equal(j[1]["a"], np.zeros(3))
    ja, jb = ag.jacobian(lambda a, b: a * b, (0, 1))(x3, 2 * x3)
    np.testing.assert_allclose(ja, np.diag(2 * x3))
    np.testing.assert_allclose(jb, np.diag(x3))


def test_jacobian_of_complex_functions():
    z = np.array([1.0 + 2.0j, 0.5j])
    np.testing.assert_allclose(ag.jacobian(lambda z: z * z)(z), np.diag(2 * z))
    np.testing.assert_allclose(ag.jacobian(lambda x: (1 + 2j) * x)(x3), (1 + 2j) * np.eye(3))


def quadratic_and_more(x):
    return ag.sum(x * x * ag.roll(x, 1)) + ag.sum(ag.exp(x))


def test_hessian_and_hvp():
    h = ag.hessian(quadratic_and_more)(x3)
    eps = 1e-5
    numeric = np.array(
        [
            (ag.grad(quadratic_and_more)(x3 + e) - ag.grad(quadratic_and_more)(x3 - e)) / (2 * eps)
            for e in eps * np.eye(3)
        ]
    )
    np.testing.assert_allclose(h, numeric, rtol=1e-6)
    v = np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(ag.hvp(quadratic_and_more)(x3, v), h @ v)
    assert type(ag.hvp(quadratic_and_more)(x3, v)) is np.ndarray


def test_hvp_of_linear_and_constant_functions():
    np.testing.assert_array_equal(ag.hvp(ag.sum)(x3, x3), np.zeros(3))
    np.testing.assert_array_equal(ag.hvp(lambda x: 1.0)(x3, x3), np.zeros(3))


def test_hvp_is_differentiable():
    x = leaf(x3)
    ag.sum(ag.hvp(lambda x: ag.sum(x**4))(x, np.ones(3))).backward()
    np.testing.assert_allclose(x.grad, 24 * x3)


def test_hvp_of_structures_and_other_arguments():
    def f(p, k):
        return ag.sum(p["a"] * p["a"] * p["b"]) * k

    h = ag.hvp(f)({"a": x3, "b": 2 * x3}, 2.0, {"a": np.ones(3), "b": np.zeros(3)})
    np.testing.assert_allclose(h["a"], 8 * x3)
    np.testing.assert_allclose(h["b"], 4 * x3)


def test_elementwise_grad():
    d = ag.elementwise_grad
    np.testing.assert_allclose(d(ag.tanh)(x3), 1 - np.tanh(x3) ** 2)
    np.testing.assert_allclose(d(d(ag.sin))(x3), -np.sin(x3))
    with pytest.raises(TypeError, match="one array"):
        d(lambda x: (x, x))(x3)


def test_names_are_kept():
    def cube(x):
        """x to the third."""
        return x**3

    for transform in (ag.grad, ag.value_and_grad, ag.jacobian, ag.hessian, ag.elementwise_grad):
        assert transform(cube).__name__ == "cube"
        assert transform(cube).__doc__ == "x to the third."


# Against HIPS autograd -----------------------------------------------------------------------


PROGRAMS = {
    "polynomial": lambda np, x: np.sum(x**3 - 2 * x * x + 1),
    "softmax": lambda np, x: np.sum(np.exp(x) / np.sum(np.exp(x)) * np.arange(3.0)),
    "products": lambda np, x: np.sum(np.outer(x, np.sin(x)) ** 2),
    "branches": lambda np, x: np.sum(np.where(x > 0, x * x, np.exp(x))),
    "norm": lambda np, x: np.sqrt(np.sum(x * x)),
    "stack": lambda np, x: np.sum(np.stack([x, x * x]) * np.concatenate([x, x]).reshape(2, 3)),
    "einsum": lambda np, x: np.einsum("i,j,ij->", x, x, np.outer(x, np.cos(x))),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("transform", ["grad", "hessian", "jacobian"])
def test_agrees_with_hips_autograd(name, transform):
    hips = pytest.importorskip("autograd", reason="HIPS autograd is not installed")
    import autograd.numpy as anp

    f = PROGRAMS[name]
    expected = getattr(hips, transform)(lambda x: f(anp, x))(x3)
    found = getattr(ag, transform)(lambda x: f(np, x))(x3)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


# checkpoint ----------------------------------------------------------------------------------


@pytest.fixture
def collector_off():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def deep(x):
    for _ in range(4):
        x = ag.tanh(x * 1.5)
    return x


def test_checkpoint_gives_the_same_gradient():
    a, b = leaf(x3), leaf(x3)
    ya, yb = deep(a), ag.checkpoint(deep, b)
    assert yb.grad_fn.name == "checkpoint"
    np.testing.assert_array_equal(ya.value, yb.value)
    ag.sum(ya * ya).backward()
    ag.sum(yb * yb).backward()
    np.testing.assert_array_equal(a.grad, b.grad)


def test_checkpoint_of_captured_parameters():
    w, x = leaf([1.0, 2.0]), np.array([3.0, 4.0])
    ag.sum(ag.checkpoint(lambda x: w * w * x, x)).backward()
    np.testing.assert_array_equal(w.grad, 2 * w.value * x)


def test_checkpoint_of_captured_results():
    w, x = leaf(2.0), leaf(3.0)
    u = w * w
    v = u * w  # depends on u, which is captured too
    ag.checkpoint(lambda x: u * v * x, x).backward()
    assert w.grad == 5 * 2.0**4 * 3.0
    assert x.grad == 32.0


def test_hooks_on_what_is_captured_run_once():
    w = leaf(2.0)
    calls = []
    w.register_hook(calls.append)
    u = w * w
    u.register_hook(calls.append)
    ag.checkpoint(lambda: u * w).backward()
    assert len(calls) == 2
    assert w.grad == 12.0


def test_a_captured_variable_may_be_returned():
    w, x = leaf(2.0), leaf(3.0)
    u = w * w
    a, b, c = ag.checkpoint(lambda x: (u, x * u, w), x)
    (a + 10.0 * b + 100.0 * c).backward()
    assert w.grad == 4.0 + 10.0 * 3.0 * 4.0 + 100.0
    assert x.grad == 40.0


def test_checkpoint_keeps_structures_and_plain_outputs():
    x = leaf(x3)
    out = ag.checkpoint(lambda d, k: {"y": d["x"] * k, "n": 3, "p": d["x"].detach()}, {"x": x}, 2.0)
    assert out["n"] == 3
    assert not out["p"].requires_grad
    ag.sum(out["y"]).backward()
    np.testing.assert_array_equal(x.grad, np.full(3, 2.0))


def test_several_outputs_of_which_some_are_used():
    x = leaf(x3)
    a, _ = ag.checkpoint(lambda x: (x * x, ag.sin(x)), x)
    ag.sum(a).backward()
    np.testing.assert_allclose(x.grad, 2 * x3)


def test_nested_checkpoints():
    w = leaf(0.7)

    def outer(x):
        return ag.checkpoint(lambda y: ag.tanh(y * w), x * w) + x

    assert ag.grad_check(lambda x: ag.checkpoint(outer, x), x3, order=2)
    assert ag.grad_check_variables(lambda: ag.checkpoint(outer, x3), w, order=2)


def test_checkpoint_to_higher_orders():
    w = leaf(0.7)
    u = w * w
    assert ag.grad_check(lambda x: ag.checkpoint(lambda t: ag.sin(t) * t * u, x), x3, order=3)
    np.testing.assert_allclose(
        ag.hessian(lambda x: ag.sum(ag.checkpoint(deep, x)))(x3),
        ag.hessian(lambda x: ag.sum(deep(x)))(x3),
    )
    assert ag.grad_check_variables(lambda: ag.checkpoint(lambda t: t * w * (w * w), x3), w, order=3)


def test_gradients_inside_a_checkpoint():
    w = leaf(0.7)
    x = leaf(1.3)
    y = ag.checkpoint(lambda x: ag.grad(lambda t: w * t**3)(x), x)
    y.backward()
    np.testing.assert_allclose(x.grad, 6 * 0.7 * 1.3)
    np.testing.assert_allclose(w.grad, 3 * 1.3**2)


@pytest.mark.usefixtures("collector_off")
def test_nothing_inside_is_kept():
    inside = []

    def f(x):
        y = ag.tanh(x)
        inside.append(weakref.ref(y.grad_fn))
        return y * y

    x = leaf(x3)
    y = ag.checkpoint(f, x)
    assert [node() for node in inside] == [None]
    node: weakref.ref[Node] = weakref.ref(y.grad_fn)
    ag.sum(y).backward()
    assert [n() for n in inside] == [None, None]
    del y
    assert node() is None


def test_a_function_that_keeps_its_activations():
    kept = []

    def f(x):
        h = ag.tanh(x)
        kept.append(h)
        return h * h

    x = leaf(x3)
    ag.sum(ag.checkpoint(f, x)).backward()
    np.testing.assert_allclose(x.grad, 2 * np.tanh(x3) * (1 - np.tanh(x3) ** 2))


def test_a_function_that_changes_its_mind_is_refused():
    w, v, x = leaf(2.0), leaf(3.0), leaf(1.0)
    flags = [True, False]

    def f(x):
        return x * (w if flags.pop(0) else v)

    with pytest.raises(RuntimeError, match="the same thing each time"):
        ag.checkpoint(f, x).backward()


def test_checkpoint_without_anything_to_record():
    with ag.no_grad():
        assert ag.checkpoint(deep, leaf(x3)).is_leaf
    assert ag.checkpoint(deep, ag.Variable(x3)).is_leaf
    assert type(ag.checkpoint(lambda x: x * 2, x3)) is np.ndarray


def test_a_second_backward_needs_retain_graph():
    x = leaf(2.0)
    y = ag.checkpoint(deep, x)
    y.backward(retain_graph=True)
    once = x.grad.copy()
    y.backward()
    np.testing.assert_allclose(x.grad, 2 * once)
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        y.backward()


def test_a_chain_of_checkpoints():
    x = leaf(x3)
    y = x
    for _ in range(200):
        y = ag.checkpoint(lambda t: ag.tanh(t) + t * 0.1, y)
    ag.sum(y).backward()
    z = leaf(x3)
    y = z
    for _ in range(200):
        y = ag.tanh(y) + y * 0.1
    ag.sum(y).backward()
    np.testing.assert_allclose(x.grad, z.grad)


def test_dropout_in_a_checkpoint_draws_the_same_mask_again():
    functional = pytest.importorskip("autograd_gpu.nn.functional")
    x = leaf(np.ones(64))
    y = ag.checkpoint(lambda x: functional.dropout(x, 0.5, True) * x, x)
    z = functional.dropout(x.detach(), 0.5, True)
    ag.sum(y).backward()
    np.testing.assert_allclose(x.grad, 2 * y.value)
    after = functional.dropout(x.detach(), 0.5, True)
    assert not np.array_equal(z.value, after.value)


@pytest.mark.parametrize(
    "call",
    [
        lambda f, x, c: ag.checkpoint(f, x, c),
        lambda f, x, c: ag.checkpoint(f, x, c=c),
        lambda f, x, c: ag.checkpoint(f, c=c, x=x),
        lambda f, x, c: ag.checkpoint(lambda x, cs: f(x, cs[0]), x, [c]),
    ],
)
def test_a_checkpoint_does_not_see_arguments_that_changed_afterwards(call):
    x, c = leaf([1.0, 2.0]), ag.Variable(np.array([3.0, 4.0]))
    y = call(lambda x, c: x * x * c, x, c)
    c[0] = 100.0
    c += 1.0
    with ag.no_grad():
        x[:] = 50.0
    ag.sum(y).backward()
    np.testing.assert_array_equal(x.grad, [6.0, 16.0])


def test_a_checkpoint_does_not_keep_its_arguments():
    x = leaf([1.0, 2.0])
    inner = x * 2.0
    y = ag.checkpoint(ag.sin, inner)
    gone = weakref.ref(inner)
    del inner
    assert gone() is None
    ag.sum(y).backward()
    np.testing.assert_allclose(x.grad, 2 * np.cos([2.0, 4.0]))


# Values that change ---------------------------------------------------------------------------


def scale_first(x):
    x[0] = 5.0
    x *= 2.0
    return ag.sum(x * x)


@pytest.mark.parametrize(
    "derivative",
    [
        lambda f, x: ag.grad(f)(x),
        lambda f, x: ag.value_and_grad(f)(x)[1],
        lambda f, x: ag.vjp(f, x)[1](1.0)[0],
        lambda f, x: ag.jacobian(f)(x),
    ],
)
def test_a_function_may_change_its_argument(derivative):
    x = leaf([1.0, 2.0, 3.0])
    g = derivative(scale_first, x)
    np.testing.assert_array_equal(g.numpy(), [0.0, 16.0, 24.0])
    np.testing.assert_array_equal(x.numpy(), [1.0, 2.0, 3.0])
    ag.sum(g).backward()
    np.testing.assert_array_equal(x.grad, [0.0, 8.0, 8.0])


def test_products_of_a_function_that_changes_its_argument():
    x, v = leaf([1.0, 2.0, 3.0]), np.ones(3)
    np.testing.assert_array_equal(ag.hvp(scale_first)(x, v).numpy(), [0.0, 8.0, 8.0])
    y, dy = ag.jvp(scale_first, (x,), (v,))
    assert (y.item(), dy.item()) == (152.0, 40.0)


def test_results_share_memory_with_nothing_that_counts():
    x, g = np.array([1.0, 2.0]), np.ones(2)
    y, pull = ag.vjp(lambda x: ag.exp(x), x)
    expected = y.copy()
    y *= 100.0
    np.testing.assert_array_equal(pull(g)[0], expected)
    y, pull = ag.vjp(lambda x: x, x)
    y *= 100.0
    np.testing.assert_array_equal(x, [1.0, 2.0])
    assert not np.shares_memory(pull(g)[0], g)
    a, b = ag.grad(lambda x, y: ag.sum(x + y), (0, 1))(x, x)
    a *= 2.0
    np.testing.assert_array_equal(b, [1.0, 1.0])
    y, dy = ag.jvp(lambda x: x, x, g)
    assert not np.shares_memory(y, x)
    assert not np.shares_memory(dy, g)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda x, v: ag.vjp(lambda x: x * 2, x)[1](v), "pull: array 0 has dtype float32.*float64"),
        (lambda x, v: ag.jvp(lambda x: x * 2, x, v), "jvp: array 0 has dtype float32.*float64"),
        (lambda x, v: ag.hvp(ag.sum)(x, v), "hvp: array 0 has dtype float32.*float64"),
    ],
)
def test_vectors_of_another_dtype_are_refused(call, match):
    with pytest.raises(TypeError, match=match):
        call(np.ones(2), np.ones(2, np.float32))
