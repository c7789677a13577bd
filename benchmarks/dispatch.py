"""What NumPy's dispatch adds to an op: `np.sum(v, axis=0)` against `ag.sum(v, axis=0)`.

    python benchmarks/dispatch.py

Prints microseconds for both spellings and their difference, each the best of many short rounds.
"""

from __future__ import annotations

import timeit

import numpy as np

import autograd_gpu as ag

CALLS = {
    "np.exp(v)": "ag.exp(v)",
    "np.add(v, v)": "ag.add(v, v)",
    "a * v": "ag.multiply(a, v)",
    "np.sum(v)": "ag.sum(v)",
    "np.sum(v, axis=0)": "ag.sum(v, axis=0)",
    "np.mean(v, axis=0, keepdims=True)": "ag.mean(v, axis=0, keepdims=True)",
    "np.add.reduce(v, axis=0)": "ag.sum(v, axis=0)",
    "np.concatenate([v, v])": "ag.concat([v, v])",
    "np.stack([v, v], axis=1)": "ag.stack([v, v], axis=1)",
    "np.where(mask, v, 0.0)": "ag.where(mask, v, 0.0)",
    "np.cumsum(v, axis=1)": "ag.cumulative_sum(v, axis=1)",
    "np.clip(v, 0.0, 1.0)": "ag.clip(v, 0.0, 1.0)",
    "np.einsum('ij,jk', v, v)": "ag.einsum('ij,jk', v, v)",
    "np.linalg.norm(v)": "ag.linalg.norm(v)",
    "np.fft.fft(v)": "ag.fft.fft(v)",
}

a = np.ones((8, 8))
SCOPE = {"np": np, "ag": ag, "a": a, "mask": a > 0, "v": ag.Variable(a, requires_grad=True)}


def best(*statements: str, rounds: int = 25, number: int = 500) -> list[float]:
    """Microseconds for each statement: the best of `rounds`, which take turns."""
    timers = [timeit.Timer(statement, globals=SCOPE) for statement in statements]
    times = [[timer.timeit(number) for timer in timers] for _ in range(rounds)]
    return [min(column) / number * 1e6 for column in zip(*times, strict=True)]


def main() -> None:
    for numpy_call, op_call in CALLS.items():
        whole, op = best(numpy_call, op_call)
        print(f"{numpy_call:35} {whole:6.2f} {op:6.2f} {whole - op:6.2f}")


if __name__ == "__main__":
    main()
