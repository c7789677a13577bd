#!/usr/bin/env bash
# Sets up a virtual environment and runs every check: style, types, layers, tests, examples.
# Arguments go to pytest, and leave out the run without the compiled core. SKIP_EMULATED=1 leaves out
# the tests of the CuPy backend on an emulated CUDA runtime, which need a C++ compiler and CuPy's and
# NVRTC's wheels. EXTRA_PACKAGES are installed too: with torch among them, values and gradients are
# compared with PyTorch's.
set -euo pipefail
. "$(dirname "$0")/common.sh"

read -r -a extra <<<"${EXTRA_PACKAGES:-}"
emulated=${SKIP_EMULATED:-}
command -v g++ >/dev/null || emulated=1
[ -n "$emulated" ] || extra+=(cupy-cuda13x==14.2.0 nvidia-cuda-{nvrtc,runtime,crt})
set_up dev "${extra[@]}"
bin=$venv/bin
# The later runs find the tests as the first has compiled them; the dear tests stand together, so a
# worker that is done takes its part of what the other has left.
unset PYTHONDONTWRITEBYTECODE
pytest=("$bin/python" -m pytest -n 2 --dist worksteal)

"$bin/ruff" check
"$bin/ruff" format --check
"$bin/mypy"
"$bin/lint-imports"
"$bin/python" -c 'from autograd_gpu.core import core; print("compiled core:", core or "not built")'
"${pytest[@]}" "$@"
# Graph and engine once more without their compiled forms.
[ $# -gt 0 ] || AUTOGRAD_GPU_PURE_PYTHON=1 "${pytest[@]}" tests/{engine,function,fuse,transforms,standard} \
    tests/test_{core,graph,primitive,variable,errors,modes,safety,threads,protocols}.py
# Among the tests that arguments choose there may be none of CuPy, which is pytest's status 5.
[ -n "$emulated" ] || "${pytest[@]}" --cupy-on-cpu -k cupy "$@" || [[ $? = 5 && $# -gt 0 ]]
# Speed beside NumPy by hand: fails where a ratio has doubled since the newest report.
"$bin/python" benchmarks/run.py --quick --programs ours numpy \
    --rows "*forward and backward*" training large products networks transforms "compiled steps" \
    --check "$(find benchmarks/results -name '*-cpu.json' | sort | tail -1)"
