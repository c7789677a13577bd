"""Functions that are made of primitives, and what the table can't say."""

import math

import numpy as np
import pytest

import autograd_gpu as ag

x = np.linspace(-2.5, 2.5, 8)


def test_sign_and_abs_of_complex_numbers():
    z = np.array([3 + 4j, 1 - 1j, -2j])
    np.testing.assert_allclose(ag.sign(z).numpy(), z / np.abs(z))
    assert ag.sign(np.array([0j])).item() == 0
    assert ag.grad_check(ag.sign, [z])
    assert ag.grad_check(ag.abs, [z], order=2)


def test_angle():
    z = np.array([3 + 4j, 1 - 1j, -2j, -1 + 0.1j])
    np.testing.assert_allclose(ag.angle(z).numpy(), np.angle(z))
    assert ag.grad_check(ag.angle, [z], order=2)
    np.testing.assert_allclose(ag.angle(np.array([-1.0, 2])).numpy(), [np.pi, 0])


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (ag.deg2rad, np.deg2rad),
        (ag.rad2deg, np.rad2deg),
        (ag.relu6, lambda x: np.clip(x, 0, 6)),
        (ag.hardtanh, lambda x: np.clip(x, -1, 1)),
        (
            ag.selu,
            lambda x: np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)) * 1.0507009873554805,
        ),
        (ag.gelu, lambda x: np.array([v * (1 + math.erf(v / math.sqrt(2))) / 2 for v in x])),
        (
            lambda x: ag.gelu(x, "tanh"),
            lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
        ),
    ],
)
def test_values_and_derivatives(f, expected):
    np.testing.assert_allclose(f(x).numpy(), expected(x), rtol=1e-12, atol=1e-12)
    assert ag.grad_check(f, [x])


def test_gelu_names_its_two_forms():
    with pytest.raises(ValueError, match="'none' or 'tanh'"):
        ag.gelu(x, "erf")


def test_elu_needs_an_alpha_that_is_not_negative():
    with pytest.raises(ValueError, match="elu.*alpha"):
        ag.elu(x, -1.0)


def test_clip_with_keywords_and_without_bounds():
    v = ag.Variable([-2.0, 0.0, 2.0], requires_grad=True)
    np.testing.assert_array_equal(ag.clip(v, max=1.0).numpy(), [-2, 0, 1])
    np.testing.assert_array_equal(v.clip(min=-1).numpy(), [-1, 0, 2])
    y = ag.clip(v)
    assert y.value is not v.value


def test_clip_gives_the_gradient_to_the_bound_that_is_the_value():
    low, high = ag.Variable(1.0, requires_grad=True), ag.Variable(0.0, requires_grad=True)
    ag.clip(ag.Variable(5.0), low, high).backward()
    assert (low.grad, high.grad) == (0, 1)


def test_where_of_two_numbers_has_the_default_dtype():
    y = ag.where(np.array([True, False]), 1.0, 0.0)
    assert y.dtype == np.float32
    np.testing.assert_array_equal(y.numpy(), [1, 0])


def test_where_keeps_an_infinite_gradient_out_of_the_other_branch():
    v = ag.Variable([0.0, 4.0], requires_grad=True)
    with np.errstate(divide="ignore"):
        ag.log(ag.where(v.value > 1, v, 0.0)).backward(np.ones(2, "f4"))
    np.testing.assert_array_equal(v.grad, [0, 0.25])


def test_half_precision_is_added_up_in_single_precision():
    half = np.full(4097, 1.0, "f2")
    assert ag.sum(half).item() == 4096  # 4097 rounded; added up in float16 it is 2048 at most
    assert ag.sum(half).dtype == np.float16
    assert ag.mean(half).item() == 1
    np.testing.assert_allclose(ag.var(half + half * (np.arange(4097) % 2)).item(), 0.25, rtol=1e-2)
    assert ag.softmax(np.zeros(4096, "f2")).numpy().sum(dtype="f4") == 1
    assert ag.logsumexp(np.zeros(4096, "f2")).dtype == np.float16
    v = ag.Variable(half, requires_grad=True)
    ag.cumulative_sum(v).backward(np.ones(4097, "f2"))
    assert v.grad.dtype == np.float16


