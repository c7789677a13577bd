"""The training step of examples/train_digits.py on CuPy: no waits, no more launches than now."""

import importlib.util
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu import nn
from autograd_gpu.backend import load_backend

pytestmark = pytest.mark.skipif(
    "cupy" not in ag.available_backends(), reason="no GPU and not run with --cupy-on-cpu"
)

# Lower these where a change lowers the counts.
LAUNCHES = 107
GEMMS = 11


@pytest.fixture
def digits():
    for module in ("sklearn", "matplotlib", "tqdm"):
        pytest.importorskip(module)
    path = Path(__file__).parents[2] / "examples" / "train_digits.py"
    spec = importlib.util.spec_from_file_location("train_digits", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["train_digits"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["train_digits"]


def test_a_training_step_waits_for_nothing(digits):
    from cupy_on_cpu import counting, is_started

    if not is_started():
        pytest.skip("counts need --cupy-on-cpu")
    import cupy as cp

    backend, stream = load_backend("cupy"), cp.cuda.Stream(non_blocking=True)
    rng = np.random.default_rng(0)
    images = backend.from_host(rng.random((64, 1, 8, 8), dtype=np.float32))
    labels = backend.from_host(rng.integers(0, 10, 64))
    batch = backend.from_host(rng.permutation(64)[:32])
    with ag.use_backend("cupy"), stream:
        ag.manual_seed(0)
        model = digits.build()
        optimizer = ag.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=1e-2)
        images, labels, batch = map(ag.Variable, (images, labels, batch))

        def step():
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
            loss.backward()
            optimizer.step()
            return loss

        first = step().item()  # the first step also makes the optimiser's buffers
        with counting() as c:
            for _ in range(3):
                loss = step()
        assert loss.item() < first
    assert c.streams == {stream.ptr}
    assert (c.waits, c.to_host, c.to_device) == (0, 0, 0)
    assert (c.launches // 3, len(c.blas) // 3) == (LAUNCHES, GEMMS), str(Counter(c.kernels))
