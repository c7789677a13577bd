"""Samples of every primitive, by name: the table that tests/ops/test_table.py runs."""

from samples import (
    elementwise,
    fft,
    functions,
    linalg,
    reductions,
    scipy_functions,
    special,
    structure,
)
from samples.sample import Sample as Sample

SAMPLES: dict[str, list[Sample]] = {}
for _family in (
    elementwise, fft, functions, linalg, reductions, scipy_functions, special, structure,
):  # fmt: skip
    for _name, _samples in _family.TABLE.samples.items():
        SAMPLES.setdefault(_name, []).extend(_samples)
