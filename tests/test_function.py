"""Function: what users' ops may do, and what is refused."""

import gc
import weakref

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu.function import Function
from autograd_gpu.grad_check import grad_check


def leaf(value, dtype=np.float64):
    return ag.Variable(np.array(value, dtype=dtype), requires_grad=True)


class Cube(Function):
    """Saves its input."""

    def forward(self, x, *, scale=1.0):
        self.save(x)
        self.scale = scale
        return scale * x**3

    def backward(self, g):
        (x,) = self.saved
        return 3 * self.scale * g * x * x


class Exp(Function):
    """Saves its output."""

    def forward(self, x):
        y = np.exp(x)
        self.save(y)
        return y

    def backward(self, g):
        (y,) = self.saved
        return g * y


class Product(Function):
    """Two inputs; keeps only what is needed."""

    def forward(self, a, b):
        self.save(a if self.needs_input_grad[1] else None, b if self.needs_input_grad[0] else None)
        return a * b

    def backward(self, g):
        a, b = self.saved
        return (
            g * b if self.needs_input_grad[0] else None,
            g * a if self.needs_input_grad[1] else None,
        )


class Pair(Function):
    """Two outputs, both saved."""

    def forward(self, x, y):
        outputs = np.tanh(x), np.tanh(y)
        self.save(*outputs)
        return outputs

    def backward(self, g):
        a, b = self.saved
        return g[0] * (1 - a * a), g[1] * (1 - b * b)


class PlainSquare(Function):
    """Keeps its input as a member."""

    def forward(self, x):
        self.x = x
        return x * x

    def backward(self, g):
        return 2 * self.x * g


@pytest.fixture
def collector_off():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


# Values and gradients ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "shapes"),
    [
        (Cube.apply, [(3,)]),
        (lambda x: Cube.apply(x, scale=2.5), [(2, 2)]),
        (Exp.apply, [()]),
        (Product.apply, [(3,), (3,)]),
        (Pair.apply, [(3,), (2,)]),
        (lambda x, y: Pair.apply(x, y)[1], [(3,), (2,)]),
    ],
)
def test_every_order_of_derivative(f, shapes):
    rng = np.random.default_rng(0)
    assert grad_check(f, [rng.uniform(0.5, 1.5, shape) for shape in shapes], order=3)


def test_the_node_is_named_after_the_class():
    y = Cube.apply(leaf(2.0))
    assert y.grad_fn.name == "Cube"
    assert repr(y.grad_fn) == "<FunctionNode Cube>"


def test_forward_gets_raw_arrays_and_other_objects_as_they_are():
    seen = []

    class Look(Function):
        def forward(self, *arrays, **params):
            seen.extend(arrays)
            seen.append(params)
            return arrays[0]

        def backward(self, g):
            return (g, *[None] * 4)

    x = leaf([1.0])
    Look.apply(x, np.ones(2), 3, None, (1, 2), k="v").backward()
    assert seen[0] is x.value
    assert isinstance(seen[1], np.ndarray)
    assert seen[2:] == [3, None, (1, 2), {"k": "v"}]
    assert x.grad == 1.0


def test_only_numbers_become_arrays():
    assert Cube.apply(2.0).value == 8.0
    assert isinstance(Cube.apply(2.0).value, np.ndarray)


def test_forward_records_nothing_and_may_use_the_library():
    class Inside(Function):
        def forward(self, x):
            assert not ag.is_grad_enabled()
            self.save(x)
            return ag.tanh(ag.Variable(x))

        def backward(self, g):
            t = ag.tanh(self.saved[0])
            return g * (1 - t * t)

    x = leaf([0.3, 0.4])
    y = Inside.apply(x)
    assert y.grad_fn.name == "Inside"
    assert ag.is_grad_enabled()
    assert grad_check(Inside.apply, x)


def test_needs_input_grad():
    a, b = leaf([2.0]), np.array([3.0])
    y = Product.apply(a, b)
    assert y.grad_fn.function.needs_input_grad == (True, False)
    assert y.grad_fn.function.saved == (None, b)
    y.backward()
    assert a.grad == 3.0


def test_gradients_asks_only_for_what_is_wanted():
    asked = []

    class Ask(Function):
        def forward(self, a, b):
            return a + b

        def backward(self, g):
            asked.append(self.needs_input_grad)
            return g, g

    a, b = leaf(1.0), leaf(2.0)
    ag.gradients(Ask.apply(a, b), b)
    Ask.apply(a, b).backward()
    assert asked == [(False, True), (True, True)]


