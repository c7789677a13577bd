"""The arrays that a function refers to."""

import functools

import numpy as np

from autograd_gpu.backend import load_backend
from autograd_gpu.references import arrays_of

load_backend("numpy")
TABLE = np.ones(2)


def names(function, **arrays):
    """Which of `arrays` are found."""
    found = {id(x) for x in arrays_of(function)}
    return {name for name, x in arrays.items() if id(x) in found}


def test_closures_globals_and_defaults():
    a, b, c, d, e = (np.ones(1) for _ in range(5))
    inner, unused = {"c": c}, np.ones(1)

    def step(x, y=b, *, z=(d,)):
        def nested():
            return TABLE * inner["c"]

        return x * a + nested() + y + z[0] + later

    assert names(step, a=a, b=b, c=c, d=d, e=e, table=TABLE, unused=unused) == {
        "a", "b", "c", "d", "table",
    }  # fmt: skip
    later = e
    assert names(step, a=a, e=e) == {"a", "e"}


def test_methods_and_partials():
    class Model:
        def __init__(self):
            self.w, self.parts = np.ones(1), [np.ones(2)]

        def step(self, x):
            return x * self.w

    model, given = Model(), np.ones(3)
    assert names(model.step, w=model.w, part=model.parts[0]) == {"w", "part"}
    assert names(functools.partial(model.step, given), given=given, w=model.w) == {"given", "w"}


def test_functions_without_code_have_none():
    assert arrays_of(np.sin) == arrays_of(len) == []
