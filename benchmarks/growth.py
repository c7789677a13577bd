"""How time grows with the size of the work, as log-log plots: see README.md here."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from run import environment

if TYPE_CHECKING:
    from rows import Row

HERE = Path(__file__).resolve().parent
PROGRAMS = ("ours", "numpy", "torch", "jax")
ROUNDS = 5


def series() -> Iterator[tuple[str, str, list[int], Callable[[int], Row]]]:
    """Of each plot its title, what grows, the sizes, and the row of a size."""
    from rows_chain import Chain
    from rows_kernels import Gelu
    from rows_memory import DeepMLP
    from rows_mlp import Classifier

    yield (
        "a chain of ops on 16 numbers",
        "ops",
        [10**i for i in range(1, 7)],
        lambda n: Chain("step", n // 2),
    )
    yield "GELU", "elements", [4**i for i in range(2, 13)], Gelu
    yield (
        "layers of width 64, batch 64",
        "layers",
        [2**i for i in range(8)],
        lambda n: DeepMLP(n, 64, 64),
    )
    yield (
        "MLP 64-256-128-10 with Adam",
        "batch",
        [2**i for i in range(0, 13, 2)],
        lambda n: Classifier((64, 256, 128, 10), n),
    )


def measure() -> list[dict[str, Any]]:
    """Seconds per step of each program at each size, in this process, with one thread."""
    import numpy as np

    import harness
    import programs
    from peers import build
    from rows import make_data

    if programs.torch is not None:
        programs.torch.set_num_threads(1)
    results = []
    for title, grows, sizes, make in series():
        times: dict[str, list[float | None]] = {}
        for size in sizes:
            print(f"{title}: {size} {grows}", file=sys.stderr, flush=True)
            row = make(size)
            running = {}
            for program in PROGRAMS:
                if programs.why_absent(program) or row.why_left_out(program):
                    continue
                running[program] = build(row, program, make_data(row, np.float32, small=False))
            medians = {
                program: sorted(values)[len(values) // 2]
                for program, values in harness.interleave(
                    running, ROUNDS, 0.05, time.process_time, lambda: None
                ).items()
            }
            for program in PROGRAMS:
                times.setdefault(program, []).append(medians.get(program))
        results.append({"title": title, "grows": grows, "sizes": sizes, "times": times})
    return results


def draw(results: list[dict[str, Any]], out: Path) -> None:
    """One panel per series; equal slopes are equal growth."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    import programs

    figure, panels = plt.subplots(2, 2, figsize=(10, 7.5), layout="constrained")
    for panel, result in zip(panels.flat, results, strict=True):
        for program, times in result["times"].items():
            if any(times):
                panel.loglog(result["sizes"], times, ".-", label=programs.PROGRAMS[program])
        panel.set(title=result["title"], xlabel=result["grows"], ylabel="seconds per step")
        panel.grid(alpha=0.3)
    panels.flat[-1].legend()
    figure.savefig(out)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    stem = HERE / "results" / f"{datetime.date.today().isoformat()}-growth"
    parser.add_argument("--out", type=Path, default=stem, help="without .svg and .json")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        results = measure()
        options.out.with_suffix(".json").write_text(json.dumps(results, indent=1) + "\n")
        return
    command = [sys.executable, __file__, "--child", "--out", os.fspath(options.out)]
    subprocess.run(command, env=environment(1), check=True)
    draw(json.loads(options.out.with_suffix(".json").read_text()), options.out.with_suffix(".svg"))


if __name__ == "__main__":
    main()