@pytest.mark.parametrize("name", ["max", "min", "argmax"])
def test_extremes_of_nothing_are_an_error_that_names_the_op(name):
    with pytest.raises(ValueError, match=name):
        getattr(ag, name)(np.zeros((0, 3)))


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "std", "logsumexp", "softmax"])
def test_an_axis_that_is_not_there_is_an_index_error(name):
    with pytest.raises(IndexError, match=f"{name}.*axis"):
        getattr(ag, name)(np.zeros((2, 3)), axis=2)


def test_cumulative_sum_needs_an_axis_for_matrices():
    with pytest.raises(ValueError, match="axis is needed"):
        ag.cumulative_sum(np.zeros((2, 3)))


def test_prod_is_differentiable_three_times_with_zeros():
    v = ag.Variable(np.array([0.0, 0.0, 3.0]), requires_grad=True)
    g = ag.gradients(ag.prod(v), v, create_graph=True)
    gg = ag.gradients(g[0], v, create_graph=True)
    np.testing.assert_array_equal(gg.numpy(), [0, 3, 0])
    np.testing.assert_array_equal(ag.gradients(gg[1], v).numpy(), [0, 0, 1])


def test_one_gelu_saves_its_input_only():
    v = ag.Variable(np.ones((4, 4)), requires_grad=True)
    node = ag.gelu(v, "tanh").grad_fn
    assert node.s_x is v.value
    assert not hasattr(node, "s_y")


def test_large_arrays_are_computed_in_blocks_with_the_same_result():
    large = np.linspace(-4, 4, 300_000).reshape(300, 1000)
    for f in (ag.sigmoid, ag.softplus, ag.silu, ag.mish, ag.gelu, lambda x: ag.gelu(x, "tanh")):
        whole, parts = f(large), [f(row) for row in large]
        rows = [part.numpy() for part in parts]
        # 1 + tanh(u) has lost digits where it is small, which 1 / (1 + exp(-2u)) has
        np.testing.assert_allclose(whole.numpy(), rows, rtol=1e-13, atol=1e-15)
        np.testing.assert_allclose(f(large.T).numpy(), whole.numpy().T, rtol=1e-13)


def test_logsumexp_of_an_infinity_is_infinite():
    x = np.array([[1.0, np.inf], [np.inf, np.inf], [-np.inf, np.inf], [1.0, -np.inf]])
    np.testing.assert_array_equal(ag.logsumexp(x, axis=1).numpy(), [np.inf, np.inf, np.inf, 1.0])


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_softmax_and_relatives_of_complex_numbers(name):
    x = np.array([[0.3 + 2j, -1.0 + 0.5j, 0.2 - 3j], [1j, 2.0, -2.5 + 1j]])
    total = np.exp(x).sum(1, keepdims=True)
    want = {"softmax": np.exp(x) / total, "logsumexp": np.log(total)[:, 0]}
    y = getattr(ag, name)(x, axis=1).numpy()
    if name in want:
        np.testing.assert_allclose(y, want[name], rtol=1e-12)
    ag.grad_check(lambda x: getattr(ag, name)(x, axis=1), [x], order=2)


@pytest.mark.parametrize("name", ["elu", "selu", "softplus", "logsigmoid", "mish"])
def test_what_goes_by_the_order_of_numbers_refuses_complex_ones(name):
    with pytest.raises(TypeError, match="complex"):
        getattr(ag, name)(np.array([1 + 1j]))


def test_silu_of_complex_numbers():
    ag.grad_check(ag.silu, [np.array([0.3 + 1j, -0.5 - 0.2j])], order=2)
