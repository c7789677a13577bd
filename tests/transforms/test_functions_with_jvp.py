"""jvp through user-defined Functions, with a `jvp` of their own and without."""

import numpy as np
import pytest

import autograd_gpu as ag

x3 = np.array([0.5, -1.0, 2.0])
ones = np.ones(3)


def along(f, *xs):
    return ag.jvp(f, xs, tuple(np.ones_like(x) for x in xs))[1]


class Product(ag.Function):
    """x * y and x / y; what it kept is connected."""

    calls: list[str] = []  # noqa: RUF012

    def forward(self, x, y):
        self.save(x, y)
        return x * y, x / y

    def backward(self, g):
        self.calls.append("backward")
        x, y = self.saved
        a, b = g
        return a * y + b / y, a * x - b * x / y**2


class WithJvp(Product):
    calls: list[str] = []  # noqa: RUF012

    def jvp(self, dx, dy):
        self.calls.append("jvp")
        x, y = self.saved
        first, second = 0 * x, 0 * x
        if dx is not None:
            first, second = dx * y, dx / y
        if dy is not None:
            first, second = first + dy * x, second - dy * x / y**2
        return first, second


@pytest.fixture(autouse=True)
def _no_calls():
    Product.calls.clear()
    WithJvp.calls.clear()


@pytest.mark.parametrize("function", [Product, WithJvp])
def test_several_outputs_and_orders(function):
    f = function.apply
    y3 = x3 + 3
    a, b = along(f, x3, y3)
    np.testing.assert_allclose(a, x3 + y3)
    np.testing.assert_allclose(b, 1 / y3 - x3 / y3**2)
    (only,) = along(lambda x: f(x, y3)[1:], x3)
    np.testing.assert_allclose(only, 1 / y3)
    # to the second order, in every combination
    second = 2 * x3 / y3**3 - 2 / y3**2
    total = lambda x, y: ag.sum(f(x, y)[1])  # noqa: E731
    np.testing.assert_allclose(along(lambda *xs: along2(lambda *v: f(*v)[1], *xs), x3, y3), second)
    g = along(ag.grad(total, (0, 1)), x3, y3)
    np.testing.assert_allclose(g[0] + g[1], second)
    h = ag.grad(lambda x, y: ag.sum(along2(lambda *v: f(*v)[1], x, y)), (0, 1))(x3, y3)
    np.testing.assert_allclose(h[0] + h[1], second)


def along2(f, *xs):
    return ag.jvp(f, xs, tuple(np.ones(3) for _ in xs))[1]


def test_its_own_jvp_is_what_runs():
    along(WithJvp.apply, x3, x3 + 3)
    assert WithJvp.calls == ["jvp"]
    along(Product.apply, x3, x3 + 3)
    assert Product.calls == ["backward"]


def test_tangents_that_are_missing_are_none():
    seen = []

    class Sum(ag.Function):
        def forward(self, x, y):
            return x + y

        def jvp(self, *tangents):
            seen.append(tangents)
            return next(t for t in tangents if t is not None)

    along(lambda x: Sum.apply(x3, x), x3)
    assert seen[0][0] is None
    np.testing.assert_array_equal(seen[0][1], ones)


def test_what_the_graph_knows_nothing_of_is_not_differentiated():
    class Cube(ag.Function):
        def forward(self, x):
            self.x = x
            return x**3

        def jvp(self, t):
            return 3 * self.x**2 * t

    np.testing.assert_array_equal(along(Cube.apply, x3), 3 * x3**2)
    x = ag.Variable(x3, requires_grad=True)
    dy = ag.jvp(Cube.apply, x, ag.Variable(ones))[1]
    with pytest.raises(RuntimeError, match=r"Cube can't be differentiated twice: .*self\.x"):
        ag.sum(dy).backward()


def test_plain_arrays_under_create_graph_are_not_differentiated():
    class Twice(ag.Function):
        def forward(self, x):
            return 2 * x

        def jvp(self, t):
            return 2 * np.asarray(getattr(t, "value", t))

    x = ag.Variable(x3, requires_grad=True)
    dy = ag.jvp(Twice.apply, x, ag.Variable(ones))[1]
    with pytest.raises(RuntimeError, match="its jvp returned a plain array"):
        ag.sum(dy).backward()


@pytest.mark.parametrize(
    ("returned", "error", "match"),
    [
        (lambda t: t[:2], ValueError, r"the jvp of F returned .* shape \(2,\)"),
        (lambda t: t.astype("float32"), TypeError, "the jvp of F returned .* dtype float32"),
        (lambda t: 1.0, TypeError, "the jvp of F returned float"),
    ],
)
def test_what_jvp_returns_is_checked(returned, error, match):
    class F(ag.Function):
        def forward(self, x):
            return x * 2

        def jvp(self, t):
            return returned(t)

    with pytest.raises(error, match=match):
        along(F.apply, x3)


def test_the_number_of_tangents_is_checked():
    class F(ag.Function):
        def forward(self, x):
            return x, x * 2

        def jvp(self, t):
            return t

    with pytest.raises(ValueError, match="the jvp of F must return 2 tangents"):
        along(F.apply, x3)


def test_grad_check_finds_a_wrong_jvp():
    class Cube(ag.Function):
        factor = 3

        def forward(self, x):
            self.save(x)
            return x**3

        def backward(self, g):
            (x,) = self.saved
            return 3 * x * x * g

        def jvp(self, t):
            (x,) = self.saved
            return self.factor * x * x * t

    assert ag.grad_check(Cube.apply, x3, order=2, forward=True)
    w = ag.Variable(x3, requires_grad=True)
    assert ag.grad_check_variables(lambda: Cube.apply(w) * w, w, forward=True)
    assert ag.grad_check(lambda z: ag.exp(z) * ag.conj(z), x3 * (1 + 2j), forward=True)
    Cube.factor = 2
    assert ag.grad_check(Cube.apply, x3)
    with pytest.raises(ag.GradCheckError, match="input 0, in a random direction: forward mode"):
        ag.grad_check(Cube.apply, x3, forward=True)
