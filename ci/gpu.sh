#!/usr/bin/env bash
# On a machine with an NVIDIA GPU: runs the suite on the device, compares the backends and measures.
#
#   bash ci/gpu.sh OUT             writes OUT/gpu-DATE.md, OUT/gpu-DATE.json and the logs
#   bash ci/gpu.sh OUT --emulated  the same steps on an emulated CUDA runtime, to test this script;
#                                  what it measures then says nothing
#
# Packages come from .whl/ beside the checkout if that folder exists (for machines without a net),
# from the machine's own Python if that has CuPy already, else from the net.
# Products in captured graphs need nvmath-python: its wheel belongs into .whl/, with those of
# cuda-bindings, cuda-core and cuda-pathfinder where the machine has none.  Without it, the steps
# "capture" and "captured steps" say so, and the benchmarks leave captured rows out.
# LIMIT is the time for everything in seconds (540); the report says what it left out. TESTS are the
# tests of the first step. Exits non-zero if a step failed; the report is written in any case.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
out=${1:?usage: bash ci/gpu.sh OUT [--emulated]}
mkdir -p "$out"
out=$(cd "$out" && pwd)
date=$(date +%Y-%m-%d)
end=$((SECONDS + ${LIMIT:-540}))
option=()
small=()
kind=gpu
repetitions=100
epochs=15
parity=cupy
if [ "${2:-}" = --emulated ]; then
    option=(--cupy-on-cpu)
    small=(--small)
    kind=emulated
    repetitions=2
    epochs=1
    # all ops with all their samples take the emulation many minutes where its cache is cold
    parity="cupy and (networks or matmul or sum)"
    export AUTOGRAD_GPU_CUPY_ON_CPU=1
fi

