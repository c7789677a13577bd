"""How a forward and its derivatives become a recorded op."""

import inspect

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu.codegen import direct
from autograd_gpu.operands import ForeignOperand
from autograd_gpu.primitive import PRIMITIVES, primitive


@pytest.fixture
def fresh():
    """Ops defined in a test do not stay in the table."""
    before = set(PRIMITIVES)
    yield
    for name in set(PRIMITIVES) - before:
        del PRIMITIVES[name]


def leaf(value):
    return ag.Variable(np.asarray(value, dtype=np.float64), requires_grad=True)


def saved(node):
    return {x[2:] for x in type(node).__slots__ if hasattr(node, x)}


def test_nothing_is_saved_that_no_derivative_needs():
    a, b = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    constant = ag.Variable([1.0, 1.0])
    assert saved((a * b).grad_fn) == {"a", "b"}
    assert saved((a * constant).grad_fn) == {"b"}
    assert saved((constant * a).grad_fn) == {"a"}
    assert saved((a + b).grad_fn) == set()
    assert saved(ag.tanh(a).grad_fn) == {"y"}


def test_a_saved_output_is_the_result_itself_and_makes_no_cycle():
    y = ag.tanh(leaf([1.0]))
    assert y.grad_fn.s_y is y.value


def test_an_unknown_name_fails_at_the_definition():
    with pytest.raises(TypeError, match=r"op 'bad'.*names unknown \['z'\]"):

        @primitive(x=lambda g, z: g * z)
        def bad(xp, x):
            return x


def test_a_derivative_for_no_operand_fails_at_the_definition():
    with pytest.raises(TypeError, match="'bad': a derivative for 'q', which is no operand"):

        @primitive(q=lambda g: g)
        def bad(xp, x, *, axis=None):
            return x


def test_an_op_cannot_be_defined_twice():
    with pytest.raises(TypeError, match="'add' is defined twice"):

        @primitive(a=lambda g: g)
        def add(xp, a):
            return a


def test_static_parameters_shapes_and_defaults(fresh):
    @primitive(x=lambda xp, g, x_shape, factor: xp.reshape(g * factor, x_shape))
    def scaled(xp, x, *, factor=3.0):
        return xp.reshape(x * factor, (-1,))

    x = leaf([[1.0, 2.0]])
    scaled(x).sum().backward()
    np.testing.assert_array_equal(x.grad, [[3.0, 3.0]])
    x.grad = None
    scaled(x, 2.0).sum().backward()
    scaled(x, factor=2.0).sum().backward()
    np.testing.assert_array_equal(x.grad, [[4.0, 4.0]])
    assert str(inspect.signature(scaled)) == "(x, /, factor=3.0)"


def test_derivatives_in_another_order_than_operands(fresh):
    @primitive(b=lambda g, a: g * a, a=lambda g, b: g * b)
    def swapped(xp, a, b):
        return xp.multiply(a, b) + 0

    a, b = leaf(2.0), leaf(3.0)
    swapped(a, b).backward()
    assert (a.grad, b.grad) == (3.0, 2.0)
    assert ag.gradients(swapped(a, 5.0), a).item() == 5.0


def test_optional_operands(fresh):
    @primitive(x=lambda g: g, bias=lambda g: g)
    def shifted(xp, x, bias=None):
        return x + 0 if bias is None else x + bias

    x, b = leaf([1.0, 2.0]), leaf(1.0)
    shifted(x).sum().backward()
    np.testing.assert_array_equal(x.grad, [1.0, 1.0])
    shifted(x, b).sum().backward()
    assert b.grad == 2.0
    with pytest.raises(TypeError, match="shifted"):
        shifted(None)


def test_several_operands_in_a_sequence(fresh):
    calls = []

    def derivative(g, arrays_shape, needs):
        calls.append((arrays_shape, needs))
        return [g if need else None for need in needs]

    @primitive(arrays=derivative)
    def total(xp, *arrays):
        return sum(arrays[1:], start=arrays[0])

    x, y = leaf([1.0, 2.0]), leaf(3.0)
    total([x, np.ones(2), y]).sum().backward()
    np.testing.assert_array_equal(x.grad, [1.0, 1.0])
    assert y.grad == 2.0
    assert calls == [([(2,), (2,), ()], [True, False, True])]
    with pytest.raises(ValueError, match="at least one"):
        total([])


