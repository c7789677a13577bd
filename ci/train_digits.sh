#!/usr/bin/env bash
# Sets up a virtual environment and trains a small convolutional network on handwritten digits,
# on a GPU if CuPy sees one and on the CPU if not. Arguments go to examples/train_digits.py.
set -euo pipefail
. "$(dirname "$0")/common.sh"

set_up examples
exec "$venv/bin/python" examples/train_digits.py "$@"
