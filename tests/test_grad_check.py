"""grad_check: planted wrong derivatives are caught, right ones pass, nothing is left changed."""

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu.differences import uniform

rng = np.random.default_rng(0)


def op(forward, backward):
    """A Function of a forward and a backward that takes `(g, *saved inputs)`."""

    class Planted(ag.Function):
        def forward(self, *arrays):
            self.save(*arrays)
            return forward(*arrays)

        def backward(self, g):
            return backward(g, *self.saved)

    return Planted.apply


matrix = rng.uniform(0.5, 1.5, (3, 3))
vector = rng.uniform(0.5, 1.5, 3)
complex_vector = vector + 1j * vector[::-1]
big = rng.uniform(0.5, 1.5, (20, 30))


def one_wrong_element(g, x):
    wrong = 2.0 * g * x
    spoil = np.zeros(x.shape)
    spoil[17, 5] = 0.5
    return wrong + g * spoil


RIGHT = {
    "square": (op(lambda x: x * x, lambda g, x: 2.0 * g * x), [vector]),
    "transpose": (op(lambda x: x.T.copy(), lambda g, x: ag.matrix_transpose(g)), [matrix]),
    "complex": (op(lambda z: z * z, lambda g, z: 2.0 * g * ag.conj(z)), [complex_vector]),
    "two": (op(lambda a, b: a * b, lambda g, a, b: (g * b, g * a)), [vector, vector]),
    "outputs": (
        op(
            lambda x: (np.sin(x), np.cos(x)),
            lambda g, x: g[0] * ag.cos(x) - g[1] * ag.sin(x),
        ),
        [vector],
    ),
    "broadcast": (
        op(
            lambda x, b: x + b,
            lambda g, x, b: (g, ag.sum(g, axis=0) if isinstance(g, ag.Variable) else g.sum(0)),
        ),
        [matrix, vector],
    ),
}


WRONG = {
    "a factor": (op(lambda x: x * x, lambda g, x: 2.001 * g * x), [vector]),
    "the sign": (op(lambda x: x * x, lambda g, x: -2.0 * g * x), [vector]),
    "a transpose": (op(lambda x: 3.0 * x, lambda g, x: 3.0 * g.T), [matrix]),
    "swapped outputs": (
        op(
            lambda x: (np.sin(x), np.cos(x)),
            lambda g, x: g[1] * np.cos(x) - g[0] * np.sin(x),
        ),
        [vector],
    ),
    "swapped inputs": (
        op(lambda a, b: a * b, lambda g, a, b: (g * a, g * b)),
        [vector, 2 * vector],
    ),
    "a missing sum": (op(lambda x, b: x + b, lambda g, x, b: (g, g[0])), [matrix, vector]),
    "one wrong element": (op(lambda x: x * x, one_wrong_element), [big]),
    "swapped elements": (op(lambda x: 1.0 * x, lambda g, x: g[..., ::-1].copy()), [vector]),
    "a missing conj": (op(lambda z: z * z, lambda g, z: 2.0 * g * z), [complex_vector]),
    "a missing imaginary part": (
        op(lambda z: z * z, lambda g, z: (g * np.conj(2.0 * z)).real + 0j),
        [complex_vector],
    ),
    "a forgotten path": (lambda x: x * x.detach(), [vector]),
    "zero": (op(lambda x: x * x, lambda g, x: 0.0 * g), [vector]),
    "nothing": (op(lambda x, y: x * y, lambda g, x, y: (g * y, None)), [vector, vector]),
    "a NaN": (op(lambda x: x * x, lambda g, x: g * np.nan), [vector]),
    "an infinity": (op(lambda x: x * x, lambda g, x: g * np.inf), [vector]),
}


@pytest.mark.parametrize("fast", [False, True], ids=["every element", "fast"])
@pytest.mark.parametrize("name", RIGHT)
def test_right_derivatives_pass(name, fast):
    f, inputs = RIGHT[name]
    assert ag.grad_check(f, inputs, fast=fast) is True
    assert ag.grad_check(f, inputs, order=2, fast=fast)


