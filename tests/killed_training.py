"""Trains a small network in a process that is killed again and again, and checks what is left.

    python tests/killed_training.py [--kills N] [--folder PATH]

The suite has it killed 10 times.
Each process goes on from the checkpoint that it finds and saves one after every step.  In the end
the weights must be bitwise those of a training that was never interrupted.
"""

import argparse
import os
import random
import signal
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import autograd_gpu as ag
from autograd_gpu import nn


def train(path: Path, steps: int | None = None, *, every_step: bool = True) -> nn.Module:
    """Train up to `steps`, or until killed."""
    generator = ag.manual_seed(0)
    x = np.random.default_rng(0).standard_normal((64, 32))
    model = nn.Sequential(nn.Linear(32, 64), nn.Dropout(0.2), nn.Linear(64, 1))
    optimizer = ag.optim.Adam(model.parameters(), lr=1e-3)
    batches = ag.data.Batches(x, x.sum(1, keepdims=True), batch_size=20, seed=1)
    stateful = {"model": model, "optimizer": optimizer, "random": generator, "batches": batches}
    step = 0
    if path.exists():
        state = ag.load(path)
        step = state["step"]
        for name, thing in stateful.items():
            thing.load_state_dict(state[name])
    while True:
        for inputs, targets in batches:
            if step == steps:
                return model
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()
            step += 1
            if every_step:
                state = {name: thing.state_dict() for name, thing in stateful.items()}
                ag.save(path, {"step": step, **state})


def main(folder: Path, kills: int) -> None:
    path = folder / "run.safetensors"
    seed = random.randrange(2**32)
    print("seed", seed)
    moments = random.Random(seed)
    last = halves = 0
    for _ in range(kills):
        child = os.fork()
        if child == 0:
            train(path)
        # between the first and about the tenth checkpoint of this process
        deadline = time.monotonic() + 60
        before = path.stat().st_mtime_ns if path.exists() else 0
        while not path.exists() or path.stat().st_mtime_ns == before:
            if time.monotonic() > deadline:
                sys.exit("no checkpoint appeared")
            time.sleep(0.001)
        time.sleep(moments.uniform(0, 0.03))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        step = ag.load(path)["step"]
        assert step > last, (step, last)
        last = step
        left = [name for name in os.listdir(folder) if name != path.name]
        halves += bool(left)
        assert len(left) <= 1, left
    ag.save(path, ag.load(path))
    assert os.listdir(folder) == [path.name]
    want = train(folder / "nothing", last, every_step=False).state_dict()
    found = ag.load(path)["model"]
    assert all((found[name] == want[name]).all() for name in want)
    print(f"killed {kills} times, {halves} times while saving, {last} steps")


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=positive, default=50, help="how often (default: 50)")
    parser.add_argument(
        "--folder",
        type=Path,
        help="an empty one, kept afterwards (default: a temporary one, removed afterwards)",
    )
    options = parser.parse_args()
    if options.folder is not None:
        options.folder.mkdir(parents=True, exist_ok=True)
        if any(options.folder.iterdir()):
            parser.error(f"{options.folder} is not empty")
        main(options.folder, options.kills)
    else:
        with TemporaryDirectory() as found:
            main(Path(found), options.kills)
