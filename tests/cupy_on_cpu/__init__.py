"""The real CuPy on a CPU: its wheel runs under an emulated CUDA runtime.  See docs/cupy_on_cpu.md.

from cupy_on_cpu import counting, start

start()  # before cupy is imported
import cupy as cp

x = cp.ones((2, 3))
with counting() as c:
    y = (x @ x.T).sum()
assert c.waits == 0 and c.to_host == 0 and c.launches == 1
assert [call.name for call in c.blas] == ["gemmEx"]
"""

from .counters import BlasCall, Copy, Counts, counting
from .errors import CannotStart, HostCompileError, IllegalCall, NotEmulated
from .memory import check_margins
from .places import devices
from .start import CUPY_VERSION, check_version, is_started, start

__all__ = [
    "CUPY_VERSION",
    "BlasCall",
    "CannotStart",
    "Copy",
    "Counts",
    "HostCompileError",
    "IllegalCall",
    "NotEmulated",
    "check_margins",
    "check_version",
    "counting",
    "devices",
    "is_started",
    "start",
]
