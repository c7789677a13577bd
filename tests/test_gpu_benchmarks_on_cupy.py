"""The peers of the GPU benchmarks, in small sizes and on the CPU, and the report of ci/gpu.sh."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

import autograd_gpu as ag

REPORT = Path(__file__).parents[1] / "ci" / "gpu_report.py"


@pytest.fixture
def rows(monkeypatch):
    if "cupy" not in ag.available_backends():
        pytest.skip("no GPU and not run with --cupy-on-cpu")
    import gpu_clock
    import gpu_peers
    import gpu_rows

    monkeypatch.setattr(gpu_clock, "SMALL", True)
    monkeypatch.setattr(gpu_peers, "DEVICE", "cpu")
    if (torch := gpu_peers.optional("torch")) is not None:
        # compiling takes many seconds; that of CPU benchmarks is tested with theirs
        monkeypatch.setattr(torch, "compile", lambda function: function)
    with ag.use_backend("cupy"):
        yield gpu_rows


@pytest.mark.filterwarnings("ignore")  # what other libraries warn of is theirs
def test_peers_run(rows, monkeypatch):
    time = {"wall_us": 1.0, "device_us": 1.0}
    monkeypatch.setattr(rows, "ours", lambda step: dict(time))  # ci/gpu.sh --emulated runs them
    monkeypatch.setattr(rows, "captured", lambda step: dict(time))
    found = {name: row for make in rows.ROWS for name, row in make()}
    assert not {name: row for name, row in found.items() if "error" in row}
    assert all(row["wall_us"] > 0 for row in found.values())
    ends = {"torch": (" PyTorch", " torch.compile"), "jax": (" JAX jit",)}
    for module, count in (("torch", 12), ("jax", 5)):
        rows_of = [name for name in found if name.endswith(ends[module])]
        assert len(rows_of) == (count if importlib.util.find_spec(module) else 0)


def test_a_peer_that_fails_is_no_failure_of_ours(rows, monkeypatch, capsys):
    import gpu_peers

    def broken(torch, compiled):
        raise RuntimeError("no compiler")

    monkeypatch.setattr(gpu_peers, "torch_here", lambda: type("torch", (), {"compile": None}))
    monkeypatch.setattr(gpu_peers, "jax_here", lambda: None)
    found = dict(gpu_peers.beside("x", broken, compiles=False))
    assert found == {"x, PyTorch": {"error": "RuntimeError: no compiler"}}
    assert "no compiler" in capsys.readouterr().err


def report(out, kind):
    command = [sys.executable, str(REPORT), str(out), kind, "2026-01-02", "abc1234"]
    subprocess.run(command, check=True)
    data = json.loads((out / f"{kind}-2026-01-02.json").read_text())
    return data, (out / f"{kind}-2026-01-02.md").read_text()


@pytest.mark.parametrize("kind", ["emulated", "gpu"])
def test_a_report_of_what_there_is(tmp_path, kind):
    data, text = report(tmp_path, kind)
    assert (data["kind"], data["commit"], data["steps"]) == (kind, "abc1234", [])
    assert ("Nothing here ran on a GPU" in text) == (kind == "emulated")
    (tmp_path / "steps.tsv").write_text("suite\t124\t300\tstopped after 300 s; 5 | 6\n")
    rows = {"copy": {"wall_us": 2.0, "device_us": 1.5, "gb_per_s": 3.25}, "b": {"error": "none"}}
    measured = {"device": "x", "complete": False, "rows": rows}
    (tmp_path / "benchmarks.json").write_text(json.dumps(measured))
    data, text = report(tmp_path, kind)
    assert data["steps"] == [
        {"name": "suite", "exit": 124, "seconds": 300, "result": "stopped after 300 s; 5 | 6"}
    ]
    assert data["benchmarks"] == measured
    assert "| suite | stopped after 300 s; 5   6 (exit 124) | 300 |" in text
    assert "| copy | 2.0 | 1.5 | gb per s 3.25 |" in text
    assert "| b |  |  | error: none |" in text
    assert "The time ran out before the last row." in text


def test_a_machine_without_a_device_is_no_success():
    if "cupy" in ag.available_backends():
        pytest.skip("there is a device")
    check = REPORT.with_name("check_device.py")
    found = subprocess.run([sys.executable, str(check)], capture_output=True, text=True)
    assert found.returncode == 1
    assert "no device to test" in found.stderr
