"""Measure autograd_gpu beside other programs that compute the same: see README.md here."""

from __future__ import annotations

import argparse
import datetime
import fnmatch
import importlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rows import Row

HERE = Path(__file__).resolve().parent
FAMILIES = (
    "small",
    "chain",
    "mlp",
    "kernels",
    "fused",
    "norms",
    "products",
    "lenet",
    "gpt",
    "lstm",
    "physics",
    "transforms",
    "compiled",
    "memory",
)


def all_rows() -> list[Row]:
    """Every row that is timed in one process with the others."""
    return [row for name in FAMILIES for row in importlib.import_module(f"rows_{name}").ROWS]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--threads", type=int, nargs="+", default=[1], help="thread counts; each is a run"
    )
    parser.add_argument(
        "--rows",
        metavar="PATTERN",
        nargs="+",
        default=["*"],
        help="parts of 'family: row', or globs for it",
    )
    parser.add_argument("--programs", nargs="+", help="the programs to time; the default is all")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="shorter slices, three rounds")
    parser.add_argument("--json", type=Path, metavar="OUT")
    parser.add_argument("--markdown", type=Path, metavar="OUT")
    parser.add_argument("--save", action="store_true", help="write results/DATE-cpu.md and .json")
    parser.add_argument(
        "--check",
        type=Path,
        metavar="JSON",
        help="fail if a ratio to NumPy by hand is more than twice the one in this report",
    )
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def environment(threads: int) -> dict[str, str]:
    """Equal thread counts, which libraries read when they are loaded, and no stray tuning."""
    # the first two slow NumPy's products down where they name another processor than the one at
    # hand; the third makes PyTorch's threads spin into the next program's slice
    dropped = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "OMP_WAIT_POLICY")
    # and without bytecode on the disk an import would be timed that compiles everything first
    dropped += ("PYTHONDONTWRITEBYTECODE",)
    env = {name: value for name, value in os.environ.items() if name not in dropped}
    counts = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUM_CPU_THREADS")
    for name in counts:  # the last is tinygrad's
        env[name] = str(threads)
    return env | {"AUTOGRAD_GPU_BACKEND": "numpy"}


def run_child(options: argparse.Namespace, threads: int) -> dict[str, Any]:
    """Measure in a process that has the environment from its start."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "report.json"
        command = [sys.executable, __file__, "--child", str(out), "--threads", str(threads)]
        command += ["--rows", *options.rows, "--rounds", str(options.rounds)]
        command += ["--quick"] * options.quick
        command += ["--programs", *options.programs] if options.programs else []
        done = subprocess.run(command, env=environment(threads), check=False)
        if done.returncode:
            sys.exit(done.returncode)
        return json.loads(out.read_text())


def measure_all(options: argparse.Namespace) -> dict[str, Any]:
    """The rows asked for, in this process."""
    import harness
    import processes
    import programs
    import report

    (threads,) = options.threads
    if programs.torch is not None:
        programs.torch.set_num_threads(threads)
    if options.programs:
        programs.keep(options.programs)
    rounds, scale = (3, 0.3) if options.quick else (options.rounds, 1.0)
    info = report.machine()
    results = []

    def wanted(family: str, name: str) -> bool:
        patterns = [p if any(c in p for c in "*?[") else f"*{p}*" for p in options.rows]
        return any(fnmatch.fnmatch(f"{family}: {name}", pattern) for pattern in patterns)

    for row in all_rows():
        in_memory = row.family.startswith("chain") or hasattr(row, "minimum")
        if not wanted(row.family, row.name):
            continue
        print(f"{row.family}: {row.name}", file=sys.stderr, flush=True)
        checked = harness.check_agreement(row, small=options.quick)
        results.append(harness.measure(row, checked, rounds, scale, threads))
        if in_memory and sys.platform == "linux":
            results.append(processes.peak_memory(row, checked))
    for family in importlib.import_module("rows_small").AGGREGATED:
        if any(result["family"] == family for result in results):
            last = max(i for i, r in enumerate(results) if r["family"] == family)
            results.insert(last + 1, harness.aggregate(results, family))
    if wanted("start", "import in a fresh process"):
        results.append(processes.import_times(rounds))
    if not results:
        sys.exit(f"no row matches {options.rows!r}")
    return {
        "date": datetime.date.today().isoformat(),
        "machine": info,
        "threads": threads,
        "clock": "processor" if threads == 1 else "wall",
        "rounds": rounds,
        "quick": options.quick,
        "results": results,
    }


def write(options: argparse.Namespace, reports: list[dict[str, Any]]) -> None:
    """The files asked for."""
    from report import markdown

    if options.markdown:
        options.markdown.write_text(markdown(reports))
    if options.json:
        options.json.write_text(json.dumps(reports, indent=1) + "\n")


def main() -> None:
    options = arguments()
    if options.child:
        options.child.write_text(json.dumps(measure_all(options)))
        return
    if options.save:
        stem = HERE / "results" / f"{datetime.date.today().isoformat()}-cpu"
        options.markdown = options.markdown or stem.with_suffix(".md")
        options.json = options.json or stem.with_suffix(".json")
    reports = []
    for threads in options.threads:
        reports.append(run_child(options, threads))
        # after every part, so that an interrupted run leaves what it has
        write(options, reports)
    from report import markdown

    print(markdown(reports))
    states = [s for r in reports for row in r["results"] for s in row["programs"].values()]
    if any(state["status"] == "failed" for state in states):
        sys.exit("programs failed: see the notes under the table")
    if options.check:
        from report import regressions

        found = regressions(reports, json.loads(options.check.read_text()))
        if found:
            sys.exit("slower than before, against NumPy by hand:\n" + "\n".join(found))


if __name__ == "__main__":
    main()
