"""Random programs of array calls, views, in-place changes and derivatives, compiled and eager."""

from __future__ import annotations

import numpy as np
import pytest
from compiled_steps import bits
from hypothesis import HealthCheck, given, settings, strategies as st

import autograd_gpu as ag

SHAPE = (3, 4)

# Functions of a list of Variables [3, 4] and a number that give another one, or change one.
NEW = {
    "add": lambda a, b, c: a + b * c,
    "subtract": lambda a, b, c: c - a,
    "multiply": lambda a, b, c: a * b,
    "divide": lambda a, b, c: a / (b * b + 1.5),
    "square": lambda a, b, c: a**2,
    "cube": lambda a, b, c: (a * 0.5) ** 3,
    "root": lambda a, b, c: (a * a + 1) ** 0.5,
    "sin": lambda a, b, c: ag.sin(a),
    "tanh": lambda a, b, c: ag.tanh(a * c),
    "exp": lambda a, b, c: ag.exp(-(a * a)),
    "maximum": lambda a, b, c: ag.maximum(a, b),
    "where": lambda a, b, c: ag.where(a > b, a, c),
    "matmul": lambda a, b, c: (a @ b.T) @ a * 0.1,
    "sum": lambda a, b, c: a - a.sum(axis=1, keepdims=True) * 0.1,
    "mean": lambda a, b, c: a - a.mean(),
    "scalars": lambda a, b, c: a * (ag.sum(b) ** 2 / (ag.max(a) ** 2 + 3)),
    "softmax": lambda a, b, c: ag.softmax(a * c, axis=0),
    "transpose": lambda a, b, c: ag.reshape(a.T, (3, 4)),
    "permuted": lambda a, b, c: ag.permute_dims(ag.reshape(a, (4, 3)), (1, 0)) + b,
    "flip": lambda a, b, c: a[::-1, ::2].sum() * b[:, ::-1],
    "rows": lambda a, b, c: a[np.array([2, 0, 0])],
    "stack": lambda a, b, c: ag.stack([a, b, a], axis=1)[:, 1, :] + ag.concat([a, b])[2:5],
    "split": lambda a, b, c: ag.concat(ag.split(a, 2, axis=1)[::-1], axis=1),
    "cumsum": lambda a, b, c: ag.cumulative_sum(a * 0.3, axis=1),
    "sort": lambda a, b, c: ag.sort(a, axis=1),
    "norm": lambda a, b, c: a / ag.linalg.vector_norm(b, axis=0, keepdims=True),
    "dropout": lambda a, b, c: ag.nn.functional.dropout(a, 0.3),
    "constant": lambda a, b, c: a + ag.ones((3, 1)) * np.arange(4, dtype=np.float32),
    "raw": lambda a, b, c: ag.Variable(np.hypot(a.value, b.value)),
}


def set_row(a, b, c):
    a = a + 0
    a[1] = b[0] * c
    return a


def change_in_place(a, b, c):
    a = a * 1
    view = a[:2]
    a += b
    a *= c
    return a + view.sum()


def change_raw(a, b, c):
    value = a.value.copy()
    value[:, 1:] *= b.value[:, 1:]
    value += c
    np.negative(value[0], out=value[0])
    return ag.Variable(value)


OPS = NEW | {"set": set_row, "in place": change_in_place, "raw in place": change_raw}

STEP = st.tuples(
    st.sampled_from(sorted(OPS)),
    st.integers(0, 20),
    st.integers(0, 20),
    st.sampled_from([0.5, -1.25, 2.0]),
)


def step_of(program, order, parameter):
    def step(x, y):
        variables = [ag.Variable(x, requires_grad=True), ag.Variable(y), parameter]
        for name, i, j, c in program:
            a, b = variables[i % len(variables)], variables[j % len(variables)]
            variables.append(OPS[name](a, b, c))
        total = sum(ag.sum(v * (k + 1)) for k, v in enumerate(variables[3:]))
        leaves = [variables[0], parameter]
        results = [v.detach() for v in variables[-2:]]
        for _ in range(order):
            if not isinstance(total, ag.Variable) or not total.requires_grad:
                break
            grads = ag.gradients(total, leaves, create_graph=True, allow_unused=True)
            results += [g if g is None else g.detach() for g in grads]
            total = sum(ag.sum(ag.sin(g)) for g in grads if g is not None)
        with ag.no_grad():
            parameter.value *= 0.9
            parameter.value += results[0].value * 0.01
        return results

    return step


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(STEP, min_size=1, max_size=12), st.integers(0, 2), st.integers(0, 10**6))
def test_random_programs(program, order, seed):
    rng = np.random.default_rng(seed)
    inputs = rng.standard_normal((6, 2, *SHAPE)).astype(np.float32)
    histories = []
    for compiled in (False, True):
        ag.manual_seed(seed)
        parameter = ag.Variable(np.full(SHAPE, 0.7, np.float32), requires_grad=True)
        step = step_of(program, order, parameter)
        run = ag.compile(step) if compiled else step
        histories.append([bits([run(x, y), parameter]) for x, y in inputs])
    assert histories[0] == histories[1]
    assert run.reason is None
    assert run.replays == len(inputs) - 3
