# Shared by the scripts beside it: a virtual environment of the project's own, with what is asked for.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
venv=${VENV:-$root/.venv}

find_python() {
    for candidate in "${PYTHON:-}" python3 python3.13 python3.12 python3.11; do
        [ -n "$candidate" ] && command -v "$candidate" >/dev/null || continue
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
            echo "$candidate"
            return
        fi
    done
    echo "autograd_gpu needs Python 3.11 or newer; set PYTHON to one" >&2
    return 1
}

# set_up EXTRAS [PACKAGE...]: installs this checkout with its extras, once for each set of arguments.
set_up() {
    local extras=$1 stamp
    shift
    stamp=$venv/.installed-$(printf '%s' "$extras $*" | cat - pyproject.toml setup.py autograd_gpu/c/* | cksum | cut -d' ' -f1)
    [ -f "$stamp" ] && return
    [ -x "$venv/bin/python" ] || "$(find_python)" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable ".[$extras]" "$@"
    touch "$stamp"
}