def test_several_outputs_get_zeros_where_no_gradient_arrived():
    seen = []

    class Three(Function):
        def forward(self, x):
            return x, 2 * x, np.arange(3)

        def backward(self, g):
            seen.extend(g)
            return g[0] + 2 * g[1]

    x = leaf([1.0, 2.0])
    first, second, third = Three.apply(x)
    assert not third.requires_grad
    assert third.grad_fn is None
    second.backward(np.array([1.0, 10.0]))
    np.testing.assert_array_equal(seen[0], [0.0, 0.0])
    np.testing.assert_array_equal(x.grad, [2.0, 20.0])
    assert first.shape == (2,)


def test_a_tuple_of_one_output_stays_a_tuple():
    class One(Function):
        def forward(self, x):
            return (x * 2,)

        def backward(self, g):
            return g[0] * 2

    (y,) = One.apply(leaf(1.0))
    y.backward()
    assert y.grad_fn.next_functions[0].name == "One"


def test_an_integer_output_is_a_leaf():
    class Sign(Function):
        def forward(self, x):
            return (x > 0).astype(np.int64)

    y = Sign.apply(leaf([1.0, -1.0]))
    assert not y.requires_grad


def test_none_is_no_gradient():
    class Stop(Function):
        def forward(self, x, y):
            return x + y

        def backward(self, g):
            return g, None

    a, b = leaf(1.0), leaf(2.0)
    Stop.apply(a, b).backward()
    assert a.grad == 1.0
    assert b.grad is None


def test_an_input_may_be_returned_and_keeps_its_value():
    class Reverse(Function):
        def forward(self, x):
            return x

        def backward(self, g):
            return -g

    x = leaf([1.0, 2.0])
    y = Reverse.apply(x)
    y.backward(np.ones(2))
    np.testing.assert_array_equal(x.grad, [-1.0, -1.0])


def test_no_grad_and_plain_inputs_record_nothing():
    with ag.no_grad():
        assert Cube.apply(leaf(2.0)).grad_fn is None
    assert Cube.apply(np.array(2.0)).grad_fn is None
    with ag.no_grad():
        a, b = Pair.apply(leaf(2.0), leaf(1.0))
    assert a.grad_fn is None
    assert b.is_leaf


def test_dtypes():
    x = leaf([1.0, 2.0], np.float32)
    y = Cube.apply(x)
    assert y.dtype == np.float32
    y.backward(np.ones(2, np.float32))
    assert x.grad.dtype == np.float32


def test_complex():
    class Square(Function):
        def forward(self, x):
            self.save(x)
            return x * x

        def backward(self, g):
            return g * 2 * np.conj(self.saved[0]) if isinstance(g, np.ndarray) else None

    assert grad_check(Square.apply, np.array([1.0 + 2.0j, -0.5j]))


# Memory --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("collector_off")
@pytest.mark.parametrize("op", [Cube, Exp, PlainSquare])
def test_release_frees_the_function_and_what_it_saved(op):
    x = leaf([1.0, 2.0, 3.0])
    y = op.apply(x)
    function = weakref.ref(y.grad_fn.function)
    y.backward(np.ones(3))
    assert function() is None
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        y.backward(np.ones(3))


@pytest.mark.usefixtures("collector_off")
@pytest.mark.parametrize("op", [Cube, Exp, PlainSquare])
def test_dropping_the_result_frees_the_graph(op):
    y = op.apply(leaf([1.0]))
    node, function = weakref.ref(y.grad_fn), weakref.ref(y.grad_fn.function)
    del y
    assert node() is None
    assert function() is None


@pytest.mark.usefixtures("collector_off")
def test_create_graph_makes_no_cycle():
    x = leaf([1.0])
    y = Exp.apply(x)
    function = weakref.ref(y.grad_fn.function)
    dx = ag.gradients(y, x, create_graph=True)
    ddx = ag.gradients(dx, x)
    assert ddx.value == y.value
    del y, dx, ddx
    assert function() is None


@pytest.mark.usefixtures("collector_off")
def test_several_outputs_are_freed_too():
    a, b = Pair.apply(leaf([1.0]), leaf([1.0]))
    function = weakref.ref(a.grad_fn.next_functions[0].function)
    del a
    assert function() is not None
    del b
    assert function() is None


def test_retain_graph_runs_twice():
    x = leaf(2.0)
    y = PlainSquare.apply(x)
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad == 8.0


# Differentiating twice -----------------------------------------------------------------------


