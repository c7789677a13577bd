"""Rows of other families with our whole step through `autograd_gpu.compile`.

The results that are compared are those of a replay.
"""

from __future__ import annotations

from rows import Row
from rows_gpt import GPTBlock
from rows_mlp import Classifier, TinyMLP
from rows_transforms import Hessian, HessianVectorProduct, Jacobian


def compiled(row: Row) -> Row:
    """The same row, with a compiled step."""
    row.name, row.family, row.compiled = f"{row.name}, compiled", "compiled steps", True
    return row


ROWS: list[Row] = [
    compiled(row)
    for row in (
        TinyMLP(),
        Classifier((64, 256, 128, 10), batch=128),
        GPTBlock(),
        HessianVectorProduct(),
        Jacobian(),
        Hessian(),
    )
]