def test_several_outputs(fresh):
    @primitive(outputs=True, x=lambda g, y: g[0] * y[1] + g[1])
    def double_and_copy(xp, x):
        return x * 2, xp.full_like(x, 2.0)

    x = leaf([1.0, 2.0])
    double, two = double_and_copy(x)
    assert double.grad_fn.name == "select"
    (double * 1.0).sum().backward(retain_graph=True)
    np.testing.assert_array_equal(x.grad, [2.0, 2.0])
    x.grad = None
    (double + two).sum().backward()
    np.testing.assert_array_equal(x.grad, [3.0, 3.0])
    assert not double_and_copy(np.ones(2))[0].requires_grad


def test_derivatives_of_saved_operands_and_outputs_are_connected():
    x, w = leaf([0.5, 1.0]), leaf([2.0, 3.0])
    dx = ag.gradients((ag.tanh(x) * w).sum(), x, create_graph=True)
    dxx, dxw = ag.gradients(dx.sum(), [x, w])
    t = np.tanh(x.value)
    np.testing.assert_allclose(dxx.value, -2 * t * (1 - t * t) * w.value)
    np.testing.assert_allclose(dxw.value, 1 - t * t)


def test_python_numbers_are_weak_forward_and_backward():
    x = ag.Variable(np.ones(2, np.float32), requires_grad=True)
    seen = []
    y = 2.0 * x * 3.0 + 1
    y.register_hook(lambda g: seen.append(g.dtype))
    x.register_hook(lambda g: seen.append(g.dtype))
    assert y.dtype == np.float32
    y.sum().backward()
    assert seen == [np.float32, np.float32]


def test_dtypes_promote_as_in_numpy():
    f4, f8 = np.ones(2, np.float32), np.ones(2)
    assert ag.multiply(ag.Variable(f4), f8).dtype == np.float64
    assert ag.multiply(ag.Variable(f4), np.float64(2.0)).dtype == np.float64
    assert ag.multiply(ag.Variable(np.ones(2, np.int64)), 2).dtype == np.int64


def test_raw_arrays_and_lists_are_operands():
    x = leaf([1.0, 2.0])
    assert (x * np.array([2.0, 3.0])).tolist() == [2.0, 6.0]
    assert (x * [2.0, 3.0]).tolist() == [2.0, 6.0]
    assert ag.multiply(2.0, 3.0).item() == 6.0


def test_results_are_arrays_also_of_0d_operands():
    y = leaf(2.0) * leaf(3.0)
    assert type(y.value) is np.ndarray


class Foreign:
    def __radd__(self, other):
        return "foreign add"

    def __add__(self, other):
        return "foreign add"


def test_operators_leave_foreign_types_to_themselves():
    x = leaf([1.0])
    assert x + Foreign() == "foreign add"
    with pytest.raises(TypeError, match="unsupported operand"):
        _ = x * Foreign()
    with pytest.raises(ForeignOperand, match="add: expected Variables, arrays or numbers, got"):
        ag.add(x, Foreign())
    with pytest.raises(TypeError, match="NoneType|got None"):
        ag.add(x, None)


def test_errors_name_the_op_its_operands_and_parameters():
    a, b = leaf(np.ones((2, 3))), leaf(np.ones((4,)))
    with pytest.raises(ValueError, match=r"add\(a: float64\[2, 3\], b: float64\[4\]\): operands"):
        _ = a + b
    with pytest.raises(IndexError, match=r"sum\(x: float64\[2, 3\], axis=5.*\): axis 5"):
        a.sum(axis=5)


def test_an_error_in_a_forward_leaves_things_as_they_were(fresh):
    @primitive(x=lambda g: g)
    def broken(xp, x):
        raise OSError("disk")

    x = leaf([1.0])
    y = x * 2.0
    with pytest.raises(OSError, match="disk") as info:
        broken(y)
    assert any("broken(x: float64[1])" in note for note in info.value.__notes__)
    y.backward(np.ones(1))
    assert x.grad == [2.0]
    assert ag.is_grad_enabled()


