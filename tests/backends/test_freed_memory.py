"""Memory that one step frees is there for the next one, without page faults."""

import os
import platform
import subprocess
import sys

import pytest

STEPS = """
import resource
import numpy as np
import autograd_gpu as ag

x = ag.Variable(np.ones(300_000, "f4"), requires_grad=True)

def step():
    x.grad = None
    ag.mean(0.5 * ag.square(x) + ag.exp(-ag.square(x))).backward()

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

for _ in range(5):
    step()
before = faults()
for _ in range(20):
    step()
print((faults() - before) / 20)
"""


def faults_of_a_step(**settings):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("MALLOC_", "GLIBC_"))}
    run = subprocess.run(
        [sys.executable, "-c", STEPS],
        env={**clean, **settings},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(run.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another allocator")
def test_a_step_takes_no_page_faults():
    assert faults_of_a_step() < 100
    # with glibc's first bounds, which the environment may ask for, it takes those of its arrays
    given_back = faults_of_a_step(MALLOC_TRIM_THRESHOLD_="131072", MALLOC_MMAP_THRESHOLD_="131072")
    assert given_back > 1000
