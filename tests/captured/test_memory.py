"""What a captured step gives back to CUDA, as the device counts it."""

from __future__ import annotations

import gc
import re

import autograd_gpu as ag


def in_use(cp):
    gc.collect()
    cp.get_default_memory_pool().free_all_blocks()
    free, total = cp.cuda.runtime.memGetInfo()
    return total - free


def recorded(cp, weight):
    """A step with a gradient, recorded for three shapes."""

    @ag.compile
    def step(x):
        weight.grad = None
        loss = ag.sum(ag.tanh(ag.Variable(x) @ weight))
        loss.backward()
        return loss

    for rows in (4, 8, 16):
        for _ in range(3):
            step(cp.ones((rows, 64), "f4"))
    assert step.reason is None
    return step


def test_reset_gives_back_what_graphs_had(cp, counting):
    weight = ag.Variable(cp.ones((64, 64), "f4"), requires_grad=True)
    recorded(cp, weight).reset()  # what is kept for good is there after this
    weight.grad = None
    recorded(cp, weight).reset()
    weight.grad = None
    before = in_use(cp)
    step = recorded(cp, weight)
    gradient = weight.grad
    expected = gradient.tolist()
    assert in_use(cp) - before > 1 << 20
    step.reset()
    assert gradient.tolist() == expected, "what somebody still has stays"
    weight.grad = gradient = None
    recorded(cp, weight)  # the next recording gives back what was in use at the reset
    weight.grad = None
    recorded(cp, weight).reset()
    weight.grad = None
    assert in_use(cp) - before < 1 << 20


def test_a_capture_that_fails_gives_back_its_memory(cp, counting):
    weight = ag.Variable(cp.ones((64, 64), "f4"), requires_grad=True)

    def attempt():
        step = ag.compile(lambda x: ag.sum(ag.tanh(x @ weight)).item())
        for _ in range(3):
            step(cp.ones((4, 64), "f4"))
        assert "cannot be captured" in step.reason

    attempt()
    attempt()
    before = in_use(cp)
    for _ in range(3):
        attempt()
    assert in_use(cp) - before < 1 << 20


def test_the_summary_counts_the_pools_of_graphs(cp, counting):
    def figures():
        line = next(x for x in ag.memory_summary().splitlines() if x.startswith("cupy"))
        return [int(x.replace(",", "")) for x in re.findall(r"[a-z]+ ([0-9,]+) bytes", line)]

    weight = ag.Variable(cp.ones((64, 64), "f4"), requires_grad=True)
    gc.collect()
    before, in_use_before = figures(), in_use(cp)
    step = recorded(cp, weight)
    weight.grad = None
    after = figures()
    assert len(after) == 3
    assert after[2] - before[2] > 1 << 14
    assert after[2] - before[2] <= in_use(cp) - in_use_before
    step.reset()
    assert figures()[2] <= before[2]
