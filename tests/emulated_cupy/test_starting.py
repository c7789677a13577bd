"""Starting the emulation: the version of CuPy, plain scripts, modules."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import cupy_on_cpu
import pytest
from cupy_on_cpu import CannotStart

TESTS = Path(__file__).parents[1]


def run(code: str) -> str:
    """The output of a script that has the tests on its path."""
    text = f"import sys; sys.path.insert(0, {str(TESTS)!r})\n{textwrap.dedent(code)}"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", text], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_version_pin_names_both_versions() -> None:
    with pytest.raises(CannotStart, match=r"CuPy 15.1.0 is installed.* written for CuPy 14.2"):
        cupy_on_cpu.check_version("15.1.0")
    with pytest.raises(CannotStart):
        cupy_on_cpu.check_version("14.20.0")
    cupy_on_cpu.check_version("14.2.7")


def test_start_after_cupy_is_refused() -> None:
    code = """
        import cupy, cupy_on_cpu
        try:
            cupy_on_cpu.start()
        except cupy_on_cpu.CannotStart as error:
            print(error)
    """
    assert "imported before" in run(code)


def test_a_plain_script_starts_it_and_ends_quietly() -> None:
    code = """
        from cupy_on_cpu import counting, start
        start()
        import cupy as cp
        x = cp.ones((2, 3))
        with counting() as c:
            y = (x @ x.T).sum()
        print(c.waits, c.launches, [call.name for call in c.blas], float(y))
    """
    assert run(code).strip() == "0 1 ['gemmEx'] 12.0"


def test_run_as_a_module(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sys, cupy\nprint(sys.argv[1:], cupy.arange(3).sum())\n")
    done = subprocess.run(
        [sys.executable, "-m", "cupy_on_cpu", str(script), "a"],
        capture_output=True, text=True, cwd=TESTS, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "['a'] 3"
