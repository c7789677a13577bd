"""Checking that programs agree, timing them in turn, and the arithmetic on the times."""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from peers import build
from programs import PROGRAMS, Program, host, why_absent
from rows import Row, make_data

Clock = Callable[[], float]
Result = dict[str, Any]  # what goes into the JSON report

SLOW = 1.0  # seconds per call from which a program is timed in the first SLOW_ROUNDS rounds only
SLOW_ROUNDS = 3
# OpenBLAS's threads spin for 2**26 cycles (some 25 ms) after a product, OpenMP's for a few ms;
# a peer that starts within that time has them as competitors for its cores.
IDLE = 0.05


class Disagreement(Exception):
    """Two programs computed different gradients for the same row."""


def why_missing(error: BaseException) -> str | None:
    """What autograd_gpu lacks, if that is what went wrong; None for any other error."""
    if isinstance(error, AttributeError) and error.name is not None:
        owner = error.obj
        module = getattr(owner, "__name__", "") or type(owner).__module__
        if isinstance(module, str) and module.split(".")[0] == "autograd_gpu":
            return f"no {error.name} yet"
    # Python's own words for an operator that the class does not define
    operator = ("unsupported operand", "bad operand", "not subscriptable")
    if isinstance(error, TypeError) and "'Variable'" in str(error):
        return str(error) if any(words in str(error) for words in operator) else None
    return None


def run_once(row: Row, program: str, dtype: type, small: bool) -> list[np.ndarray]:
    """What one step on fresh data returns, on the host."""
    step, context = build(row, program, make_data(row, dtype, small))
    with context():
        return [host(value) for value in step()]


def check_agreement(row: Row, small: bool, rtol: float = 1e-6) -> dict[str, Result]:
    """Compare every program's float64 results with those by hand.

    Each program's status: ok, absent (not installed), missing (autograd_gpu lacks a function),
    or failed (an error, or other numbers). Only what is ok gets timed.
    """
    expected = run_once(row, "numpy", np.float64, small)
    checked: dict[str, Result] = {}
    for program in PROGRAMS:
        reason = row.why_left_out(program) or why_absent(program)
        if reason is not None:
            checked[program] = {"status": "absent", "reason": reason}
            continue
        try:
            compare(run_once(row, program, np.float64, small), expected, rtol)
            checked[program] = {"status": "ok"}
        except Exception as error:  # whatever it is, the other programs' numbers are of use
            lacking = why_missing(error) if program == "ours" else None
            checked[program] = (
                {"status": "missing", "reason": lacking}
                if lacking
                else {"status": "failed", "reason": f"{type(error).__name__}: {error}"}
            )
    return checked


def compare(results: Sequence[np.ndarray], expected: Sequence[np.ndarray], rtol: float) -> None:
    """Raise Disagreement unless shapes are equal and numbers are close."""
    if len(results) != len(expected):
        raise Disagreement(f"{len(results)} arrays, not {len(expected)}")
    for i, (result, reference) in enumerate(zip(results, expected, strict=True)):
        if result.shape != reference.shape:
            raise Disagreement(f"array {i} has shape {result.shape}, not {reference.shape}")
        # numbers that nearly cancel are compared on the scale of the array
        atol = 1e-3 * rtol * float(np.abs(reference).max(initial=0))
        if not np.allclose(result, reference, rtol=rtol, atol=atol):
            worst = float(np.abs(result - reference).max())
            raise Disagreement(f"array {i} is off by up to {worst:.3g}")


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
    # What the programs' modules hold would otherwise be looked through in each full collection:
    # with PyTorch's some 200,000 objects about, ours takes twice as long for a chain of 100,000.
    gc.collect()
    gc.freeze()
    for i in range(rounds):
        for name, (step, context) in programs.items():
            slow = i > 0 and times[name][0] >= SLOW
            if slow and i >= SLOW_ROUNDS:
                continue
            settle()
            gc.collect()  # a graph in cycles is garbage of the program before, not of this one
            with context():
                if not slow:
                    step()
                times[name].append(time_calls(step, calls[name], clock))
    gc.unfreeze()
    return times


def measure(
    row: Row, checked: dict[str, Result], rounds: int, scale: float, threads: int
) -> Result:
    """Time the programs that passed the check, in float32."""
    programs, notes = {}, []
    for name, state in checked.items():
        if state["status"] != "ok":
            continue
        programs[name] = build(row, name, make_data(row, np.float32, small=False))
        with programs[name].context():
            dtypes = {host(value).dtype for value in programs[name].step()}
        widened = sorted(str(dtype) for dtype in dtypes - {np.dtype(np.float32)})
        if widened:
            notes.append({"program": name, "text": f"turns float32 into {', '.join(widened)}"})
    # With one thread the processor's time is what the program took even on a busy machine;
    # with more, only wall time says what a user waits for.
    clock = time.process_time if threads == 1 else time.perf_counter
    settle = partial(time.sleep, IDLE if threads > 1 else 0)
    times = interleave(programs, rounds, row.seconds * scale, clock, settle)
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
            programs[program] = {"status": "absent", "reason": "not every op has a time"}
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
