"""The plan of docs/multi_gpu.md, by its own code: buckets go out while the backward runs."""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu import nn
from autograd_gpu.backend import load_backend

DOCUMENT = Path(__file__).parents[1] / "docs" / "multi_gpu.md"


class Bucket:
    """A flat array for the gradients of some parameters."""

    def __init__(self, cp, parameters):
        self.size = sum(p.size for p in parameters)
        self.flat = cp.zeros(self.size, "f4")
        self.pointer, self.sent = self.flat.data.ptr, cp.cuda.Event()
        self.left = len(parameters)

    def arrived(self):
        self.left -= 1
        return not self.left


def test_buckets_are_sent_during_the_backward():
    if "cupy" not in ag.available_backends():
        pytest.skip("no GPU and not run with --cupy-on-cpu")
    import cupy as cp
    from cupy_on_cpu import counting, is_started

    if not is_started():
        pytest.skip("counts need --cupy-on-cpu")
    with ag.use_backend("cupy"):
        ag.manual_seed(0)
        model = nn.Sequential(*[layer for _ in range(4) for layer in (nn.Linear(6, 6), nn.Tanh())])
        x = ag.Variable(load_backend("cupy").from_host(np.ones((3, 6), "f4")))
        ag.sum(model(x)).backward()
        expected = [p.grad.get() for p in model.parameters()]
        model.zero_grad()

        order = list(model.parameters())[::-1]
        groups = [order[:4], order[4:]]
        placement = {}
        for bucket, group in ((Bucket(cp, group), group) for group in groups):
            at = 0
            for p in group:
                placement[p] = bucket, slice(at, at + p.size)
                at += p.size
        sent, computed = [], [0]

        def all_reduce(source, target, size, dtype, operation, stream):
            assert source == target
            sent.append((source, size, stream, computed[0]))

        communication = cp.cuda.Stream(non_blocking=True)
        names = {
            "placement": placement,
            "communication": communication,
            "nccl": SimpleNamespace(allReduce=all_reduce),
            "dtype": 7,
            "average": 4,
        }
        (code,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
        exec(code, names)
        for p in order:
            p.register_hook(lambda g: computed.__setitem__(0, computed[0] + 1))
        with counting() as c:
            ag.sum(model(x)).backward()
    buckets = list(dict.fromkeys(bucket for bucket, _ in placement.values()))
    assert [s[:3] for s in sent] == [(b.pointer, b.size, communication.ptr) for b in buckets]
    assert [s[3] for s in sent] == [4, 8], "each as soon as the last of its gradients is there"
    assert (c.waits, c.to_host, c.to_device) == (0, 0, 0)
    for p, want in zip(model.parameters(), expected, strict=True):
        bucket, place = placement[p]
        assert p.grad.data.ptr == bucket.flat[place].data.ptr
        np.testing.assert_array_equal(p.grad.get(), want)
