"""Every example runs, with small settings, as a user would start it."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
NEEDS = {
    "train_digits": ["sklearn", "matplotlib", "tqdm"],
    "fit_a_physical_model": ["scipy", "matplotlib"],
}
ARGUMENTS = {
    "train_digits": ["--backend", "numpy", "--epochs", "2"],
    "fit_a_physical_model": ["--points", "50"],
}
PRINTS = {
    "custom_function": "central differences: True",
    "fit_a_physical_model": "frequency = 2.8",
    "gradient_check": "the wrong derivative is found",
    "switch_backends": "sum of all forces",
    "train_digits": "test accuracy: 9",
}
PICTURES = {"train_digits": "digits.png", "fit_a_physical_model": "oscillator.png"}


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_example(path, tmp_path):
    for name in NEEDS.get(path.stem, []):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    arguments = ARGUMENTS.get(path.stem, [])
    if path.stem in PICTURES:
        arguments = [*arguments, "--out", str(tmp_path)]
    # one thread: other tests run beside it
    environment = {**os.environ, "AUTOGRAD_GPU_BACKEND": "numpy", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", str(path), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=environment,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert PRINTS[path.stem] in done.stdout
    if path.stem in PICTURES:
        assert (tmp_path / PICTURES[path.stem]).stat().st_size > 1000


def test_examples_are_short():
    for path in EXAMPLES.glob("*.py"):
        assert len(path.read_text().splitlines()) < 150, path
