"""Signed zeros, infinities and NaNs go through the elementwise functions as the standard says."""

import math
from itertools import product

import numpy as np
import pytest
from standard.special_cases import COMPLEX, REAL, parsed, values

import autograd_gpu as ag
from autograd_gpu.backend import load_backend

SCOPE = {name: getattr(math, name) for name in ("pi", "inf", "nan", "cos", "sin")} | {"abs": abs}


def allowed(term, x, y=None):
    """The values that a result may have, by a term of the table."""
    found = []
    for option in term.split("|"):
        both = option.startswith("?")
        value = {"-0": -0.0}.get(option)
        if value is None:
            value = eval(option.removeprefix("?"), {"__builtins__": {}}, {**SCOPE, "x": x, "y": y})
        found += [float(value), -float(value)] if both else [float(value)]
    return found


def is_one_of(found, options):
    return any(
        math.isnan(found)
        if math.isnan(option)
        else math.isclose(found, option, rel_tol=1e-6, abs_tol=0)
        and math.copysign(1, found) == math.copysign(1, option)
        for option in options
    )


def cases(table):
    return [
        pytest.param(name, operands, result, id=f"{name}({case})")
        for name, case, operands, result in parsed(table)
    ]


def applied(name, arrays, backend):
    with np.errstate(all="ignore"):
        return getattr(ag, name)(*[load_backend(backend).from_host(a) for a in arrays]).numpy()


@pytest.mark.parametrize(("name", "operands", "result"), cases(REAL))
@pytest.mark.parametrize("backend", ag.available_backends())
def test_real(name, operands, result, backend):
    points = list(product(*map(values, operands)))
    assert points
    for dtype in ("float32", "float64"):
        arrays = [np.array(column, dtype) for column in zip(*points, strict=True)]
        for point, found in zip(points, applied(name, arrays, backend), strict=True):
            options = allowed(result[0], *point)
            assert is_one_of(float(found), options), (dtype, point, found, options)


@pytest.mark.parametrize(("name", "operands", "result"), cases(COMPLEX))
def test_complex(name, operands, result):
    points = list(product(*map(values, operands)))
    assert points
    for dtype in ("complex64", "complex128"):
        z = np.array([complex(*point) for point in points], dtype)
        for point, found in zip(points, applied(name, [z], "numpy"), strict=True):
            parts = [found.real, found.imag] if len(result) == 2 else [found]
            for part, term in zip(parts, result, strict=True):
                options = allowed(term, *point)
                assert is_one_of(float(part), options), (dtype, point, found, options)