def test_plain_members_are_fine_once():
    x = leaf([1.0, 2.0])
    assert grad_check(PlainSquare.apply, x)
    dx = ag.gradients(PlainSquare.apply(x), x, np.ones(2), create_graph=True)
    np.testing.assert_array_equal(dx.value, [2.0, 4.0])


def test_plain_members_refuse_a_second_derivative():
    x = leaf(3.0)
    dx = ag.gradients(PlainSquare.apply(x), x, create_graph=True)
    with pytest.raises(RuntimeError, match=r"PlainSquare can't be differentiated twice.*self\.x"):
        ag.gradients(dx, x)
    dx = ag.gradients(PlainSquare.apply(x * x), x, create_graph=True)
    with pytest.raises(RuntimeError, match=r"self\.save"):
        dx.backward()


def test_plain_members_allow_the_derivative_by_the_cotangent():
    x, g = leaf([3.0, 4.0]), leaf([1.0, 1.0])
    dx = ag.gradients(PlainSquare.apply(x), x, g, create_graph=True)
    np.testing.assert_array_equal(ag.gradients(dx, g, np.ones(2)).value, [6.0, 8.0])


@pytest.mark.parametrize("hide", [lambda x: [x], lambda x: {"a": (x,)}, ag.Variable])
def test_arrays_are_found_in_containers(hide):
    class Hidden(Function):
        def forward(self, x):
            self.kept = hide(2 * x)
            return x * x

        def backward(self, g):
            kept = self.kept
            while not hasattr(kept, "dtype"):
                kept = kept["a"] if isinstance(kept, dict) else kept[0]
            return g * kept

    x = leaf(3.0)
    dx = ag.gradients(Hidden.apply(x), x, create_graph=True)
    assert dx.value == 6.0
    with pytest.raises(RuntimeError, match=r"self\.kept"):
        ag.gradients(dx, x)


def test_a_saved_intermediate_is_not_connected():
    class Between(Function):
        def forward(self, x):
            double = 2 * x
            self.save(double)
            return x * x

        def backward(self, g):
            return g * self.saved[0]

    x = leaf(3.0)
    dx = ag.gradients(Between.apply(x), x, create_graph=True)
    with pytest.raises(RuntimeError, match=r"self\.saved\[0\]"):
        ag.gradients(dx, x)


def test_masks_parameters_and_constants_may_be_members():
    class Masked(Function):
        def forward(self, x, w, *, table):
            self.save(x)
            self.mask = x > 0
            self.w = w
            self.table = table
            return np.where(self.mask, w * table * x**2, 0)

        def backward(self, g):
            (x,) = self.saved
            return 2 * g * x * (self.mask * self.w * self.table), None

    w, table = np.array([2.0, 3.0]), np.array([0.5, 0.25])
    assert grad_check(lambda x: Masked.apply(x, w, table=table), np.array([1.5, -2.0]), order=2)


def test_slots_are_members_too():
    class Slotted(Function):
        __slots__ = ("x",)

        def forward(self, x):
            self.x = x
            return x * x

        def backward(self, g):
            return 2 * g * self.x

    x = leaf(3.0)
    dx = ag.gradients(Slotted.apply(x), x, create_graph=True)
    with pytest.raises(RuntimeError, match=r"self\.x"):
        ag.gradients(dx, x)


def test_a_plain_array_under_create_graph_is_not_connected():
    class Detached(Function):
        def forward(self, x):
            self.save(x)
            return x * x

        def backward(self, g):
            (x,) = self.saved
            raw = x.value if isinstance(x, ag.Variable) else x
            return 2 * raw * (g.value if isinstance(g, ag.Variable) else g)

    x = leaf(3.0)
    dx = ag.gradients(Detached.apply(x), x, create_graph=True)
    assert dx.value == 6.0
    with pytest.raises(RuntimeError, match="plain array for input 0"):
        ag.gradients(dx, x)


def test_two_inputs_that_share_an_array_are_told_apart():
    class Second(Function):
        def forward(self, a, b):
            self.save(b)
            return a * b

        def backward(self, g):
            (b,) = self.saved
            return g * b, None

    x = leaf(3.0)
    dx = ag.gradients(Second.apply(x, x.detach()), x, create_graph=True)
    assert not dx.requires_grad


def test_the_sum_of_a_function_and_an_op_differentiates_twice():
    x = leaf([0.5, -0.5])
    assert grad_check(lambda x: Exp.apply(Cube.apply(x)) * ag.tanh(x), x, order=2)


