"""jacobian, hessian, hvp and elementwise_grad."""

import numpy as np
import pytest
from operands import leaf

import autograd_gpu as ag

x3 = np.array([0.5, -1.0, 2.0])


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


# Both modes, in batches -----------------------------------------------------------------------

BOTH = pytest.mark.parametrize("mode", ["reverse", "forward"])


def several(p):
    y = ag.sin(p["a"][:, None] * p["b"]) @ p["b"]
    return {"y": y, "n": (ag.sum(y * y), ag.max(p["a"])), "constant": 2.0, "b": p["b"]}


@BOTH
@pytest.mark.parametrize("largest", [1, 7, 2**22])
def test_modes_agree_however_large_a_batch_is(mode, largest, monkeypatch):
    p = {"a": np.array([0.5, -1.0]), "b": x3}
    expected = ag.jacobian(several)(p)
    monkeypatch.setattr("autograd_gpu.transforms.jacobians.LARGEST", largest)
    found = ag.jacobian(several, mode=mode)(p)
    for a, b in zip(leaves(found), leaves(expected), strict=True):
        assert type(a) is np.ndarray
        np.testing.assert_allclose(a, b, atol=1e-14)
    assert found["y"]["a"].shape == (2, 2)
    np.testing.assert_array_equal(found["b"]["b"], np.eye(3))
    np.testing.assert_array_equal(found["constant"]["b"], np.zeros(3))


def leaves(tree):
    if isinstance(tree, dict):
        return [x for key in sorted(tree) for x in leaves(tree[key])]
    return [x for item in tree for x in leaves(item)] if isinstance(tree, tuple) else [tree]


@BOTH
def test_modes_agree_on_complex_functions(mode):
    z = np.array([1.0 + 2.0j, 0.5j])
    np.testing.assert_allclose(ag.jacobian(lambda z: z**3, mode=mode)(z), np.diag(3 * z**2))
    found = ag.jacobian(lambda z: ag.real(z * ag.conj(z)), mode=mode)(z)
    np.testing.assert_allclose(found, np.diag(2 * z))
    found = ag.jacobian(lambda x: ag.exp(1j * x), mode=mode)(x3)
    np.testing.assert_allclose(found, np.diag(1j * np.exp(1j * x3)))


@BOTH
def test_jacobians_that_are_differentiated_again(mode):
    x = leaf(x3)
    ag.sum(ag.jacobian(lambda x: x**3, mode=mode)(x)).backward()
    np.testing.assert_allclose(x.grad, 6 * x3)
    w = leaf(2.0)
    j = ag.jacobian(lambda x: w * x * x, mode=mode)(x3)
    np.testing.assert_allclose(j.numpy(), np.diag(4 * x3))
    ag.sum(j).backward()
    np.testing.assert_allclose(w.grad, 2 * x3.sum())
    third = ag.jacobian(ag.jacobian(ag.jacobian(lambda x: ag.sum(x**4), mode=mode)), mode=mode)
    np.testing.assert_allclose(third(x3)[0, 0, 0], 24 * x3[0])


@BOTH
def test_user_functions_get_one_row_after_the_other(mode):
    shapes = []

    class Cube(ag.Function):
        def forward(self, x):
            self.save(x)
            return np.power(x, 3)

        def backward(self, g):
            (x,) = self.saved
            shapes.append(g.shape)
            return 3 * np.square(x) * g

        def jvp(self, t):
            (x,) = self.saved
            shapes.append(t.shape)
            return 3 * np.square(x) * t

    np.testing.assert_allclose(ag.jacobian(Cube.apply, mode=mode)(x3), np.diag(3 * x3**2))
    assert shapes == [(3,)] * 3


@BOTH
def test_checkpoints_in_batches(mode):
    f = lambda x: ag.tanh(x * x[::-1])  # noqa: E731
    found = ag.jacobian(lambda x: ag.checkpoint(f, x), mode=mode)(x3)
    np.testing.assert_allclose(found, ag.jacobian(f, mode=mode)(x3))


def test_the_graph_is_run_once_for_all_rows():
    runs = []

    def f(x):
        y = ag.sin(x)
        y.register_hook(lambda g: runs.append(type(g).__name__))
        return y * 2.0

    ag.jacobian(f, mode="reverse")(x3)
    assert runs == ["Batched"]


def test_modes_that_look_at_gradients_see_one_row_at_a_time():
    runs = []

    def f(x):
        y = ag.sin(x)
        y.register_hook(lambda g: runs.append(type(g).__name__))
        return y * 2.0

    with ag.detect_anomaly():
        ag.jacobian(f, mode="reverse")(x3)
    assert runs == ["ndarray"] * 3


def test_auto_goes_forward_for_tall_jacobians():
    runs = []

    def f(x):
        x.register_hook(runs.append)
        return x * np.ones((4, 1))

    assert ag.jacobian(f)(x3).shape == (4, 3, 3)
    assert not runs
    ag.jacobian(lambda x: ag.sum(f(x)))(x3)
    assert runs


def test_float32_stays_in_both_modes():
    x = x3.astype("float32")
    for mode in ("reverse", "forward"):
        assert ag.jacobian(lambda x: ag.exp(x) * 2, mode=mode)(x).dtype == np.float32
    assert ag.hessian(quadratic_and_more)(x).dtype == np.float32


def test_results_are_the_callers_own():
    j = ag.jacobian(lambda x: (x, x), mode="forward")(x3)
    j[0][0, 0] = 7.0
    assert j[1][0, 0] == 1.0


def test_jacobian_refusals():
    with pytest.raises(ValueError, match="mode is 'auto', 'forward' or 'reverse', not 'both'"):
        ag.jacobian(ag.sin, mode="both")
    with pytest.raises(TypeError, match="dtype int64"):
        ag.jacobian(ag.sin)(np.arange(3))
