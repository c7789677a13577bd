"""Every public docstring's example runs."""

import doctest
import importlib
import importlib.util
import pkgutil

import numpy as np
import pytest

import autograd_gpu as ag

OPTIONAL = {"autograd_gpu.einops": "einops"}
"""Modules that import what need not be installed."""


def modules():
    yield ag
    for info in pkgutil.walk_packages(ag.__path__, "autograd_gpu."):
        needed = OPTIONAL.get(info.name)
        if needed is not None and importlib.util.find_spec(needed) is None:
            continue
        if not info.name.startswith("autograd_gpu.backends"):
            yield importlib.import_module(info.name)


def documented():
    """(name, object) of whatever has an example, once each."""
    seen = set()
    for module in modules():
        owners = [(module.__name__, module)]
        for name, value in vars(module).items():
            if not callable(value):  # a type variable has typing's docstring
                continue
            if getattr(value, "__module__", None) == module.__name__ and not name.startswith("_"):
                owners.append((f"{module.__name__}.{name}", value))
        for name, value in list(owners[1:]):
            if isinstance(value, type):
                owners += [
                    (f"{name}.{attribute}", member)
                    for attribute, member in vars(value).items()
                    if callable(member) or isinstance(member, property)
                ]
        for name, value in owners:
            if ">>>" in (getattr(value, "__doc__", None) or "") and id(value) not in seen:
                seen.add(id(value))
                yield name, value


EXAMPLES = list(documented())


@pytest.mark.parametrize("value", [pytest.param(v, id=n) for n, v in EXAMPLES])
def test_example(value):
    # An example sees the public names of the package that it is in, and those of the library.
    package = getattr(value, "__module__", ag.__name__).rpartition(".")[0] or ag.__name__
    public = vars(importlib.import_module(package))
    globs = {**vars(ag), **public, "ag": ag, "np": np, "__name__": "example"}
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
    test = doctest.DocTestParser().get_doctest(
        value.__doc__, globs, getattr(value, "__name__", "example"), None, None
    )
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=flags)
    runner.run(test, out=report.append)
    assert not runner.failures, "".join(report)
    assert runner.tries


def test_there_are_examples():
    assert len(EXAMPLES) > 20
