"""What is public can be pickled by its name, and so sent to another process."""

import copy
import functools
import multiprocessing
import os
import pickle
import subprocess
import sys
import types

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu import data, fft, linalg, nn, optim, special
from autograd_gpu.nn import functional

NAMESPACES = [ag, linalg, fft, special, functional, nn, optim, data, nn.init]


def functions():
    """(name, function) for all functions and classes that a user can name."""
    for namespace in NAMESPACES:
        for name, value in vars(namespace).items():
            if not name.startswith("_") and callable(value):
                yield f"{namespace.__name__}.{name}", value


def methods():
    for name in dir(ag.Variable):
        value = getattr(ag.Variable, name)
        if not name.startswith("_") and callable(value):
            yield f"Variable.{name}", value


EVERYTHING = dict([*functions(), *methods()])


def test_ops_layers_and_methods_are_among_them():
    assert {"autograd_gpu.sum", "autograd_gpu.nn.functional.relu", "Variable.sum"} < set(EVERYTHING)
    assert len(EVERYTHING) > 800


@pytest.mark.parametrize("protocol", [0, 2, pickle.HIGHEST_PROTOCOL])
def test_pickle(protocol):
    failed = {}
    for name, value in EVERYTHING.items():
        try:
            same = pickle.loads(pickle.dumps(value, protocol)) is value
        except Exception as error:
            failed[name] = error
        else:
            if not same and not isinstance(value, types.MethodType):
                failed[name] = "another object"
    assert failed == {}


def test_copies_are_the_same():
    for name, value in EVERYTHING.items():
        if not isinstance(value, types.MethodType):
            assert copy.copy(value) is value, name
            assert copy.deepcopy(value) is value, name


def test_without_the_compiled_core():
    code = "import sys; sys.path.insert(0, 'tests'); import test_pickle; test_pickle.test_pickle(4)"
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        cwd=os.path.dirname(os.path.dirname(__file__)),
        env={**os.environ, "AUTOGRAD_GPU_PURE_PYTHON": "1"},
    )


def test_things_that_hold_ops():
    loss = functools.partial(ag.sum, axis=0)
    x = np.ones((2, 3))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(loss))(x).value, [2.0, 2.0, 2.0])
    bound = pickle.loads(pickle.dumps(ag.Variable(x).max))
    assert bound().item() == 1.0
    gradient = copy.deepcopy(ag.grad(ag.sum))
    np.testing.assert_array_equal(gradient(x), x)


def test_in_another_process():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for op in (ag.sum, ag.max, ag.exp, linalg.vector_norm):
            y = pool.apply(op, (np.ones(4),))
            np.testing.assert_array_equal(y.value, op(np.ones(4)).value)
