"""What docs/scipy.md says of SciPy, scikit-learn and other libraries holds."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from third_party.run import TABLES

import autograd_gpu as ag

TESTS = Path(__file__).resolve().parent
PAGE = TESTS.parent / "docs" / "scipy.md"
TITLES = {
    "What works": "WORKS",
    "What works under nan_safe": "WITH_NAN_SAFE",
    "What refuses": "REFUSES",
    "What returns a number": "NUMBERS",
}


@pytest.fixture(scope="module")
def outcomes():
    done = subprocess.run(
        [sys.executable, "-m", "third_party.run"],
        cwd=TESTS,
        env={**os.environ, "SCIPY_ARRAY_API": "1", "AUTOGRAD_GPU_BACKEND": "numpy"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", [name for cases in TABLES.values() for name in cases])
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


@pytest.mark.parametrize("title", TITLES)
def test_the_page_lists_these_cases(title):
    assert listed(title) == TABLES[TITLES[title]].keys()


def test_einops():
    einops = pytest.importorskip("einops")
    pytest.importorskip("autograd_gpu.einops")
    v = ag.Variable(np.arange(24.0).reshape(2, 3, 4), requires_grad=True)
    for operation in ("sum", "mean", "max", "min", "prod"):
        found = einops.reduce(v, "a b c -> c a", operation)
        np.testing.assert_allclose(found.numpy(), einops.reduce(v.value, "a b c -> c a", operation))
        assert found.requires_grad
    packed, shapes = einops.pack([v, v[:, :, 0]], "a b *")
    first, second = einops.unpack(packed, shapes, "a b *")
    np.testing.assert_array_equal(first.value, v.value)
    np.testing.assert_array_equal(second.value, v.value[:, :, 0])
    assert einops.parse_shape(v, "a b _") == {"a": 2, "b": 3}
    assert einops.rearrange([v, v], "n a b c -> a (n b) c").shape == (2, 6, 4)
    with pytest.raises(NotImplementedError, match="mean is not available"):
        einops.reduce(ag.Variable([1, 2]), "a -> ", "mean")
