"""Functions of Hermitian matrices, and the nuclear norm, to the fourth order."""

import numpy as np
import pytest
from matrices import complexes, h, hermitian, real, turned, weights

import autograd_gpu as ag
from autograd_gpu import linalg

VALUES = ([1.0, 1, 1], [2.0, 2, 5], [1.0, 3, 3, 3], [0.0, 0, 2], [1.0, 2, 3], [1.0, 1 + 1e-9, 2])


def orders(f, x, e, n):
    """f(x), and its derivatives along e up to the n-th."""

    def along(t):
        return ag.real(ag.sum(f(ag.Variable(x) + t * e)))

    found = [along(np.array(0.0)).item()]
    for _ in range(n):
        along = ag.grad(along)
        found.append(float(along(np.array(0.0))))
    return found


@pytest.mark.parametrize("draws", [real, complexes])
@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("axes", [True, False])
def test_all_orders_are_those_of_expm(values, draws, axes):
    n = len(values)
    x = np.diag(values) + 0 * draws(1, 1) if axes else turned(values, draws)
    e, w = hermitian(draws(n, n)) / 3, weights(n, n)
    for f, g in (
        (lambda x: linalg.matrix_function(x, ag.exp), linalg.expm),
        (
            lambda x: linalg.matrix_function(x, lambda w: ag.exp(1j * w)),
            lambda x: linalg.expm(1j * x),
        ),
    ):
        found = orders(lambda x, f=f: f(x) * w, x, e, 4)
        expected = orders(lambda x, g=g: g(x) * w, x, e, 4)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_close_eigenvalues():
    x = turned([1.0, 1 + 1e-5, 1 + 1e-3])
    e, w = hermitian(real(3, 3)) / 3, weights(3, 3)
    found = orders(lambda x: linalg.matrix_function(x, ag.exp) * w, x, e, 3)
    expected = orders(lambda x: linalg.expm(x) * w, x, e, 3)
    np.testing.assert_allclose(found[:3], expected[:3], rtol=1e-7)
    np.testing.assert_allclose(found[3], expected[3], rtol=1e-4)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("draws", [real, complexes])
def test_stacks_of_matrices_that_are_not_hermitian(draws, order):
    def f(x):
        return linalg.matrix_function(x, lambda w: ag.log(w * w + 1))

    assert ag.grad_check(f, [draws(2, 3, 3)], order=order)


def test_functions_with_a_constant_or_linear_derivative():
    x, e = turned([1.0, 1, 4]), hermitian(real(3, 3))
    for f, second in ((lambda w: 2 * w, 0), (lambda w: w * 0 + 3.0, 0), (lambda w: w * w, 2)):
        found = orders(lambda x, f=f: linalg.matrix_function(x, f), x, e, 2)
        np.testing.assert_allclose(found[2], second * np.sum(e @ e), atol=1e-12)


def test_what_is_refused():
    x = ag.Variable(np.eye(2), requires_grad=True)
    a = ag.Variable(2.0, requires_grad=True)
    with pytest.raises(TypeError, match=r"spectral\(.*depends on a Variable that requires"):
        linalg.matrix_function(x, lambda w: a * w)
    with pytest.raises(ValueError, match=r"element by element; of \(2,\) it made"):
        linalg.matrix_function(x, ag.sum)
    with pytest.raises(np.linalg.LinAlgError, match=r"matrix_function: square matrices"):
        linalg.matrix_function(np.ones((2, 3)), ag.exp)


@pytest.mark.parametrize("draws", [real, complexes])
@pytest.mark.parametrize("shape", [(3, 3), (4, 3), (3, 4)])
@pytest.mark.parametrize("values", [[1.0, 1, 1], [2.0, 2, 5], [1.0, 2, 3]])
def test_the_nuclear_norm_is_a_function_of_a_matrix(shape, values, draws):
    s = np.zeros(shape)
    s[range(3), range(3)] = values
    left, right = (np.linalg.qr(draws(n, n))[0] for n in shape)
    x, e = left @ s @ right, draws(*shape)

    def through_the_square(x):
        y = h(x) @ x if shape[0] >= shape[1] else x @ h(x)
        return ag.trace(linalg.matrix_function(y, ag.sqrt))

    found = orders(lambda x: linalg.matrix_norm(x, ord="nuc"), x, e, 4)
    np.testing.assert_allclose(found, orders(through_the_square, x, e, 4), rtol=1e-8, atol=1e-10)


def test_the_nuclear_norm_of_matrices_of_constant_rank():
    a, b = real(4, 2), real(2, 3)
    for order in (1, 2):
        assert ag.grad_check(lambda a, b: linalg.matrix_norm(a @ b, ord="nuc"), [a, b], order=order)
