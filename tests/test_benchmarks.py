"""The benchmarks' programs compute the same gradients, and the arithmetic on times is right."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what other libraries warn of is theirs
    import harness
    import programs
    import report
    import run

RUN = Path(run.__file__)
ROWS = run.all_rows()
COMPILED = next(row for row in ROWS if row.optimiser is not None)
every_row = pytest.mark.parametrize("row", ROWS, ids=[f"{r.family}: {r.name}" for r in ROWS])


@every_row
@pytest.mark.parametrize("program", [name for name in programs.PROGRAMS if name != "numpy"])
@pytest.mark.filterwarnings("ignore")
def test_programs_agree(row, program: str) -> None:
    if program == "torch_compile" and row is not COMPILED:
        pytest.skip("compiling takes seconds: one row shows that it works")
    reason = row.why_left_out(program) or programs.why_absent(program)
    if reason is not None:
        pytest.skip(f"{programs.PROGRAMS[program]}: {reason}")
    expected = harness.run_once(row, "numpy", np.float64, small=True)
    harness.compare(harness.run_once(row, program, np.float64, small=True), expected, rtol=1e-6)


def test_tinygrad_says_what_it_lacks(monkeypatch) -> None:
    monkeypatch.setitem(programs.MODULES, "tinygrad", None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name == "tinygrad" or None)
    assert programs.why_absent("tinygrad") == "it needs clang, which the package ziglang has"
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert programs.why_absent("tinygrad") == "not installed"
    monkeypatch.setenv("CC", "no such compiler")
    assert programs.tinygrad_on_cpu() is None


def test_rows_that_are_not_written_for_tinygrad_say_so() -> None:
    reasons = {row.name: row.why_left_out("tinygrad") for row in ROWS}
    assert reasons["LSTM, T 64, N 32, 128 to 128"] == "not written for tinygrad"
    assert reasons["MLP 2-16-16-1, batch 32, SGD"] is None


@every_row
def test_ours_keeps_float32(row) -> None:
    results = harness.run_once(row, "ours", np.float32, small=True)
    assert {result.dtype for result in results} == {np.dtype(np.float32)}


def test_names_are_unique() -> None:
    names = [(row.family, row.name) for row in ROWS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([np.ones(2)], "1 arrays, not 2"),
        ([np.ones(2), np.ones(3)], "shape"),
        ([np.ones(2), np.array([1, 1.001])], "off by"),
    ],
)
def test_compare_finds(wrong: list[np.ndarray], message: str) -> None:
    with pytest.raises(harness.Disagreement, match=message):
        harness.compare(wrong, [np.ones(2), np.ones(2)], rtol=1e-6)


class FakeClock:
    """Time passes only where a step says so."""

    def __init__(self) -> None:
        self.now = 0.0
        self.order: list[str] = []

    def __call__(self) -> float:
        return self.now

    def program(self, name: str, seconds: float) -> programs.Program:
        def step() -> list[object]:
            self.now += seconds
            self.order.append(name)
            return []

        return programs.Program(step)


def test_interleave_times_in_turn() -> None:
    clock = FakeClock()
    programs = {"ours": clock.program("ours", 0.5), "torch": clock.program("torch", 0.25)}
    pauses: list[int] = []
    times = harness.interleave(programs, 3, 0.5, clock, lambda: pauses.append(len(clock.order)))
    assert times == {"ours": [0.5] * 3, "torch": [0.25] * 3}
    # per slice one call to warm up, then as many as fill the slice
    assert clock.order[pauses[0] :] == ["ours", "ours", "torch", "torch", "torch"] * 3
    assert len(pauses) == 6


def test_slow_programs_get_fewer_rounds() -> None:
    clock = FakeClock()
    programs = {"ours": clock.program("ours", 2.0), "torch": clock.program("torch", 0.1)}
    times = harness.interleave(programs, 7, 0.1, clock, lambda: None)
    assert {name: len(values) for name, values in times.items()} == {"ours": 3, "torch": 7}


def test_calibrate_fills_the_slice() -> None:
    clock = FakeClock()
    assert harness.calibrate(clock.program("p", 2**-10).step, 2**-3, clock) == 128
    assert harness.calibrate(clock.program("p", 3.0).step, 0.1, clock) == 1


def test_ratio_is_of_medians() -> None:
    # the ratio of means would be 4, the median of ratios 2
    assert harness.ratio_of_medians([1.0, 2.0, 9.0], [0.5, 1.0, 1.5]) == 2.0
    assert harness.ratio_of_medians([3.0, 1.0, 2.0], [4.0, 4.0, 1.0]) == 0.5


def result(name: str, ours: float, torch: float | None) -> harness.Result:
    samples = {"ours": [ours]} | ({} if torch is None else {"torch": [torch]})
    checked = {"ours": {"status": "ok"}, "torch": {"status": "ok"}}
    if torch is None:
        checked["torch"] = {"status": "absent", "reason": "not installed"}
    return harness.summarise(name, "family", "s", checked, samples)


def test_aggregate_is_the_geometric_mean() -> None:
    both = [result("a", 1.0, 1.0), result("b", 4.0, 1.0), result("c", 2.0, 8.0)]
    mean = harness.aggregate(both, "family")
    assert mean["programs"]["ours"]["median"] == pytest.approx(2.0)
    assert mean["ratios"]["torch"] == pytest.approx(1.0)


def test_aggregate_leaves_out_a_program_without_all_rows() -> None:
    mean = harness.aggregate([result("a", 1.0, 1.0), result("b", 4.0, None)], "family")
    assert "median" not in mean["programs"]["torch"]
    assert mean["ratios"] == {}


def test_markdown_shows_ratio_time_and_reason() -> None:
    table = "\n".join(report._tables([result("a", 1e-3, 4e-3), result("b", 1e-6, None)]))
    assert "| a | 1.00 ms | 0.250 (4.00 ms) |" in table
    assert "| b | 1.00 µs | – [1] |" in table
    assert "1. not installed" in table


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0123, "0.0123"), (0.1, "0.100"), (9.996, "10.0"), (1.0, "1.00"), (123.4, "123")],
)
def test_three_figures(value: float, text: str) -> None:
    assert report.significant(value) == text


def test_quantity_picks_the_unit() -> None:
    values = [(2.5, "s"), (2.5e-3, "s"), (2.5e-6, "s"), (2.5e-7, "s"), (2.5 * 2**20, "bytes")]
    texts = [report.quantity(value, unit) for value, unit in values]
    assert texts == ["2.50 s", "2.50 ms", "2.50 µs", "250 ns", "2.50 MiB"]


def test_missing_names_are_told_from_errors() -> None:
    ag = programs.MissingModule("autograd_gpu")
    with pytest.raises(AttributeError) as caught:
        ag.tanh  # noqa: B018
    assert harness.why_missing(caught.value) == "no tanh yet"
    with pytest.raises(AttributeError) as caught:
        np.ones(2).tanh  # noqa: B018
    assert harness.why_missing(caught.value) is None
    assert harness.why_missing(ValueError("shape")) is None


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    env = run.environment(2)
    assert "OPENBLAS_CORETYPE" not in env
    assert env["OMP_NUM_THREADS"] == env["OPENBLAS_NUM_THREADS"] == env["MKL_NUM_THREADS"] == "2"


def ratios(name: str, numpy: float) -> list[dict[str, object]]:
    return [{"threads": 1, "results": [result(name, numpy, None) | {"ratios": {"numpy": numpy}}]}]


def test_only_gross_regressions_count() -> None:
    before = ratios("a", 2.0)
    assert report.regressions(ratios("a", 3.9), before) == []
    assert report.regressions(ratios("a", 4.1), before) == ["family: a: 4.10, was 2.00"]
    assert report.regressions(ratios("new", 99.0), before) == []


def test_command_fails_on_a_gross_regression(tmp_path: Path) -> None:
    before = tmp_path / "before.json"
    command = [sys.executable, str(RUN), "--quick", "--rows", "*no_grad: add"]
    command += ["--programs", "ours", "numpy", "--json", str(before)]
    subprocess.run(command, check=True, capture_output=True)
    written = json.loads(before.read_text())
    assert written[0]["results"][0]["programs"].keys() == {"ours", "numpy"}
    for row in written[0]["results"]:  # the op, too short to count, and the mean
        row["ratios"]["numpy"] /= 1000
    before.write_text(json.dumps(written))
    done = subprocess.run(
        [*command[:-2], "--check", str(before)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "slower than before" in done.stderr
    assert done.stderr.count("was 0.00") == 1


def test_growth_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    import growth

    titles = [title for title, *_ in growth.series()]
    results = [
        {"title": title, "grows": "n", "sizes": [1, 10], "times": {"ours": [1e-3, 1e-2]}}
        for title in titles
    ]
    growth.draw(results, tmp_path / "growth.svg")
    assert all(title in (tmp_path / "growth.svg").read_text() for title in titles)


def test_command_writes_both_reports(tmp_path: Path) -> None:
    data, table = tmp_path / "out.json", tmp_path / "out.md"
    command = [sys.executable, str(RUN), "--quick", "--rows", "*no_grad: add"]
    subprocess.run([*command, "--json", str(data), "--markdown", str(table)], check=True)
    (written,) = json.loads(data.read_text())
    (row, _) = written["results"]  # the op, and the mean over the one op
    assert row["programs"]["numpy"]["status"] == row["programs"]["ours"]["status"] == "ok"
    assert len(row["programs"]["ours"]["samples"]) == 3
    assert "| add |" in table.read_text()