python=${PYTHON:-python3}
if [ -d .whl ] || "$python" -c 'import cupy, pytest' 2>/dev/null; then
    site=$(mktemp -d)
    if [ -d .whl ]; then
        # An environment, since libraries of CUDA that come in wheels are looked for in
        # site-packages; what the machine's own Python has is seen too.
        "$python" -m venv "$site/venv" || exit 1
        "$python" -c 'import site; print(*site.getsitepackages(), sep="\n")' \
            >"$("$site/venv/bin/python" -c 'import site; print(site.getsitepackages()[0])')/own.pth"
        python=$site/venv/bin/python
        "$python" -m pip install -q --no-index --no-deps --no-compile --ignore-installed \
            .whl/*.whl || exit 1
    fi
    # Where array-api-compat is missing, SciPy carries a copy of it.
    PYTHONPATH=$site "$python" -c 'import array_api_compat' 2>/dev/null ||
        ln -s "$("$python" -c 'import glob, os, scipy
print(sorted(glob.glob(os.path.dirname(scipy.__file__) + "/_*/array_api_compat"))[0])')" "$site/"
    # backends/ is imported as autograd_gpu.backends, which a plain checkout does not show; nor may
    # the checkout itself come first.
    mkdir "$site/autograd_gpu"
    ln -s "$root"/autograd_gpu/* "$site/autograd_gpu/"
    ln -s "$root/backends" "$site/autograd_gpu/backends"
    export PYTHONPATH=$site:$root/benchmarks:$root/tests${PYTHONPATH:+:$PYTHONPATH}
    export PYTHONSAFEPATH=1
else
    . ci/common.sh
    set_up dev cupy-cuda13x || exit 1
    python=$venv/bin/python
    export PYTHONPATH=$root/benchmarks:$root/tests
fi
# -n only where pytest-xdist is; one worker for every other core, since all share one GPU
workers=()
if "$python" -c 'import xdist' 2>/dev/null; then
    workers=(-n "$((($(nproc) + 1) / 2))")
fi
# pytest-benchmark, where a machine has it, warns about workers, and warnings are errors
pytest=("$python" -m pytest -q -p no:benchmark -p no:cacheprovider "${option[@]}")

report=$out/$kind-$date.md
steps=$out/steps.tsv
failed=0
: >"$steps"
{
    if [ "$kind" = gpu ]; then
        echo "# autograd_gpu on a GPU, $date"
        echo
        nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
    else
        echo "# autograd_gpu on an emulated CUDA runtime, $date"
        echo
        echo "Nothing here ran on a GPU."
    fi
    echo
    echo "Commit ${COMMIT:-$(git rev-parse --short HEAD 2>/dev/null || echo unknown)};" \
        "$("$python" -c 'import sys, cupy, numpy
print("Python", sys.version.split()[0] + ", NumPy", numpy.__version__ + ", CuPy", cupy.__version__)')"
    echo
    echo "| step | result | seconds |"
    echo "|---|---|---|"
} >"$report"

# step NAME SECONDS COMMAND...: runs it for so long at most, keeps its log, adds to the report.
step() {
    local name=$1 limit=$2 start=$SECONDS code result
    shift 2
    [ "$limit" -le "$((end - SECONDS))" ] || limit=$((end - SECONDS))
    if [ "$limit" -lt 5 ]; then
        code=124
        result="left out: the time was up"
    else
        timeout -k 10 "$limit" "$@" >"$out/${name// /-}.log" 2>&1
        code=$?
        # a progress bar writes its states one over the other: the last counts
        result=$(tr '\r' '\n' <"$out/${name// /-}.log" | grep -v '^learning curve' |
            grep . | tail -n 1 | tr '|\t"\\' '    ')
        [ "$code" -ne 137 ] || code=124 # it did not heed the signal, as within a call of CUDA
        [ "$code" -ne 124 ] || result="stopped after $limit s; $result"
    fi
    [ "$code" -eq 0 ] || failed=1
    echo "| $name | $result (exit $code) | $((SECONDS - start)) |" >>"$report"
    printf '%s\t%s\t%s\t%s\n' "$name" "$code" "$((SECONDS - start))" "$result" >>"$steps"
}

step parity 150 env AUTOGRAD_GPU_FULL=1 "${pytest[@]}" "${workers[@]}" \
    tests/ops/test_table_on_cupy.py tests/ops/test_table.py -k "$parity"
step repetitions 60 env AUTOGRAD_GPU_REPETITIONS="$repetitions" "${pytest[@]}" \
    tests/test_repetitions.py
step capture 60 "$python" ${small:+-m cupy_on_cpu} ci/check_capture.py
step "captured steps" 90 "${pytest[@]}" tests/captured
step benchmarks 240 "$python" ${small:+-m cupy_on_cpu} benchmarks/gpu.py \
    --out "$out" --seconds 200 "${small[@]}"
step digits 60 "$python" ${small:+-m cupy_on_cpu} examples/train_digits.py --backend cupy \
    --epochs "${EPOCHS:-$epochs}" --out "$out"
step suite 300 "${pytest[@]}" "${workers[@]}" ${TESTS:-tests} --ignore tests/test_examples.py

if [ -f "$out/benchmarks.md" ]; then
    { echo && cat "$out/benchmarks.md"; } >>"$report"
fi
"$python" - "$steps" "$out/benchmarks.json" "$out/$kind-$date.json" "$kind" "$date" <<'PYTHON'
import json, pathlib, sys

steps, benchmarks, target, kind, date = sys.argv[1:]
rows = [line.split("\t") for line in pathlib.Path(steps).read_text().rstrip("\n").split("\n")]
result = {
    "kind": kind,
    "date": date,
    "steps": [
        {"name": n, "exit": int(code), "seconds": int(s), "result": r} for n, code, s, r in rows
    ],
}
if pathlib.Path(benchmarks).exists():
    result["benchmarks"] = json.loads(pathlib.Path(benchmarks).read_text())
pathlib.Path(target).write_text(json.dumps(result, indent=1))
PYTHON
rm -f "$steps" "$out/benchmarks.md" "$out/benchmarks.json"
cat "$report"
exit "$failed"
