"""docs/missing.md names all functions of NumPy and scipy.special that are not there, no other."""

import inspect
import re
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import pytest
import scipy.special

import autograd_gpu as ag
from autograd_gpu import numpy_functions, ops
from autograd_gpu.numpy_adapters import UFUNC_ADAPTERS
from autograd_gpu.numpy_names import UFUNCS

PAGE = Path(__file__).parents[1] / "docs" / "missing.md"


def named(section):
    """The names and patterns in the first column of a section's table."""
    text = PAGE.read_text().partition(f"## {section}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row)]


def functions(space):
    return {
        name: value
        for name, value in vars(space).items()
        if not name.startswith("_") and callable(value) and not inspect.isclass(value)
    }


def is_there(name, function):
    if isinstance(function, np.ufunc):
        ours = UFUNCS.get(function.__name__, function.__name__)
        spaces = (ops, ag.special)
        return function.__name__ in UFUNC_ADAPTERS or any(hasattr(s, ours) for s in spaces)
    try:
        numpy_functions._function(function)
    except (TypeError, AttributeError):
        return False
    return True


@pytest.mark.parametrize("space", [np, np.linalg, np.fft])
def test_numpys_functions_are_there_or_named(space):
    missing = {name for name, f in functions(space).items() if not is_there(name, f)}
    patterns = named("NumPy")
    assert {n for n in missing if not any(fnmatch(n, p) for p in patterns)} == set()
    if space is np:
        exact = {p for p in patterns if "*" not in p and hasattr(np, p)}
        assert exact - missing == set()


def test_scipys_functions_are_there_or_named():
    missing = {
        name
        for name in functions(scipy.special)
        if not hasattr(ag.special, name) and not hasattr(ops, name)
    }
    patterns = named("scipy.special")
    assert {n for n in missing if not any(fnmatch(n, p) for p in patterns)} == set()
    exact = {p for p in patterns if "*" not in p and hasattr(scipy.special, p)}
    assert exact - missing == set()
