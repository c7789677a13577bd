"""Says which device CuPy uses, or, with a non-zero exit, why it can use none."""

from __future__ import annotations

import sys

from autograd_gpu.backend import BackendError, load_backend


def main() -> None:
    try:
        load_backend("cupy")
    except BackendError as error:
        sys.exit(f"no device to test: {error}")
    import cupy as cp

    device = cp.cuda.runtime.getDeviceProperties(cp.cuda.Device().id)
    print(f"CuPy {cp.__version__} on {device['name'].decode()}")


if __name__ == "__main__":
    main()
