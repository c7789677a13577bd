"""Checks of array indices under `debug_indices`; see `autograd_gpu.devices`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograd_gpu.backend import BACKENDS

active: list[Any] = []
"""The reports of the `debug_indices` that are in force; ops look whether there are any."""


def check_index(op: str, x: Any, shape: Sequence[int], index: Any) -> None:
    """Let the active reports look at the integer arrays in `index` into an array of `shape`."""
    if BACKENDS[x.__class__].index_report() is None:  # this backend raises by itself
        return
    entries = index if index.__class__ is tuple else (index,)
    used = sum(map(_axes, entries))
    axis = 0
    for entry in entries:
        if entry is Ellipsis:
            axis += len(shape) - used
            continue
        if hasattr(entry, "dtype") and entry.dtype.kind in "iu" and entry.__class__ in BACKENDS:
            for report in active:
                report.add(f"{op}, axis {axis}", entry, -shape[axis], shape[axis])
        axis += _axes(entry)


def _axes(entry: Any) -> int:
    if entry is None or entry is Ellipsis:
        return 0
    return entry.ndim if hasattr(entry, "dtype") and entry.dtype.kind == "b" else 1
