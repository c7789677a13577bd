"""The machine a run was made on, and a run as a Markdown table."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from harness import Result
from programs import PROGRAMS

PACKAGES = ("autograd_gpu", "numpy", "torch", "jax", "autograd", "mygrad", "tinygrad", "scipy")


def machine() -> dict[str, Any]:
    """What the numbers depend on besides the code."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = "not installed"
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": versions,
        "blas": _blas(),
        "commit": _commit(),
        "load": round(os.getloadavg()[0], 2),
    }


def _cpu_model() -> str:
    try:
        info = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor()
    fields = dict(
        (part.strip() for part in line.split(":", 1)) for line in info.splitlines() if ":" in line
    )
    name = fields.get("model name", platform.processor())
    detail = [f"{key} {fields[key]}" for key in ("cpu family", "model") if key in fields]
    return f"{name} ({', '.join(detail)})" if detail else name


def _blas() -> str:
    import numpy as np

    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return f"{blas['name']} {blas['version']}"


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        return subprocess.run(
            command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def markdown(reports: list[dict[str, Any]]) -> str:
    """One section per thread count, the machine in front."""
    first = reports[0]
    info = first["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in info["versions"].items())
    lines = [
        f"# Benchmarks, {first['date']}, CPU",
        "",
        f"- CPU: {info['cpu']}, {info['cores']} cores, {info['system']}",
        f"- Python {info['python']}, {versions}; NumPy's BLAS: {info['blas']}",
        f"- Commit {info['commit']}; load before the run: {info['load']}",
        "",
        "A cell holds the ratio of medians, ours divided by the peer's (below 1: ours is faster or",
        "smaller), and in brackets the peer's median. float32, unless a note says otherwise.",
    ]
    for report in reports:
        lines += ["", f"## {_title(report)}", *_tables(report["results"])]
    return "\n".join(lines) + "\n"


GROSS = 2.0
SHORT = 1e-5  # seconds


def regressions(reports: list[dict[str, Any]], before: list[dict[str, Any]]) -> list[str]:
    """The rows whose ratio to NumPy by hand has grown by more than `GROSS`.

    Two machines differ less in that ratio than in any time, and noise does not double it; of ops
    that NumPy does within microseconds the mean counts.
    """
    known = {
        (report["threads"], row["family"], row["name"]): row["ratios"]["numpy"]
        for report in before
        for row in report["results"]
        if "numpy" in row["ratios"]
    }
    found = []
    for report in reports:
        for row in report["results"]:
            old = known.get((report["threads"], row["family"], row["name"]))
            new = row["ratios"].get("numpy")
            by_hand = row["programs"].get("numpy", {})
            if "samples" in by_hand and by_hand["median"] < SHORT:
                continue
            if old is not None and new is not None and new > GROSS * old:
                found.append(
                    f"{row['family']}: {row['name']}: {significant(new)}, was {significant(old)}"
                )
    return found


def _title(report: dict[str, Any]) -> str:
    threads = report["threads"]
    return (
        f"{threads} thread{'s' if threads > 1 else ''}, {report['clock']} time, "
        f"{report['rounds']} rounds{', quick' if report['quick'] else ''}"
    )


def _tables(results: list[Result]) -> Iterable[str]:
    notes: list[str] = []
    shown = [p for p in PROGRAMS if any(p in result["programs"] for result in results)]
    for family in dict.fromkeys(result["family"] for result in results):
        header = ["", *(PROGRAMS[program] for program in shown)]
        yield from ("", f"### {family}", "")
        yield "| " + " | ".join(header) + " |"
        yield "|" + "---|" + "---:|" * len(shown)
        for result in results:
            if result["family"] == family:
                cells = [_cell(result, program, notes) for program in shown]
                yield f"| {result['name']} | {' | '.join(cells)} |"
    if notes:
        yield ""
        yield from (f"{i}. {note}" for i, note in enumerate(notes, 1))


def _cell(result: Result, program: str, notes: list[str]) -> str:
    state = result["programs"].get(program, {"status": "absent", "reason": "no such row"})
    remarks = [note["text"] for note in result["notes"] if note["program"] == program]
    if "median" not in state:
        text = "–" if state["status"] == "absent" else state["status"]
        remarks.append(state["reason"])
    else:
        text = quantity(state["median"], result["unit"])
        if program in result["ratios"]:
            text = f"{significant(result['ratios'][program])} ({text})"
    for remark in remarks:
        note = " ".join(remark.split())  # on one line; the column says of which program
        if note not in notes:
            notes.append(note)
        text += f" [{notes.index(note) + 1}]"
    return text


def significant(value: float, digits: int = 3) -> str:
    """Three figures, without an exponent."""
    exponent = int(f"{value:.{digits - 1}e}".split("e")[1])
    return f"{value:.{max(0, digits - 1 - exponent)}f}"


def quantity(value: float, unit: str) -> str:
    """A time or a size in the unit that suits it."""
    if unit == "bytes":
        return f"{significant(value / 2**20)} MiB"
    for factor, name in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= factor:
            return f"{significant(value / factor)} {name}"
    return f"{significant(value / 1e-9)} ns"
