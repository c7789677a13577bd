#!/usr/bin/env bash
# On a machine with an NVIDIA GPU: runs the suite on the device, compares the backends and measures.
#
#   bash ci/gpu.sh OUT             writes OUT/gpu-DATE.md and the logs
#   bash ci/gpu.sh OUT --emulated  the same steps on an emulated CUDA runtime, to test this script
#
# Packages come from .whl/ beside the checkout if that folder exists (for machines without a net).
# Exits non-zero if a step failed; the report is written in any case.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
out=${1:?usage: bash ci/gpu.sh OUT [--emulated]}
mkdir -p "$out"
out=$(cd "$out" && pwd)
date=$(date +%Y-%m-%d)
option=()
kind=gpu
if [ "${2:-}" = --emulated ]; then
    option=(--cupy-on-cpu)
    kind=emulated
    export AUTOGRAD_GPU_CUPY_ON_CPU=1
fi

if [ -d .whl ]; then
    python=${PYTHON:-python3}
    site=$(mktemp -d)
    "$python" -m pip install -q --no-index --no-deps --no-compile --target "$site" .whl/*.whl || exit 1
    # backends/ is imported as autograd_gpu.backends, which a plain checkout does not show.
    mkdir "$site/autograd_gpu"
    ln -s "$root"/autograd_gpu/* "$site/autograd_gpu/"
    ln -s "$root/backends" "$site/autograd_gpu/backends"
    export PYTHONPATH=$site
else
    . ci/common.sh
    set_up dev cupy-cuda13x || exit 1
    python=$venv/bin/python
fi

report=$out/$kind-$date.md
failed=0
{
    echo "# autograd_gpu on $([ "$kind" = gpu ] && echo "a GPU" || echo "an emulated CUDA runtime"), $date"
    echo
    echo "Commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
    if [ "$kind" = gpu ]; then
        nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
    fi
    echo
    echo "| step | result | seconds |"
    echo "|---|---|---|"
} >"$report"

# step NAME COMMAND...: runs it, keeps its log, adds a line to the report.
step() {
    local name=$1 start=$SECONDS code
    shift
    timeout "${STEP_LIMIT:-240}" "$@" >"$out/$name.log" 2>&1
    code=$?
    [ "$code" -eq 0 ] || failed=1
    echo "| $name | $(tail -n 1 "$out/$name.log" | tr '|' ' ') (exit $code) | $((SECONDS - start)) |" >>"$report"
}

step suite "$python" -m pytest -q "${option[@]}" tests --ignore tests/test_examples.py
step parity "$python" -m pytest -q "${option[@]}" tests/ops/test_table.py
step digits "$python" examples/train_digits.py --backend cupy --epochs 1 --out "$out/digits.png"
cat "$report"
exit "$failed"
