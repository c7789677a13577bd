"""The numbers of an optimiser's step on CuPy, and on the device where a graph is captured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import cupy as cp
import numpy as np

from autograd_gpu.backends.cupy_live import LiveNumber
from autograd_gpu.backends.step_numbers import MOMENTA, Numbers
from autograd_gpu.recorder import recorder

Array = Any

_COUNTING = """
{functions}
extern "C" __global__ void autograd_gpu_numbers(
    const double* options, const double* skipped, double* out
) {{
    {lines}
}}
"""


class StepNumbers(NamedTuple):
    """What kernels of steps get besides arrays; 0 stands for none."""

    given: Any
    """The numbers by value."""
    live: Any
    """Where they are on the device instead: doubles."""
    flag: Any
    """A bool on the device with which nothing is changed, or which is set."""

    @classmethod
    def of_step(
        cls,
        numbers: Numbers,
        options: Callable[[], Mapping[str, Any]],
        skip: tuple[Array | None, Array] | None,
    ) -> StepNumbers:
        """In a recorded step `options` is called again for each repetition."""
        counts = skip is not None and "step" in numbers.options

        def read() -> tuple[float, ...]:
            now = options()
            chosen = [now[name] for name in numbers.options] if counts else numbers.values(**now)
            return tuple(map(float, chosen))

        watcher = recorder.get()
        values = read() if watcher is None else watcher.numbers(read)
        flag = _NONE if skip is None or skip[0] is None else skip[0]
        if not isinstance(values[0], LiveNumber):
            return cls(_by_value(numbers, values), _NONE, flag)
        live = values[0].array  # the others are right behind it
        if skip is not None and counts:
            live = cp.empty(len(numbers.names))
            _counting(numbers)((1,), (1,), (values[0].array, skip[1], live))
        return cls(_by_value(numbers, 0), live, flag)

    @classmethod
    def of_one(cls, numbers: Numbers, value: Any, flag: Array) -> StepNumbers:
        """The only number: a double on the device, or one of the host."""
        if isinstance(value, cp.ndarray):
            return cls(_by_value(numbers, 0), value, flag)
        return cls(_by_value(numbers, value), _NONE, flag)


_NONE = np.uintp(0)


def _by_value(numbers: Numbers, values: Any) -> Any:
    given = np.zeros((), [("value", np.float64, len(numbers.names))])
    given["value"] = values
    return given[()]


@cache
def _counting(numbers: Numbers) -> Any:
    """The kernel that makes of a step's options its numbers, with as many steps as were taken."""
    lines = [
        f"const double {name} = options[{k}]{' - *skipped' if name == 'step' else ''};"
        for k, name in enumerate(numbers.options)
    ]
    lines += [f"const double {name} = {formula};" for name, formula in numbers.formulas]
    lines += [f"out[{k}] = {name};" for k, name in enumerate(numbers.names)]
    functions = MOMENTA if any("momenta" in formula for _, formula in numbers.formulas) else ""
    source = _COUNTING.format(functions=functions, lines="\n    ".join(lines))
    return cp.RawKernel(source, "autograd_gpu_numbers")
