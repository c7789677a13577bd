"""Switches of the CuPy backend, set by functions here or, for a whole program, in the environment.

| function | environment | at first |
|---|---|---|
| `set_deterministic` | AUTOGRAD_GPU_DETERMINISTIC | on |
| `set_cudnn` | AUTOGRAD_GPU_CUDNN | on |
"""

from __future__ import annotations

import os

deterministic = os.environ.get("AUTOGRAD_GPU_DETERMINISTIC", "1") != "0"
cudnn = os.environ.get("AUTOGRAD_GPU_CUDNN", "1") != "0"


def set_deterministic(enabled: bool) -> None:
    """Whether equal inputs give equal bits every time.

    Off, the sums of `scatter_add` are made by atomics where CUDA has them, in the order in which
    threads happen to come, and cuDNN may choose algorithms that do the same.
    """
    global deterministic
    deterministic = enabled


def set_cudnn(enabled: bool) -> None:
    """Whether cuDNN takes what it can, where nvidia-cudnn-frontend is installed."""
    global cudnn
    cudnn = enabled
