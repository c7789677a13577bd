"""Every example runs, with small settings, as a user would start it."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
NEEDS = {
    "autoencoder": ["sklearn", "matplotlib", "tqdm"],
    "fit_a_physical_model": ["scipy", "matplotlib"],
    "hmc_logistic": ["sklearn", "matplotlib", "tqdm"],
    "migrate_autograd": ["matplotlib"],
    "migrate_pytorch": ["sklearn", "matplotlib"],
    "phase_retrieval": ["sklearn", "PIL", "matplotlib", "tqdm"],
    "train_digits": ["sklearn", "matplotlib", "tqdm"],
    "train_gpt": ["safetensors", "matplotlib", "tqdm"],
    "wave_inversion": ["scipy", "matplotlib", "tqdm"],
}
ARGUMENTS = {
    "autoencoder": "--epochs 2",
    "fit_a_physical_model": "--points 50",
    "hmc_logistic": "--warm-up 60 --draws 60 --chains 4 --leaps 10",
    "migrate_autograd": "--steps 50",
    "migrate_pytorch": "--steps 20",
    "phase_retrieval": "--size 32 --masks 8 --steps 200",
    "train_digits": "--epochs 2",
    "train_gpt": "--quick --steps 10 --every 5",
    "wave_inversion": "--size 32 --sources 4 --steps 120 --iterations 10",
}
PRINTS = {
    "autoencoder": r"unseen digits: [23]\d\.\d+ nats",
    "custom_function": "central differences: True",
    "fit_a_physical_model": r"frequency = 2\.8",
    "gradient_check": "the wrong derivative is found",
    "hmc_logistic": r"test accuracy 9\d",
    "migrate_autograd": r"(difference.*: \d.\de-1[0-9]|autograd is not installed)",
    "migrate_pytorch": r"(difference of a loss.*: \d.\de-1[0-9]|torch is not installed)",
    "phase_retrieval": r"error: [12]\.\d+ at first, \d\.\d+e-03 now",
    "switch_backends": "sum of all forces",
    "train_digits": "test accuracy: 9",
    "train_gpt": r"validation loss: [34]\.\d+ nats",
    "wave_inversion": r"error of the map: 0\.[0-5]",
}
PICTURES = {
    "autoencoder": "autoencoder.png",
    "fit_a_physical_model": "oscillator.png",
    "hmc_logistic": "hmc_logistic.png",
    "migrate_autograd": "migrate_autograd.png",
    "migrate_pytorch": "migrate_pytorch.png",
    "phase_retrieval": "phase_retrieval.png",
    "train_digits": "digits.png",
    "train_gpt": "gpt.png",
    "wave_inversion": "wave_inversion.png",
}


def run(folder, *command):
    """What a Python command prints that succeeds in `folder`."""
    # one thread: other tests run beside it
    environment = {**os.environ, "AUTOGRAD_GPU_BACKEND": "numpy", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", *map(str, command)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=environment,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def skip_without(*names):
    for name in names:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_example(path, tmp_path):
    skip_without(*NEEDS.get(path.stem, []))
    arguments = ARGUMENTS.get(path.stem, "").split()
    if path.stem in PICTURES:
        arguments += ["--out", tmp_path]
    assert re.search(PRINTS[path.stem], run(tmp_path, path, *arguments))
    if path.stem in PICTURES:
        assert (tmp_path / PICTURES[path.stem]).stat().st_size > 1000


def test_a_resumed_gpt_has_the_same_losses(tmp_path):
    skip_without(*NEEDS["train_gpt"])
    from autograd_gpu.data import read_log

    path, quick = EXAMPLES / "train_gpt.py", ["--quick", "--steps", 9, "--every", 3]
    run(tmp_path, path, *quick, "--out", tmp_path / "whole")
    run(tmp_path, path, *quick, "--out", tmp_path / "parts", "--stop-after", 5)
    # what an interrupted training has written after its last checkpoint
    with open(tmp_path / "parts" / "gpt.jsonl", "a") as file:
        file.write('{"step": 6, "loss": 0.0}\n{"step": 7, "lo')
    run(tmp_path, path, *quick, "--out", tmp_path / "parts", "--resume")
    whole, parts = (read_log(tmp_path / name / "gpt.jsonl") for name in ("whole", "parts"))
    assert [entry["step"] for entry in whole] == list(range(1, 10))
    assert [entry["loss"] for entry in parts] == [entry["loss"] for entry in whole]
    assert parts[-1] == whole[-1]


@pytest.mark.parametrize("peer", ["autograd", "torch"])
def test_without_the_peer_a_migration_runs_and_says_so(peer, tmp_path):
    path = EXAMPLES / {"autograd": "migrate_autograd.py", "torch": "migrate_pytorch.py"}[peer]
    skip_without(*NEEDS[path.stem])
    code = (
        "import importlib.util, runpy, sys\n"
        "find = importlib.util.find_spec\n"
        f"missing = {peer!r}\n"
        "importlib.util.find_spec = lambda name, *a: None if name == missing else find(name, *a)\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    code = f"import sys\nsys.argv = sys.argv[1:]\n{code}"
    printed = run(tmp_path, "-c", code, path, "--steps", 3, "--out", tmp_path)
    assert f"pip install {peer}" in printed


def test_examples_are_short():
    for path in EXAMPLES.glob("*.py"):
        assert len(path.read_text().splitlines()) <= 210, path