def test_an_error_in_a_derivative_names_the_op(fresh):
    @primitive(x=lambda g, x: g @ x)
    def broken(xp, x):
        return x + 0

    x = leaf(np.ones((2, 3)))
    with pytest.raises(ValueError) as info:
        broken(x).sum().backward()
    assert any("backward of broken" in note for note in info.value.__notes__)
    assert x.grad is None


def test_a_derivative_of_a_wrong_shape_is_an_error(fresh):
    @primitive(x=lambda xp, g: xp.zeros((7,)))
    def broken(xp, x):
        return x + 0

    x = leaf(np.ones((2, 3)))
    with pytest.raises(ValueError, match=r"\(7,\) cannot be summed to the shape \(2, 3\)"):
        broken(x).sum().backward()
    assert x.grad is None


def test_a_plain_forward_is_called_directly():
    def plain(xp, a, b):
        """The length."""
        return xp.hypot(a, b)

    def reduced(xp, x, *, axis=None, keepdims=False):
        """The sum."""
        return xp.sum(x, axis=axis, keepdims=keepdims)

    def cut(xp, x):
        """The positive part."""
        return xp.maximum(x, 0)

    assert direct(plain, ("a", "b")).expression("pq") == "xp.hypot(p, q)"
    sums = direct(reduced, ("x",), ("axis", "keepdims"))
    assert sums.expression("p") == "xp.sum(p, axis=axis, keepdims=keepdims)"
    assert direct(cut, ("x",)).expression("p") == "xp.maximum(p, 0)"


def test_any_other_forward_is_called_itself():
    def swapped(xp, a, b):
        """The other way round."""
        return xp.hypot(b, a)

    def longer(xp, a, b):
        """And a number."""
        return xp.divide(a, b) + 0

    def operator(xp, a, b):
        """No function of the namespace."""
        return a / b

    def crossed(xp, x, *, axis=None, keepdims=False):
        """Parameters in each other's place."""
        return xp.sum(x, axis=keepdims, keepdims=axis)

    def fewer(xp, x, *, axis=None, keepdims=False):
        """A parameter left out."""
        return xp.sum(x, axis=axis)

    def true(xp, x):
        """A constant that is no number."""
        return xp.maximum(x, True)

    for forward in (swapped, longer, operator):
        assert direct(forward, ("a", "b")) is None
    for forward in (crossed, fewer):
        assert direct(forward, ("x",), ("axis", "keepdims")) is None
    assert direct(true, ("x",)) is None


def test_every_op_has_a_docstring_and_a_real_signature():
    for name, made in PRIMITIVES.items():
        assert made.op.__doc__, name
        assert "args" not in str(inspect.signature(made.op)), name


def test_aux_reaches_the_derivative_and_is_none_under_create_graph(fresh):
    seen = []

    def derivative(g, x, aux):
        seen.append(aux)
        return g * (2 * x if aux is None else aux)

    @primitive(aux=True, x=derivative)
    def square_with_aux(xp, x):
        return x * x, 2 * x

    x = leaf([3.0])
    square_with_aux(x).backward(np.ones(1))
    assert x.grad.tolist() == [6]
    assert seen[0].tolist() == [6]
    first = ag.gradients(square_with_aux(x), x, np.ones(1), create_graph=True)
    assert seen[1] is None
    assert ag.gradients(first, x).tolist() == [2]


def test_a_derivative_is_told_which_outputs_a_gradient_reached(fresh):
    told = []

    def derivative(g, given):
        told.append(tuple(given))
        return g[0] + 2 * g[1]

    @primitive(outputs=True, x=derivative)
    def twins(xp, x):
        """Two copies."""
        return +x, +x

    x = leaf([1.0])
    first, second = twins(x)
    (found,) = ag.gradients([second], [x], create_graph=True)
    assert found.tolist() == [2.0]
    assert ag.gradients([first.sum() + second.sum()], [x])[0].tolist() == [3.0]
    assert told == [(False, True), (True, True)]


def test_an_op_with_several_outputs_takes_numbers_beside_arrays(fresh):
    @primitive(outputs=True, x=lambda g, a: g[0] * a + g[1])
    def scaled(xp, x, a):
        """a x and x."""
        return x * a, +x

    x = leaf([1.0])
    y, _ = scaled(x, 3.0)
    (slope,) = ag.gradients([y * y], [x], create_graph=True)
    assert ag.gradients([slope], [x])[0].tolist() == [18.0]
