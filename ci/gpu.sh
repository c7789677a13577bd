#!/usr/bin/env bash
# On a machine with an NVIDIA GPU: runs the suite on the device, compares the backends and measures.
#
#   bash ci/gpu.sh OUT             writes OUT/gpu-DATE.md, OUT/gpu-DATE.json and the logs
#   bash ci/gpu.sh OUT --emulated  the same steps on an emulated CUDA runtime, each with a part of its
#                                  work, to test this script; what it measures then says nothing
#
# Packages come from .whl/ beside the checkout if that folder exists (for machines without a net),
# from the machine's own Python if that has CuPy already, else from the net into .venv/.
# Products in captured graphs need nvmath-python: its wheel belongs into .whl/, with those of
# cuda-bindings, cuda-core and cuda-pathfinder where the machine has none.  Without it, the steps
# "capture" and "captured steps" say so, and the benchmarks leave captured rows out.
#
# LIMIT   seconds for all steps (540; emulated 1500, since a busy machine may take long): a step that
#         no time is left for fails, while the benchmarks stop early
# EPOCHS  of training the digits (15; emulated 1)
# TESTS   the tests of the step "suite" (all; emulated those of the backend)
# COMMIT  what to call the code, where there is no git
#
# Exits non-zero if there is no device or a step failed; the report is written anew after each step.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
out=${1:?usage: bash ci/gpu.sh OUT [--emulated]}
mkdir -p "$out"
out=$(cd "$out" && pwd)
date=$(date +%Y-%m-%d)
kind=gpu
case "${2:-}" in
"") ;;
--emulated) kind=emulated ;;
*) echo "usage: bash ci/gpu.sh OUT [--emulated]" >&2 && exit 2 ;;
esac

if [ "$kind" = gpu ]; then
    limit=540 patience=1 repetitions=100 epochs=15
    option=() small=() emulation=()
    parity=(-k cupy)
    tests=(tests --ignore tests/test_examples.py)
else
    # Steps are stopped late, as compilers may share the processors with whatever else runs.
    limit=1500 patience=5 repetitions=2 epochs=1
    option=(--cupy-on-cpu) small=(--small) emulation=(-m cupy_on_cpu)
    # where the cache is cold, all ops in full take the emulation half an hour
    parity=(-k "cupy and (networks or matmul or sum)")
    tests=(tests/backends tests/emulated_cupy tests/test_devices.py tests/ops/test_matmul_on_cupy.py
        tests/nn/test_digits_on_cupy.py -k cupy)
    export AUTOGRAD_GPU_CUPY_ON_CPU=1
fi
[ -z "${TESTS:-}" ] || read -r -a tests <<<"$TESTS"

python=${PYTHON:-python3}
if [ -d .whl ] || "$python" -c 'import cupy, pytest' 2>/dev/null; then
    site=$(mktemp -d)
    trap 'rm -rf "$site"' EXIT
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
    # The compiled core, where there is a compiler; the report says whether it is there.
    rm -f "$site"/autograd_gpu/_core*
    "$python" -c 'import numpy, sysconfig as s