@pytest.mark.parametrize("fast", [False, True], ids=["every element", "fast"])
@pytest.mark.parametrize("name", WRONG)
def test_planted_errors_are_caught(name, fast):
    f, inputs = WRONG[name]
    with pytest.raises(ag.GradCheckError):
        ag.grad_check(f, inputs, fast=fast)


@pytest.mark.parametrize("fast", [False, True], ids=["every element", "fast"])
@pytest.mark.parametrize(
    "backward",
    [
        pytest.param(lambda g, x: g * 2.0 * x.detach() if on_variables(x) else g * 2.0 * x, id="x"),
        pytest.param(lambda g, x: g.detach() * 2.0 * x if on_variables(g) else g * 2.0 * x, id="g"),
        pytest.param(
            lambda g, x: (
                g * 2.0 * (x.detach() + 1.5 * (x - x.detach())) if on_variables(x) else g * 2.0 * x
            ),
            id="a factor",
        ),
    ],
)
def test_wrong_only_in_second_order(backward, fast):
    f = op(lambda x: x * x, backward)
    assert ag.grad_check(f, vector, fast=fast)
    with pytest.raises(ag.GradCheckError, match="of the derivative"):
        ag.grad_check(f, vector, order=2, fast=fast)


def on_variables(x):
    return isinstance(x, ag.Variable)


# What the error says -------------------------------------------------------------------------


def test_the_error_names_input_element_and_both_numbers():
    with pytest.raises(ag.GradCheckError) as caught:
        ag.grad_check(
            lambda a, b: a * (b + 0.5 * (b - b.detach())), [np.ones(2), np.full((2, 2), 2.0)]
        )
    error = caught.value
    assert error.input == 1
    assert error.element == (0, 0)
    assert error.analytic == pytest.approx(1.5 * error.numeric)
    for part in ("input 1", "element (0, 0)", f"{error.analytic:.10g}", f"{error.numeric:.10g}"):
        assert part in str(error)


def test_the_first_wrong_element_is_named():
    f, inputs = WRONG["one wrong element"]
    with pytest.raises(ag.GradCheckError, match=r"element \(17, 5\)"):
        ag.grad_check(f, inputs)


def test_names_of_variables_are_used():
    w = ag.Variable(vector, requires_grad=True, name="weight")
    with pytest.raises(ag.GradCheckError, match=r"input 0 \('weight'\)"):
        ag.grad_check(lambda w: w * w.detach(), w)
    with pytest.raises(ag.GradCheckError, match=r"variable 0 \('weight'\)"):
        ag.grad_check_variables(lambda: w * w.detach(), w)


def test_an_error_in_the_other_tolerance():
    f, inputs = WRONG["a factor"]
    assert ag.grad_check(f, inputs, rtol=1e-2)
    assert ag.grad_check(f, inputs, atol=1.0)


# Inputs and outputs --------------------------------------------------------------------------


def test_any_dtype_is_checked_in_double_precision():
    seen = []

    def f(x, z):
        seen.append((x.dtype, z.dtype))
        return ag.real(z * z) * x

    inputs = [vector.astype(np.float32), ag.Variable(complex_vector.astype(np.complex64))]
    assert ag.grad_check(f, inputs)
    assert set(seen) == {(np.dtype("float64"), np.dtype("complex128"))}
    assert inputs[1].dtype == np.complex64


def test_integers_and_other_objects_are_passed_on():
    seen = []

    def f(x, indices, label, axis, mask):
        seen.append((type(indices), type(label), label.dtype, axis))
        return ag.sum(x[indices] * label * mask[:2], axis=axis)

    label = ag.Variable(np.array([1, 2]))
    assert ag.grad_check(f, [vector, np.array([0, 2]), label, 0, np.array([True, False, True])])
    assert seen[0] == (np.ndarray, ag.Variable, np.dtype("int64"), 0)


