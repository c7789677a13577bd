"""Rows that need a fresh process per program: import time and peak memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

from harness import Result, summarise
from peers import build
from programs import MODULES, PROGRAMS
from rows import Row, make_data

IMPORTS = {
    "ours": "autograd_gpu",
    "numpy": "numpy",
    "torch": "torch",
    "jax": "jax.numpy",
    "autograd": "autograd.numpy",
    "mygrad": "mygrad",
    "tinygrad": "tinygrad",
}
TIME_IMPORT = """
import importlib, sys, time
start = time.perf_counter()
importlib.import_module(sys.argv[1])
print(time.perf_counter() - start)
"""


def import_times(rounds: int) -> Result:
    """Wall time of `import X` in a new interpreter, X's own imports included."""
    checked: dict[str, Result] = {}
    for program in IMPORTS.keys() & PROGRAMS.keys():
        installed = MODULES[program] is not None and hasattr(MODULES[program], "__file__")
        checked[program] = (
            {"status": "ok"} if installed else {"status": "missing", "reason": "not installed"}
        )
    samples: dict[str, list[float]] = {
        program: [] for program, state in checked.items() if state["status"] == "ok"
    }
    for i in range(rounds + 1):
        for program, values in samples.items():
            seconds = float(_output("-c", TIME_IMPORT, IMPORTS[program]))
            if i > 0:  # the first round fills the file cache
                values.append(seconds)
    return summarise("import in a fresh process", "start", "s", checked, samples)


def peak_memory(row: Row, checked: dict[str, Result]) -> Result:
    """How far one step raises the resident memory of a fresh process at its peak.

    Measured once: it repeats to within a few percent.
    """
    samples = {
        program: [float(_output(__file__, row.family, row.name, program))]
        for program, state in checked.items()
        if state["status"] == "ok"
    }
    notes = []
    if hasattr(row, "minimum"):
        ratios = ", ".join(
            f"{PROGRAMS[program]} {values[0] / row.minimum():.2f}"
            for program, values in samples.items()
        )
        text = f"of the {row.minimum() / 2**20:.0f} MiB that the step takes at least: {ratios}"
        notes.append({"program": "ours", "text": text})
    return summarise(f"{row.name}, peak memory", row.family, "bytes", checked, samples, notes)


def _output(*arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments[-2:])} failed:\n{done.stderr}")
    return done.stdout


def _resident(field: str) -> int:
    """A figure of this process in bytes (Linux)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"no {field} in /proc/self/status")


def _measure_peak(row: Row, program: str) -> int:
    """Bytes between what was resident before the step and the peak during it."""
    small = build(row, program, make_data(row, np.float32, small=True))
    full = build(row, program, make_data(row, np.float32, small=False))
    with full.context():
        small.step()  # what is allocated once, at the first use, is not the chain's
        Path("/proc/self/clear_refs").write_text("5")  # starts the high-water mark anew
        before = _resident("VmRSS")
        kept = full.step()
        peak = _resident("VmHWM")
    del kept
    return peak - before


def main(family: str, name: str, program: str) -> None:
    from run import all_rows

    row = next(row for row in all_rows() if (row.family, row.name) == (family, name))
    print(_measure_peak(row, program))


if __name__ == "__main__":
    main(*sys.argv[1:])
