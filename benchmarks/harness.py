"""Checking that programs agree, timing them in turn, and the arithmetic on the times."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from peers import MODULES, PROGRAMS, Program, build, host
from rows import Row, make_data

Clock = Callable[[], float]
Result = dict[str, Any]  # what goes into the JSON report

SLOW = 1.0  # seconds per call from which a program is timed in the first SLOW_ROUNDS rounds only
SLOW_ROUNDS = 3


class Disagreement(Exception):
    """Two programs computed different gradients for the same row."""


def why_missing(error: BaseException) -> str | None:
    """The name that autograd_gpu lacks, if that is what went wrong; None for any other error."""
    if isinstance(error, AttributeError) and error.name is not None:
        owner = error.obj
        module = getattr(owner, "__name__", "") or type(owner).__module__
        if isinstance(module, str) and module.split(".")[0] == "autograd_gpu":
            return error.name
    return None


def status(row: Row, program: str) -> Result:
    """Whether a program takes part in a row, and if not, why."""
    if MODULES[program] is None:
        return {"status": "absent", "reason": "not installed"}
    if program in row.absent:
        return {"status": "absent", "reason": row.absent[program]}
    return {"status": "ok"}


def run_once(row: Row, program: str, dtype: type, small: bool) -> list[np.ndarray]:
    """What one step on fresh data returns, on the host."""
    step, context = build(row, program, make_data(row, dtype, small))
    with context():
        return [host(value) for value in step()]


def check_agreement(row: Row, small: bool, rtol: float = 1e-6) -> dict[str, Result]:
    """Compare every program's float64 results with those by hand; return each one's status."""
    expected = run_once(row, "numpy", np.float64, small)
    checked: dict[str, Result] = {"numpy": {"status": "ok"}}
    for program in PROGRAMS:
        if program == "numpy":
            continue
        checked[program] = status(row, program)
        if checked[program]["status"] != "ok":
            continue
        try:
            results = run_once(row, program, np.float64, small)
        except AttributeError as error:
            name = why_missing(error)
            if program != "ours" or name is None:
                raise
            checked[program] = {"status": "missing", "reason": f"no {name} yet"}
            continue
        compare(f"{row.name}: {PROGRAMS[program]}", results, expected, rtol)
    return {program: checked[program] for program in PROGRAMS}


def compare(
    what: str, results: Sequence[np.ndarray], expected: Sequence[np.ndarray], rtol: float
) -> None:
    """Raise Disagreement unless shapes are equal and numbers are close."""
    if len(results) != len(expected):
        raise Disagreement(f"{what} returned {len(results)} arrays, expected {len(expected)}")
    for i, (result, reference) in enumerate(zip(results, expected, strict=True)):
        if result.shape != reference.shape:
            raise Disagreement(f"{what}, array {i}: shape {result.shape}, not {reference.shape}")
        # numbers that nearly cancel are compared on the scale of the array
        atol = 1e-3 * rtol * float(np.abs(reference).max(initial=0))
        if not np.allclose(result, reference, rtol=rtol, atol=atol):
            worst = float(np.abs(result - reference).max())
            raise Disagreement(f"{what}, array {i}: off by up to {worst:.3g}")


def time_calls(step: Callable[[], Any], calls: int, clock: Clock) -> float:
    """Seconds per call."""
    repeat = range(calls)
    start = clock()
    for _ in repeat:
        step()
    return (clock() - start) / calls


def calibrate(step: Callable[[], Any], seconds: float, clock: Clock) -> int:
    """How many calls make a slice of about that many seconds."""
    calls = 1
    while True:
        per_call = time_calls(step, calls, clock)
        if per_call * calls >= seconds / 8:
            return max(1, round(seconds / per_call))
        calls *= 4


def interleave(
    programs: Mapping[str, Program],
    rounds: int,
    seconds: float,
    clock: Clock,
    settle: Callable[[], object],
) -> dict[str, list[float]]:
    """Seconds per call, one number per round; in a round every program has its slice in turn.

    So a disturbance (a neighbour on the machine, a change of clock speed) falls on all
    programs, not on one. `settle` runs before each slice: it waits until the threads of the
    program before have gone to sleep. One call without timing follows, to warm the caches.
    """
    calls = {}
    for name, (step, context) in programs.items():
        with context():
            calls[name] = calibrate(step, seconds, clock)
    times: dict[str, list[float]] = {name: [] for name in programs}
    for i in range(rounds):
        for name, (step, context) in programs.items():
            slow = i > 0 and times[name][0] >= SLOW
            if slow and i >= SLOW_ROUNDS:
                continue
            settle()
            with context():
                if not slow:
                    step()
                times[name].append(time_calls(step, calls[name], clock))
    return times


def measure(
    row: Row, checked: dict[str, Result], rounds: int, scale: float, clock: Clock
) -> Result:
    """Time the programs that passed the check, in float32."""
    programs, notes = {}, []
    for name, state in checked.items():
        if state["status"] != "ok":
            continue
        programs[name] = build(row, name, make_data(row, np.float32, small=False))
        with programs[name].context():
            dtypes = {host(value).dtype for value in programs[name].step()}
        if dtypes != {np.dtype(np.float32)}:
            widened = ", ".join(sorted(str(t) for t in dtypes - {np.dtype(np.float32)}))
            notes.append({"program": name, "text": f"turns float32 into {widened}"})
    times = interleave(
        programs, rounds, row.seconds * scale, clock, settle=lambda: time.sleep(0.03)
    )
    return summarise(row.name, row.family, "s", checked, times, notes)


def summarise(
    name: str,
    family: str,
    unit: str,
    checked: Mapping[str, Result],
    samples: Mapping[str, Sequence[float]],
    notes: Sequence[Result] = (),
) -> Result:
    """One row of the report: medians, and ratios of our median to each peer's."""
    programs = {program: dict(state) for program, state in checked.items()}
    for program, values in samples.items():
        programs[program] |= {"median": statistics.median(values), "samples": list(values)}
    ratios = {
        peer: ratio_of_medians(samples["ours"], values)
        for peer, values in samples.items()
        if "ours" in samples and peer != "ours"
    }
    return {
        "name": name,
        "family": family,
        "unit": unit,
        "programs": programs,
        "ratios": ratios,
        "notes": list(notes),
    }


def ratio_of_medians(ours: Sequence[float], peer: Sequence[float]) -> float:
    """Below 1 where ours is faster (or smaller)."""
    return statistics.median(ours) / statistics.median(peer)


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(statistics.fmean(math.log(value) for value in values))


def aggregate(results: Sequence[Result], family: str) -> Result:
    """The geometric mean of a family: of the times, and of the ratios where both have one."""
    rows = [result for result in results if result["family"] == family]
    programs: dict[str, Result] = {}
    ratios = {}
    for program in PROGRAMS:
        states = [row["programs"].get(program, {"status": "absent"}) for row in rows]
        medians = [state["median"] for state in states if "median" in state]
        if len(medians) < len(rows):
            # a mean over fewer ops would not be comparable with the others
            programs[program] = {"status": "missing", "reason": "not all rows have a time"}
        else:
            programs[program] = {"status": "ok", "median": geometric_mean(medians)}
        shared = [row["ratios"][program] for row in rows if program in row["ratios"]]
        if shared and len(shared) == len(rows):
            ratios[program] = geometric_mean(shared)
    return {
        "name": f"geometric mean of {len(rows)} ops",
        "family": family,
        "unit": "s",
        "programs": programs,
        "ratios": ratios,
        "notes": [],
    }
