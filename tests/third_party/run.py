"""Runs the calls, and prints a JSON object: for each None, or what went wrong.

tests/test_third_party.py runs it in a process of its own, since SciPy reads SCIPY_ARRAY_API when it
is imported.
"""

import contextlib
import importlib
import json
import re
import sys
import warnings

import numpy as np

import autograd_gpu as ag
from third_party import containers, geometry, learn, numeric, signal, special, stats

MODULES = (special, stats, numeric, signal, geometry, learn, containers)


def works(f, *values):
    result = f(*[ag.Variable(v, requires_grad=True) for v in values])
    assert type(result) is ag.Variable, f"the result is {type(result).__name__}"
    assert result.requires_grad, "the gradient is lost"
    ag.grad_check(f, [np.asarray(v) for v in values])


def works_with_nan_safe(f, *values):
    with ag.nan_safe():
        works(f, *values)


def refuses(f, *values):
    """TypeError, or in a later release the right gradient: never a wrong one."""
    try:
        f(*[ag.Variable(v, requires_grad=True) for v in values])
    except TypeError as error:
        if not re.search("gradient|namespaces|no derivative|unexpected keyword", str(error)):
            raise
    else:
        works(f, *values)


def returns_a_number(f, *values):
    result = f(*[ag.Variable(v, requires_grad=True) for v in values])
    assert isinstance(result, float), f"the result is {type(result).__name__}"


CHECKS = {
    "WORKS": works,
    "WITH_NAN_SAFE": works_with_nan_safe,
    "REFUSES": refuses,
    "NUMBERS": returns_a_number,
}
TABLES = {
    table: {name: case for m in MODULES for name, case in getattr(m, table, {}).items()}
    for table in CHECKS
}
"""The cases of all modules."""


def outcome(check, case):
    try:
        check(*case)
    except ModuleNotFoundError as error:
        return f"skip: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def main():
    warnings.simplefilter("ignore")
    with contextlib.suppress(ModuleNotFoundError):
        importlib.import_module("sklearn").set_config(array_api_dispatch=True)
    outcomes = {
        name: outcome(CHECKS[table], case)
        for table, cases in TABLES.items()
        for name, case in cases.items()
    }
    json.dump(outcomes, sys.stdout)


if __name__ == "__main__":
    main()