print(s.get_path("include"), numpy.get_include(), s.get_config_var("EXT_SUFFIX"))' |
        (read -r include numpy suffix && cc -O3 -fno-math-errno -ffp-contract=off -shared -fPIC -I"$include" -I"$numpy" \
            autograd_gpu/c/*.c -o "$site/autograd_gpu/_core$suffix") || echo "the compiled core is left out" >&2
    export PYTHONPATH=$site:$root/benchmarks:$root/tests${PYTHONPATH:+:$PYTHONPATH}
    export PYTHONSAFEPATH=1
else
    . ci/common.sh
    if [ "$kind" = emulated ]; then
        set_up dev cupy-cuda13x==14.2.0 nvidia-cuda-{nvrtc,runtime,crt} || exit 1
    else
        if ! command -v nvidia-smi >/dev/null; then
            echo "there is no NVIDIA driver here (nvidia-smi); without a GPU use --emulated" >&2
            exit 1
        fi
        cuda=$(nvidia-smi | sed -n 's/.*CUDA Version: *\([0-9]*\).*/\1/p')
        cuda=$((${cuda:-13} < 13 ? 12 : 13)) # the newest that the driver can run
        set_up "dev,cuda$cuda,graphs$cuda" || exit 1
    fi
    python=$venv/bin/python
    export PYTHONPATH=$root/benchmarks:$root/tests
fi
# Without a device the tests would be skipped, which is no success.
"$python" "${emulation[@]}" ci/check_device.py || exit 1

# -n only where pytest-xdist is; one worker for every other core, since all share one GPU
workers=()
if "$python" -c 'import xdist' 2>/dev/null; then
    workers=(-n "$((($(nproc) + 1) / 2))")
fi
# pytest-benchmark, where a machine has it, warns about workers, and warnings are errors
pytest=("$python" -m pytest -q -p no:benchmark -p no:cacheprovider "${option[@]}")
# JAX takes most of a GPU's memory for itself unless told not to, and others measure there too.
export XLA_PYTHON_CLIENT_PREALLOCATE=false

steps=$out/steps.tsv
failed=0
end=$((SECONDS + ${LIMIT:-$limit}))
: >"$steps"
rm -f "$out/benchmarks.json"
commit=${COMMIT:-$(git rev-parse --short HEAD 2>/dev/null || echo unknown)}

report() {
    "$python" ci/gpu_report.py "$out" "$kind" "$date" "$commit" || failed=1
}

# step NAME SECONDS COMMAND...: runs it for so long at most, keeps its log, adds to the report.
step() {
    local name=$1 limit=$(($2 * patience)) start=$SECONDS log code result
    log=$out/${name// /-}.log
    shift 2
    [ "$limit" -le "$((end - SECONDS))" ] || limit=$((end - SECONDS))
    if [ "$limit" -lt 5 ]; then
        code=124
        result="left out: the time was up"
    else
        echo "$name: $limit s at most" >&2
        timeout -k 10 "$limit" "$@" >"$log" 2>&1
        code=$?
        # a progress bar writes its states one over the other: the last counts
        result=$(tr '\r' '\n' <"$log" | grep -v '^learning curve' | grep . | tail -n 1 | tr '\t' ' ')
        [ "$code" -ne 137 ] || code=124 # it did not heed the signal, as within a call of CUDA
        [ "$code" -ne 124 ] || result="stopped after $limit s; $result"
    fi
    [ "$code" -eq 0 ] || failed=1
    printf '%s\t%s\t%s\t%s\n' "$name" "$code" "$((SECONDS - start))" "$result" >>"$steps"
    report
}

report
step parity 150 env AUTOGRAD_GPU_FULL=1 "${pytest[@]}" "${workers[@]}" \
    tests/ops/test_table_on_cupy.py tests/ops/test_table.py "${parity[@]}"
step repetitions 60 env AUTOGRAD_GPU_REPETITIONS="$repetitions" "${pytest[@]}" \
    tests/test_repetitions.py
step capture 60 "$python" "${emulation[@]}" ci/check_capture.py
step "captured steps" 90 "${pytest[@]}" tests/captured
step digits 60 "$python" "${emulation[@]}" examples/train_digits.py --backend cupy \
    --epochs "${EPOCHS:-$epochs}" --out "$out"
step suite 300 "${pytest[@]}" "${workers[@]}" "${tests[@]}"
# Last, as it can stop anywhere: before the time is up, with what it has.
left=$((end - SECONDS - 40))
step benchmarks 300 "$python" "${emulation[@]}" benchmarks/gpu.py \
    --out "$out" --seconds "$((left < 260 ? left : 260))" "${small[@]}"

rm -f "$steps" "$out/benchmarks.json"
cat "$out/$kind-$date.md"
exit "$failed"
