"""einsum against NumPy's, and its gradients."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import autograd_gpu as ag
from autograd_gpu import Variable
from autograd_gpu.grad_check import grad_check

SIZES = {"a": 2, "b": 3, "c": 4, "d": 2, "e": 1, "t": 3, "s": 4, "h": 2}
CASES = [
    "ab,bc->ac",
    "ab,bc->ca",
    "ab,bc",
    "ba,bc",
    "ab,cb->ac",
    "abc,abd->acd",
    "bthd,bshd->bhts",
    "bhts,bshd->bthd",
    "abt,tc->abc",
    "ab,ab->",
    "ab,ab->ab",
    "ab,ab->a",
    "ab,ab->ba",
    "a,b->ab",
    "a,b->ba",
    "ab,b->a",
    "b,ab->a",
    "ab,c->abc",
    "ab,c->a",
    "ab,->ab",
    ",->",
    "ab,cd->acbd",
    "abc,cbd->ad",
    "abc,bcd->da",
    "ab->ba",
    "ab->b",
    "ab->",
    "ab",
    "ba",
    "aa",
    "aa->a",
    "aab->ab",
    "aba->ba",
    "aa,ab->b",
    "aba,b->a",
    "aaa->",
    "ab,bc,cd->ad",
    "ab,bc,cd",
    "a,ab,abc->c",
    "ab,ab,ab->ab",
    "a,b,c,d->dcba",
    "ab,bt,ts,sc->ac",
    "eab,ebc->eac",
]
ELLIPSES = [
    ("...ab,...bc->...ac", (5, 2, 3), (5, 3, 4)),
    ("...ab,...bc", (2, 3), (5, 3, 4)),
    ("...ab,...bc->ac...", (5, 1, 2, 3), (6, 3, 4)),
    ("a...,a...->...", (2, 3, 4), (2, 3, 4)),
    ("...,...->...", (2, 1), (3,)),
    ("...a->...", (2, 3), None),
    ("...a", (2, 3), None),
    ("a...->...a", (2, 3, 4), None),
    ("a...b,b", (2, 3, 4), (4,)),
    ("...aa->...a", (2, 3, 3), None),
]
both = pytest.mark.parametrize("dtype", ["float64", "complex128"])


def draw(shape, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, shape)
    return (x + 1j * rng.uniform(-1, 1, shape) if dtype == "complex128" else x).astype(dtype)


def operands(subscripts, dtype):
    terms = subscripts.partition("->")[0].split(",")
    return [draw([SIZES[c] for c in term], dtype, i) for i, term in enumerate(terms)]


def check(subscripts, xs):
    y = ag.einsum(subscripts, *map(Variable, xs))
    expected = np.einsum(subscripts, *xs)
    assert y.shape == expected.shape
    np.testing.assert_allclose(y.value, expected, rtol=1e-10, atol=1e-12)
    assert grad_check(lambda *xs: ag.einsum(subscripts, *xs), xs, order=2)


@pytest.mark.parametrize("subscripts", CASES)
@both
def test_is_numpys(subscripts, dtype):
    check(subscripts, operands(subscripts, dtype))


@pytest.mark.parametrize(("subscripts", "a", "b"), ELLIPSES)
@both
def test_ellipsis(subscripts, a, b, dtype):
    check(
        subscripts, [draw(shape, dtype, i) for i, shape in enumerate((a, b)) if shape is not None]
    )


def test_an_ellipsis_that_the_result_lacks_is_summed():
    x = draw((2, 3))
    np.testing.assert_allclose(ag.einsum("...->", Variable(x)).value, x.sum())
    np.testing.assert_allclose(ag.einsum("...,...->", Variable(x), x).value, (x * x).sum())


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ab,bc->ac", ((2, 1), (3, 4))),
        ("ab,ab->ab", ((2, 1), (1, 4))),
        ("ab,ab->a", ((2, 3), (1, 1))),
        ("ab,ab,b->", ((2, 3), (2, 1), (1,))),
        ("aab->b", ((3, 3, 2),)),
    ],
)
def test_axes_of_size_1_stretch(subscripts, shapes):
    xs = [draw(shape, seed=i) for i, shape in enumerate(shapes)]
    y = ag.einsum(subscripts, *map(Variable, xs)).value
    np.testing.assert_allclose(y, np.einsum(subscripts, *xs))
    assert grad_check(lambda *xs: ag.einsum(subscripts, *xs), xs, order=2)


@st.composite
def strings(draw_):
    labels = "abcd"
    terms = draw_(st.lists(st.text(labels, max_size=3), min_size=1, max_size=3))
    used = sorted(set("".join(terms)))
    if draw_(st.booleans()):
        return ",".join(terms)
    out = draw_(st.permutations(used))[: draw_(st.integers(0, len(used)))]
    return f"{','.join(terms)}->{''.join(out)}"


@settings(max_examples=200, deadline=None)
@given(strings())
def test_any_string_is_numpys(subscripts):
    xs = operands(subscripts, "float64")
    y = ag.einsum(subscripts, *[Variable(x, requires_grad=True) for x in xs])
    expected = np.einsum(subscripts, *xs)
    assert y.shape == np.shape(expected)
    np.testing.assert_allclose(y.value, expected, rtol=1e-10, atol=1e-12)
    assert grad_check(lambda *xs: ag.einsum(subscripts, *xs), xs, fast=True)


def test_operands_may_be_arrays():
    x = Variable(np.ones((2, 3)), requires_grad=True)
    y = ag.einsum("ab,b->a", x, np.arange(3.0))
    y.backward(np.ones(2))
    np.testing.assert_array_equal(x.grad, [[0, 1, 2]] * 2)


def test_dtypes():
    a, b = np.ones((2, 3), np.float32), np.ones((3, 2), np.int64)
    assert ag.einsum("ab,bc", Variable(a), Variable(a.T)).dtype == np.float32
    assert ag.einsum("ab,bc", Variable(b.T), Variable(b)).dtype == np.int64


@pytest.mark.parametrize("empty", [(0, 3), (2, 0)])
def test_empty_operands(empty):
    a = Variable(np.ones(empty), requires_grad=True)
    b = Variable(np.ones((*empty[1:], 4)), requires_grad=True)
    y = ag.einsum("ab,bc->ca", a, b)
    assert y.shape == (4, empty[0])
    y.backward(np.ones(y.shape))
    assert not b.grad.any()


@pytest.mark.parametrize(
    ("subscripts", "match"),
    [
        ("ab,bc", "2 operands, 1 are given"),
        ("abc", "does not fit"),
        ("a", "does not fit"),
        ("a.b", "other characters"),
        ("a1", "other characters"),
        ("ab->ac", "unknown or repeated"),
        ("ab->aa", "unknown or repeated"),
        ("...abc", "fewer axes|does not fit"),
        ("aa", "sizes 2 and 3"),
    ],
)
def test_errors(subscripts, match):
    with pytest.raises(ValueError, match=match) as caught:
        ag.einsum(subscripts, Variable(np.ones((2, 3), np.float32)))
    assert str(caught.value).startswith(f"einsum('{subscripts}', float32[2, 3]): ")
