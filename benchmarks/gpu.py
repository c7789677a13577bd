"""Measures on a GPU: what the device can do, and how much of it forwards and backwards reach.

    python benchmarks/gpu.py --out OUT [--seconds 240] [--small]

Times are medians by CUDA events over several steps, and, beside them, wall time per step with one
wait at the end.  PyTorch and JAX take part where they are installed and see the same GPU, in plain
float32 as ours.  After each row OUT/benchmarks.json is written anew, so that an early end leaves
what there is; ci/gpu_report.py makes a table of it.  `--small` has sizes to try the script with.
"""

from __future__ import annotations

import argparse
import json
import time
import traceback
from pathlib import Path
from typing import Any

import cupy as cp

import autograd_gpu as ag
import gpu_clock
from autograd_gpu.backend import load_backend
from gpu_rows import ROWS


def write(out: Path, rows: dict[str, dict[str, Any]], device: str, complete: bool) -> None:
    out.mkdir(parents=True, exist_ok=True)
    report = {"device": device, "complete": complete, "rows": rows}
    (out / "benchmarks.json").write_text(json.dumps(report, indent=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--small", action="store_true")
    args = parser.parse_args()
    gpu_clock.SMALL = args.small
    load_backend("cupy")
    ag.set_backend("cupy")
    name = "emulated" if args.small else cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    rows: dict[str, dict[str, Any]] = {}
    end = time.monotonic() + args.seconds
    failed, complete = False, True
    for make in ROWS:
        try:
            for label, row in make():
                rows[label] = row
                write(args.out, rows, name, False)
                complete = time.monotonic() < end
                if not complete:
                    break
        except Exception as error:
            traceback.print_exc()
            rows[make.__name__] = {"error": f"{type(error).__name__}: {error}"[:200]}
            failed = True
        if not complete:
            break
        cp.get_default_memory_pool().free_all_blocks()
    write(args.out, rows, name, complete)
    print(f"{len(rows)} rows on {name}{'' if complete else ', incomplete'}")
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
