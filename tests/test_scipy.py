"""What docs/scipy.md says of SciPy, scikit-learn and array-api-extra holds."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import scipy_cases

PAGE = Path(__file__).resolve().parents[1] / "docs" / "scipy.md"
CASES = [*scipy_cases.WORKS, *scipy_cases.WITH_NAN_SAFE, *scipy_cases.REFUSES]


@pytest.fixture(scope="module")
def outcomes():
    pytest.importorskip("scipy")
    pytest.importorskip("sklearn")
    done = subprocess.run(
        [sys.executable, scipy_cases.__file__],
        env={**os.environ, "SCIPY_ARRAY_API": "1", "AUTOGRAD_GPU_BACKEND": "numpy"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", CASES)
def test_case(name, outcomes):
    if (outcomes[name] or "").startswith("skip"):
        pytest.skip(outcomes[name])
    assert outcomes[name] is None


def listed(title):
    section = PAGE.read_text().split(f"## {title}\n")[1].split("\n## ")[0]
    return {
        f"{line.split('`')[1]}.{name}"
        for line in section.splitlines()
        if line.startswith("| `")
        for name in re.findall(r"`([^`]+)`", line.split("|")[2])
    }


def test_the_page_lists_these_cases():
    assert listed("What works") == scipy_cases.WORKS.keys()
    assert listed("What works under nan_safe") == scipy_cases.WITH_NAN_SAFE.keys()
    assert listed("What refuses") == scipy_cases.REFUSES.keys()
