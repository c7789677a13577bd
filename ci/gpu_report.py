"""Writes the report of ci/gpu.sh, as Markdown and as JSON, from what its steps have left so far.

    python ci/gpu_report.py OUT KIND DATE COMMIT

Reads OUT/steps.tsv, a line for each step that has ended, and OUT/benchmarks.json, and writes
OUT/KIND-DATE.md and OUT/KIND-DATE.json. KIND is "gpu" or "emulated".
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

CUPY = ("cupy-cuda13x", "cupy-cuda12x", "cupy")


def collect(out: Path, kind: str, date: str, commit: str) -> dict[str, Any]:
    """All that the report says."""
    report: dict[str, Any] = {
        "kind": kind,
        "date": date,
        "commit": commit,
        "device": device() if kind == "gpu" else None,
        "versions": versions(),
        "steps": [],
    }
    steps = out / "steps.tsv"
    for line in steps.read_text().splitlines() if steps.exists() else ():
        name, code, seconds, result = line.split("\t", 3)
        report["steps"].append(
            {"name": name, "exit": int(code), "seconds": int(seconds), "result": result}
        )
    benchmarks = out / "benchmarks.json"
    if benchmarks.exists():
        report["benchmarks"] = json.loads(benchmarks.read_text())
    return report


def device() -> str:
    """What the driver says of the GPUs."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    try:
        return subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        return f"unknown: {error}"


def versions() -> dict[str, str]:
    """Python and the packages that matter here, as far as they are installed."""
    found = {"Python": platform.python_version()}
    names = {"NumPy": ("numpy",), "CuPy": CUPY, "nvmath-python": ("nvmath-python",)}
    names |= {"PyTorch": ("torch",), "JAX": ("jax",)}
    for label, distributions in names.items():
        for name in distributions:
            try:
                found[label] = version(name)
                break
            except PackageNotFoundError:
                continue
    has_core = importlib.util.find_spec("autograd_gpu._core") is not None
    return {**found, "core": "compiled" if has_core else "in Python"}


def markdown(report: dict[str, Any]) -> str:
    """The report for people."""
    if report["kind"] == "gpu":
        lines = [f"# autograd_gpu on a GPU, {report['date']}", "", report["device"]]
    else:
        lines = [f"# autograd_gpu on an emulated CUDA runtime, {report['date']}", ""]
        lines.append("Nothing here ran on a GPU, and times say nothing about one.")
    used = ", ".join(f"{name} {number}" for name, number in report["versions"].items())
    lines += ["", f"Commit {report['commit']}; {used}", ""]
    lines += ["| step | result | seconds |", "|---|---|---|"]
    for step in report["steps"]:
        result = step["result"].replace("|", " ")
        lines.append(f"| {step['name']} | {result} (exit {step['exit']}) | {step['seconds']} |")
    if "benchmarks" in report:
        lines += ["", *table(report["benchmarks"])]
    return "\n".join(lines) + "\n"


def table(benchmarks: dict[str, Any]) -> list[str]:
    """The measured rows."""
    lines = ["| what | wall, µs | device, µs | |", "|---|---|---|---|"]
    for name, row in benchmarks["rows"].items():
        rest = ", ".join(
            f"{k.replace('_', ' ')} {v:.3g}" if isinstance(v, float) else f"{k}: {v}"
            for k, v in row.items()
            if k not in ("wall_us", "device_us")
        )
        times = (f"{row[k]:.1f}" if k in row else "" for k in ("wall_us", "device_us"))
        lines.append(f"| {name} | {' | '.join(times)} | {rest.replace('|', ' ')} |")
    if not benchmarks["complete"]:
        lines += ["", "The time ran out before the last row."]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path, help="where the steps left what is reported")
    parser.add_argument("kind", choices=["gpu", "emulated"])
    parser.add_argument("date")
    parser.add_argument("commit")
    given = parser.parse_args()
    out, kind, date = given.out, given.kind, given.date
    report = collect(out, kind, date, given.commit)
    (out / f"{kind}-{date}.json").write_text(json.dumps(report, indent=1) + "\n")
    (out / f"{kind}-{date}.md").write_text(markdown(report))


if __name__ == "__main__":
    main()
