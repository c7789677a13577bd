"""Which dtypes go in and which come out: as in array_api_strict, for every pair of dtypes."""

import operator
from itertools import product

import numpy as np
import pytest
from standard.draws import ALL
from standard.signatures import MAIN

import autograd_gpu as ag

strict = pytest.importorskip("array_api_strict")

BINARY = MAIN["x1, x2, /"].split()
UNARY = MAIN["x, /"].split()
OPERATORS = [
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lshift", "rshift"),
    *("and_", "or_", "xor", "eq", "ne", "lt", "le", "gt", "ge"),
]
IN_PLACE = [
    "iadd",
    "isub",
    "imul",
    "itruediv",
    "ifloordiv",
    "imod",
    "ipow",
    "iand",
    "ior",
    "ixor",
    "ilshift",
    "irshift",
]
SCALARS = (True, 1, 1.0, 1j)


def outcome(function, *arguments):
    """(dtype, shape) of each result."""
    result = function(*arguments)
    results = result if isinstance(result, tuple) else (result,)
    return [(str(y.dtype).rpartition(".")[2], y.shape) for y in results]


def compare(function, *operands):
    """`function(xp, *operands)` on both, dtypes standing for arrays; whether it is defined."""

    def run(xp):
        made = [xp.asarray(np.ones((2, 2), x)) if isinstance(x, str) else x for x in operands]
        return outcome(function, xp, *made)

    try:
        expected = run(strict)
    except (AttributeError, TypeError, ValueError):
        return False  # the standard leaves it open
    assert run(ag) == expected, operands
    return True


def pairs(scalars=SCALARS):
    yield from product(ALL, ALL)
    for dtype, number in product(ALL, scalars):
        yield dtype, number
        yield number, dtype


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_of_one_operand(name):
    assert sum(compare(lambda xp, x: getattr(xp, name)(x), dtype) for dtype in ALL)


@pytest.mark.parametrize("name", BINARY)
def test_of_two_operands(name):
    assert sum(compare(lambda xp, x, y: getattr(xp, name)(x, y), *pair) for pair in pairs())


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name):
    function = getattr(operator, name)
    assert sum(compare(lambda xp, x, y: function(x, y), *pair) for pair in pairs())


@pytest.mark.parametrize("name", IN_PLACE)
def test_operators_in_place(name):
    function = getattr(operator, name)
    assert sum(
        compare(lambda xp, x, y: function(x, y), dtype, other)
        for dtype, other in product(ALL, (*ALL, *SCALARS))
    )


def test_where():
    def where(xp, x, y):
        return xp.where(xp.asarray([[True, False]]), x, y)

    assert sum(compare(where, *pair) for pair in pairs())


def test_result_type():
    for pair in product(ALL, ALL):
        try:
            expected = strict.result_type(*[getattr(strict, dtype) for dtype in pair])
        except TypeError:  # of another kind
            continue
        found = ag.result_type(*[getattr(ag, dtype) for dtype in pair])
        assert str(expected).endswith(f".{found}")
        assert all(ag.can_cast(getattr(ag, dtype), found) for dtype in pair)
