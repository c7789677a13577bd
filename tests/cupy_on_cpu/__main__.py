"""Runs a script under the emulation: `PYTHONPATH=tests python -m cupy_on_cpu script.py ...`."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from . import start


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit("usage: python -m cupy_on_cpu SCRIPT [ARGUMENTS]")
    del sys.argv[0]
    # what `python script.py` does
    sys.path.insert(0, str(Path(sys.argv[0]).resolve().parent))
    start()
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
