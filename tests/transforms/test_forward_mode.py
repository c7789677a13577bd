"""jvp: tangents carried along, nested, and without a graph."""

import tracemalloc
import weakref

import numpy as np
import pytest
from operands import leaf

import autograd_gpu as ag
from autograd_gpu.modes import levels, watching

x3 = np.array([0.5, -1.0, 2.0])
ones = np.ones(3)
one = np.array(1.0)


def along(f, x=x3, v=ones):
    """The derivative of `f` at `x` along `v`."""
    return ag.jvp(f, x, v)[1]


def cubic(x):
    return ag.sum(x * x * ag.roll(x, 1))


# No graph -------------------------------------------------------------------------------------


def test_memory_does_not_grow_with_the_number_of_ops():
    x = np.full(10_000, 0.5)

    def chain(x):
        for _ in range(200):
            x = ag.sin(x) * 1.01
        return x

    along(chain, x, x)
    tracemalloc.start()
    along(chain, x, x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * x.nbytes


def test_intermediate_values_go_as_soon_as_nobody_holds_them():
    gone = []

    def f(x):
        y = ag.tanh(x)
        gone.append(weakref.ref(y.grad_fn))
        z = y * y
        del y
        assert gone[0]() is None
        return z

    along(f)


def test_nothing_stays_switched_on():
    def fails(x):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ag.jvp(fails, x3, ones)
    assert (levels.get(), watching) == ((), [])


def test_a_value_kept_from_one_run_is_a_constant_in_the_next():
    kept = []

    def f(x):
        kept.append(x * x)
        return kept[0] * x

    np.testing.assert_array_equal(along(f), 3 * x3**2)
    np.testing.assert_array_equal(along(f), x3**2)


def test_gradients_by_what_has_no_graph_are_refused():
    with pytest.raises(RuntimeError, match="use grad or vjp there"):
        along(lambda x: ag.gradients(ag.sum(x * x), x))
    with pytest.raises(RuntimeError, match="use grad or vjp there"):
        along(lambda x: ag.gradients(ag.sum((y := ag.sin(x)) * x), y, allow_unused=True))


def test_gradients_by_other_leaves_have_tangents():
    w = leaf([1.0, 2.0, 3.0])
    dg = along(lambda x: ag.gradients(ag.sum(w * w * x), w, create_graph=True))
    np.testing.assert_array_equal(dg.numpy(), 2 * w.value)
    ag.sum(dg).backward()
    np.testing.assert_array_equal(w.grad, [2.0, 2.0, 2.0])


# Nesting --------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", range(1, 5))
def test_to_any_order(order):
    f = lambda x: x**6  # noqa: E731
    for _ in range(order):
        f = (lambda g: lambda x: along(g, x, one))(f)
    expected = np.prod([6.0 - k for k in range(order)]) * 1.3 ** (6 - order)
    np.testing.assert_allclose(f(np.array(1.3)), expected)


INNER = {
    "jvp": lambda f, x: along(f, x, one),
    "grad": lambda f, x: ag.grad(f)(x),
    "jacobian": lambda f, x: ag.jacobian(f)(x),
    "forward": lambda f, x: ag.jacobian(f, mode="forward")(x),
}


@pytest.mark.parametrize("outer", INNER)
@pytest.mark.parametrize("inner", INNER)
def test_no_perturbation_confusion(inner, outer):
    # the classic: d/dx (x * d/dy (x + y)) = 1
    assert INNER[outer](lambda x: x * INNER[inner](lambda y: x + y, one), one) == 1.0
    # d/dx (x * d/dy (x * y) at y = x) = 2 x
    assert INNER[outer](lambda x: x * INNER[inner](lambda y: x * y, x), np.array(3.0)) == 6.0
    # d/dx d/dy x y^2 at y = x^2: 6 x^2 with the dependence of y
    f = lambda x: INNER[inner](lambda y: x * y * y, x * x)  # noqa: E731
    np.testing.assert_allclose(INNER[outer](f, np.array(3.0)), 54.0)


@pytest.mark.parametrize("a", INNER)
@pytest.mark.parametrize("b", INNER)
def test_three_deep(a, b):
    # d/dx (x d/dy (y d/dz (x y z))) = d/dx (x d/dy (x y^2)) = d/dx (2 x^2 y)
    f = lambda x: x * INNER[a](lambda y: y * INNER[b](lambda z: x * y * z, one), one)  # noqa: E731
    np.testing.assert_allclose(along(f, np.array(3.0), one), 12.0)
    np.testing.assert_allclose(ag.grad(f)(np.array(3.0)), 12.0)


def test_forward_over_reverse_and_reverse_over_forward():
    h = ag.hessian(cubic)(x3)
    v = np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(along(ag.grad(cubic), x3, v), h @ v)
    np.testing.assert_allclose(ag.grad(lambda x: along(cubic, x, v))(x3), h @ v)
    np.testing.assert_allclose(along(lambda x: along(cubic, x, v), x3, v), v @ h @ v)
    np.testing.assert_allclose(ag.jacobian(ag.grad(cubic), mode="forward")(x3), h)


def test_tangents_of_an_outer_leaf():
    w, v = leaf(x3), leaf(ones)
    dy = along(lambda x: w * x * x, x3, v)
    ag.sum(dy).backward()
    np.testing.assert_array_equal(w.grad, 2 * x3)
    np.testing.assert_array_equal(v.grad, 2 * w.value * x3)


def test_no_grad_and_detach_make_constants():
    w = leaf(x3)
    with ag.no_grad():
        dy = along(lambda x: w * x)
    assert type(dy) is np.ndarray
    np.testing.assert_array_equal(along(lambda x: x * x.detach()), x3)

    def f(x):
        with ag.no_grad():
            y = x * x
        return y * x

    np.testing.assert_array_equal(along(f), x3**2)


# Users of graphs within -----------------------------------------------------------------------


def deep(x):
    for _ in range(3):
        x = ag.tanh(x * 1.5)
    return x


CHECKPOINTED = {
    "argument": (lambda x: ag.checkpoint(deep, x), deep),
    "capture": (lambda x: ag.checkpoint(lambda: deep(x) * x), lambda x: deep(x) * x),
    "both": (lambda x: ag.checkpoint(lambda t: deep(t) * ag.sin(x), x * x),
             lambda x: deep(x * x) * ag.sin(x)),
    "twice": (lambda x: ag.checkpoint(lambda t: ag.checkpoint(deep, t) * x, x),
              lambda x: deep(x) * x),
}  # fmt: skip


@pytest.mark.parametrize("name", CHECKPOINTED)
def test_checkpoints(name):
    f, plain = CHECKPOINTED[name]
    np.testing.assert_allclose(along(f), along(plain))
    np.testing.assert_allclose(
        along(lambda x: along(f, x)), along(lambda x: along(plain, x)), rtol=1e-10
    )
    total = lambda h: lambda x: ag.sum(along(h, x))  # noqa: E731
    np.testing.assert_allclose(ag.grad(total(f))(x3), ag.grad(total(plain))(x3), rtol=1e-10)
    np.testing.assert_allclose(
        along(ag.grad(lambda x: ag.sum(f(x)))), along(ag.grad(lambda x: ag.sum(plain(x))))
    )


def test_fused_functions():
    @ag.fuse
    def swish(x):
        return x * ag.sigmoid(x)

    plain = lambda x: x * ag.sigmoid(x)  # noqa: E731
    np.testing.assert_allclose(along(swish), along(plain))
    np.testing.assert_allclose(ag.jacobian(swish)(x3), ag.jacobian(plain)(x3), atol=1e-15)


def test_ops_with_several_outputs():
    a = np.array([[2.0, 1.0], [0.5, 3.0]])
    v = np.array([[1.0, 0.0], [-1.0, 2.0]])
    eps = 1e-6
    (q, r), (dq, dr) = ag.jvp(lambda x: tuple(ag.linalg.qr(x)), (a,), (v,))
    np.testing.assert_allclose(dq @ r + q @ dr, v, atol=1e-12)
    _, dd = ag.jvp(lambda x: ag.linalg.slogdet(x)[1], (a,), (v,))
    numeric = np.linalg.slogdet(a + eps * v)[1] - np.linalg.slogdet(a - eps * v)[1]
    np.testing.assert_allclose(dd, numeric / (2 * eps), rtol=1e-8)
    np.testing.assert_array_equal(along(lambda x: ag.split(x, [1])[1]), [1.0, 1.0])


def test_structures():
    p = {"a": x3, "b": (2 * x3, None)}
    v = {"a": ones, "b": (0 * ones, None)}
    y, dy = ag.jvp(lambda p: {"y": p["a"] * p["b"][0], "n": 3.0}, (p,), (v,))
    np.testing.assert_array_equal(dy["y"], 2 * x3)
    assert (y["n"], dy["n"]) == (3.0, 0.0)


def test_anomaly_mode_and_nan_safety_go_on():
    with ag.detect_anomaly():
        np.testing.assert_array_equal(along(ag.grad(lambda x: ag.sum(x**3))), 6 * x3)


# Errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "v", "error", "match"),
    [
        (x3, np.ones(2), ValueError, r"jvp: array 0 has shape \(2,\), the shape \(3,\) is needed"),
        (x3, ones.astype("float32"), TypeError, "jvp: array 0 has dtype float32"),
        ((x3, x3), (ones,), ValueError, "jvp: 1 arrays were given for 2"),
        (np.arange(3), np.arange(3), TypeError, "by an argument of dtype int64 is not defined"),
    ],
)
def test_refusals(x, v, error, match):
    with pytest.raises(error, match=match):
        ag.jvp(lambda *xs: xs[0] * 2.0, x, v)


def test_an_error_in_a_rule_names_the_op():
    class Wrong(ag.Function):
        def forward(self, x):
            return x * 2

        def jvp(self, t):
            return t[:1]

    with pytest.raises(ValueError, match=r"jvp of Wrong returned .* \(1,\)") as caught:
        along(Wrong.apply)
    assert "raised in forward mode, at Wrong" in caught.value.__notes__


def test_arguments_and_tangents_live_on_one_backend():
    cupy = pytest.importorskip("cupy")
    if "cupy" not in ag.available_backends():
        pytest.skip("no device")
    with pytest.raises(TypeError, match="jvp: an argument and its tangent"):
        ag.jvp(lambda x: x * 2.0, cupy.ones(3), ones)