def test_a_variable_without_requires_grad_beside_others_is_a_constant():
    x, c = ag.Variable(vector, requires_grad=True), ag.Variable(vector)
    assert ag.grad_check(lambda x, c: x * c.detach(), [x, c])
    with pytest.raises(ag.GradCheckError, match="input 1"):
        ag.grad_check(lambda x, c: x * c.detach(), [vector, vector])


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (1, 3)])
def test_shapes(shape):
    assert ag.grad_check(lambda x: ag.sin(x), np.ones(shape), order=2)
    assert ag.grad_check(lambda x: ag.sin(x), np.ones(shape), fast=True)


def test_fortran_order_and_views():
    x = np.asfortranarray(matrix)
    assert ag.grad_check(lambda x: ag.sin(x) * np.arange(3.0), [x])
    assert ag.grad_check(lambda x: ag.sin(x), matrix[::2, 1:])


def test_numbers_are_inputs_too():
    assert ag.grad_check(lambda a, b: a * b, [2.0, 1.0 + 2.0j])
    assert ag.grad_check(lambda a: a * a, 2.0)


def test_outputs_of_every_kind():
    assert ag.grad_check(
        lambda x: {"a": x * x, "b": [ag.sin(x), (x > 0.7).detach()], "c": np.ones(2)}, vector
    )
    assert ag.grad_check(lambda x: x * (1.0 + 2.0j), vector, order=2)
    assert ag.grad_check(lambda x: x, vector, order=2)


def test_infinite_outputs_that_do_not_move():
    mask = np.array([0.0, -np.inf, 0.0])
    assert ag.grad_check(lambda x: x + mask, vector)


def test_unused_inputs_have_gradient_zero():
    assert ag.grad_check(lambda a, b: a * 2.0, [vector, vector])


def test_large_values_and_steps():
    assert ag.grad_check(lambda x: x * 2.0, np.array([1e6, -1e6]))
    with pytest.raises(ValueError, match="eps=1e-06 is too small"):
        ag.grad_check(lambda x: x * 2.0, np.array([1e12]))


def test_it_runs_on_the_host():
    backends = []

    def f(x):
        backends.append(ag.get_backend())
        return x * ag.ones(3)

    ag.grad_check(f, vector)
    assert set(backends) == {"numpy"}


def test_under_no_grad():
    with ag.no_grad():
        assert ag.grad_check(lambda x: x * x, vector, order=2)
        assert not ag.is_grad_enabled()


# What is refused -----------------------------------------------------------------------------


def test_nothing_to_check():
    with pytest.raises(ValueError, match="no input is a floating-point or complex array"):
        ag.grad_check(lambda n: n, [np.arange(3)])
    with pytest.raises(ValueError, match="nothing to check"):
        ag.grad_check(lambda: ag.ones(2), [])
    with pytest.raises(ag.GradCheckError, match="no output of the function requires a gradient"):
        ag.grad_check(lambda x: x.detach(), vector)
    with pytest.raises(ag.GradCheckError, match="no output"):
        ag.grad_check(lambda x: x > 0, vector)
    with pytest.raises(TypeError, match="returned NoneType"):
        ag.grad_check(lambda x: None, vector)


def test_nan():
    with pytest.raises(ValueError, match="input 1 has a NaN"):
        ag.grad_check(lambda a, b: a * b, [vector, np.array([1.0, np.nan, 1.0])])
    with pytest.raises(ag.GradCheckError, match="output 0 of the function has a NaN"):
        ag.grad_check(lambda x: x * np.nan, vector)


def test_functions_that_are_not_deterministic():
    noise = np.random.default_rng(0)
    with pytest.raises(ag.GradCheckError, match="not deterministic"):
        ag.grad_check(lambda x: x * noise.uniform(size=3), vector)
    flips = iter([1.0, 1.0] + [2.0] * 100)
    with pytest.raises(ag.GradCheckError, match="not deterministic"):
        ag.grad_check(lambda x: x * next(flips), vector)
    sizes = iter(range(1, 100))
    with pytest.raises(ag.GradCheckError, match="changed in number, shape"):
        ag.grad_check(lambda x: x * np.ones((next(sizes), 1)), vector)