# What is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize(
    ("wrong", "kind", "message"),
    [
        (lambda g: g, ValueError, "Broken returned 1 gradients for 2 inputs"),
        (lambda g: (g, g, g), ValueError, "Broken returned 3 gradients for 2 inputs"),
        (
            lambda g: (g, np.ones((2, 1))),
            ValueError,
            r"Broken for input 1 returned a gradient of shape \(2, 1\); the shape is \(2,\)",
        ),
        (lambda g: (g, np.ones(())), ValueError, r"input 1 .*shape \(\); the shape is \(2,\)"),
        (lambda g: (np.ones((3, 2)), g), ValueError, r"input 0 .*\(3, 2\); the shape is \(2,\)"),
        (lambda g: (g, np.ones(2, np.float32)), TypeError, "input 1 .*float32.*float64"),
        (lambda g: (g, np.ones(2, complex)), TypeError, "input 1 .*complex128.*float64"),
        (lambda g: (g, "text"), TypeError, "input 1 returned str"),
        (lambda g: (g, 1.0), TypeError, "input 1 returned float"),
    ],
)
def test_wrong_gradients_are_refused(wrong, kind, message, create_graph):
    class Broken(Function):
        def forward(self, *arrays):
            return arrays[0] * 1.0

        def backward(self, g):
            return wrong(g)

    inputs = [leaf(np.ones(2)) for _ in range(2)]
    y = Broken.apply(*inputs)
    with pytest.raises(kind, match=message):
        ag.gradients(y, inputs, np.ones(2), create_graph=create_graph)
    assert ag.is_grad_enabled()


def test_a_failed_forward_leaves_the_mode_and_names_itself():
    class Fails(Function):
        def forward(self, x):
            raise KeyError("inside")

    with pytest.raises(KeyError, match="inside") as caught:
        Fails.apply(leaf(1.0))
    assert ag.is_grad_enabled()
    assert caught.value.__notes__ == ["raised in the forward of Fails"]
    with ag.no_grad():
        with pytest.raises(KeyError):
            Fails.apply(leaf(1.0))
        assert not ag.is_grad_enabled()


def test_a_failed_backward_names_itself():
    class Fails(Function):
        def forward(self, x):
            return x * 1.0

        def backward(self, g):
            raise KeyError("inside")

    x = leaf(1.0)
    with pytest.raises(KeyError) as caught:
        Fails.apply(x).backward()
    assert "Fails" in caught.value.__notes__[0]
    assert x.grad is None


def test_a_missing_forward_or_backward():
    class Empty(Function):
        pass

    class OneWay(Function):
        def forward(self, x):
            return x * 1.0

    with pytest.raises(NotImplementedError, match="Empty defines no forward"):
        Empty.apply(leaf(1.0))
    with pytest.raises(NotImplementedError, match="OneWay defines no backward"):
        OneWay.apply(leaf(1.0)).backward()


@pytest.mark.parametrize("value", [None, "text", {"a": 1}, (None,)])
def test_outputs_are_arrays(value):
    class Odd(Function):
        def forward(self, x):
            return value

    with pytest.raises(TypeError, match="Odd: forward returned"):
        Odd.apply(leaf(1.0))


def test_no_output_is_refused():
    class Nothing(Function):
        def forward(self, x):
            return ()

    with pytest.raises(ValueError, match="Nothing: forward returned no output"):
        Nothing.apply(leaf(1.0))


def test_gradients_that_would_be_lost_are_refused():
    x = leaf(2.0)
    with pytest.raises(TypeError, match=r"Cube\.apply: argument 'scale' .*positional"):
        Cube.apply(x, scale=leaf(1.0))
    with pytest.raises(TypeError, match="one by one"):
        Cube.apply([x, x])
    with ag.no_grad():
        assert Cube.apply(x, scale=leaf(2.0)).value == 16.0
    assert Cube.apply(x, scale=ag.Variable(np.array(2.0))).value == 16.0


def test_scalar_results_are_arrays():
    class Total(Function):
        def forward(self, x):
            return x.sum()

        def backward(self, g):
            return g * np.ones(3) if isinstance(g, np.ndarray) else g * ag.Variable(np.ones(3))

    x = leaf([1.0, 2.0, 3.0])
    y = Total.apply(x)
    assert type(y.value) is np.ndarray
    y.backward()
    np.testing.assert_array_equal(x.grad, np.ones(3))


def test_hooks_work_on_the_node():
    x = leaf(2.0)
    y = Cube.apply(x)
    y.grad_fn.register_prehook(lambda g: g * 10)
    y.backward()
    assert x.grad == 120.0