@pytest.mark.parametrize(
    "options", [{"eps": 0.0}, {"eps": np.nan}, {"atol": -1.0}, {"rtol": -1.0}, {"order": 0}]
)
def test_options_out_of_range(options):
    with pytest.raises(ValueError, match="grad_check"):
        ag.grad_check(lambda x: x, vector, **options)


def test_low_precision_inside_is_hinted_at():
    with pytest.raises(ag.GradCheckError, match="computes in float32"):
        ag.grad_check(lambda x: ag.astype(x, np.float32) * 3.0, vector)


def test_inputs_are_left_alone():
    x, v = vector.copy(), ag.Variable(vector.copy(), requires_grad=True)
    v.grad = np.ones(3)
    value, gradient = v.value, v.grad
    ag.grad_check(lambda a, b: a * b, [x, v], order=2)
    calls = [0]

    def fails(a, b):
        calls[0] += 1
        if calls[0] == 4:
            raise KeyError("inside")
        return a * b

    with pytest.raises(KeyError):
        ag.grad_check(fails, [x, v])
    np.testing.assert_array_equal(x, vector)
    np.testing.assert_array_equal(v.value, vector)
    assert v.value is value
    assert v.grad is gradient
    np.testing.assert_array_equal(gradient, np.ones(3))


# grad_check_variables ------------------------------------------------------------------------


def parameter():
    w = ag.Variable(vector.astype(np.float32), requires_grad=True, name="w")
    w.grad = np.ones(3, np.float32)
    return w


def test_variables_that_are_captured():
    w, z = parameter(), ag.Variable(complex_vector, requires_grad=True)
    assert ag.grad_check_variables(lambda: w * z * z, [w, z, w], order=2)
    assert ag.grad_check_variables(lambda: ag.sum(w * w), w, fast=True)
    with pytest.raises(ag.GradCheckError, match="variable 1, element"):
        ag.grad_check_variables(lambda: w * z.detach() * z, [w, z])


def test_captured_variables_are_put_back():
    for failing in (False, True):
        w, frozen = parameter(), ag.Variable(np.ones(3, np.float32))
        calls = []
        w.register_hook(calls.append)
        graph = ag.sum(w * w)
        before = (w.value, w.grad, frozen.value)
        copies = [x.copy() for x in before]

        def f(w=w, frozen=frozen, failing=failing):
            assert w.dtype == frozen.dtype == np.float64
            if failing and not ag.is_grad_enabled():
                raise KeyError("inside")
            return w * w * frozen

        if failing:
            with pytest.raises(KeyError):
                ag.grad_check_variables(f, [w, frozen])
        else:
            assert ag.grad_check_variables(f, [w, frozen])
        for x, old, copy in zip((w.value, w.grad, frozen.value), before, copies, strict=True):
            assert x is old
            np.testing.assert_array_equal(x, copy)
        assert w.requires_grad
        assert not frozen.requires_grad
        assert calls == []
        graph.backward()  # a graph from before still ends in this leaf
        np.testing.assert_allclose(w.grad, 1 + 2 * w.value)
        assert len(calls) == 1


def test_captured_variables_must_be_leaves():
    w = parameter()
    with pytest.raises(ValueError, match=r"variables\[1\] is the result of multiply"):
        ag.grad_check_variables(lambda: w, [w, w * 2.0])
    with pytest.raises(TypeError, match=r"variables\[0\] is ndarray"):
        ag.grad_check_variables(lambda: w, [vector])
    with pytest.raises(ValueError, match="nothing to check"):
        ag.grad_check_variables(lambda: w, [])


def test_the_weights_are_raw_mersenne_twister_bits():
    import random

    bits = np.random.RandomState()
    bits.set_state(("MT19937", np.array(random.Random(5).getstate()[1][:-1], np.uint32), 624))
    raw = bits.randint(0, 2**32, size=4, dtype=np.uint32)
    np.testing.assert_array_equal(
        uniform(random.Random(5), (4,), np.dtype("float64")), raw / 2**31 - 1
    )
