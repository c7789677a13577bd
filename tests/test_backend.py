"""How a backend is picked, and what happens where one is missing or two meet."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu import backend as module
from autograd_gpu.backend import BackendError

PATHS = {k: os.environ[k] for k in ("PYTHONPATH", "PYTHONSAFEPATH") if k in os.environ}


def run(code, **env):
    """Run `code` in a fresh interpreter that cannot see a GPU, and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "CUDA_VISIBLE_DEVICES": "", **PATHS, **env},
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_numpy_is_always_available():
    assert "numpy" in ag.available_backends()


def test_auto_falls_back_to_numpy_without_a_device():
    assert run("import autograd_gpu as ag; print(ag.get_backend())") == "numpy"


def test_the_environment_variable():
    code = "import autograd_gpu as ag; print(ag.get_backend(), type(ag.Variable([1.0]).value))"
    printed = run(code, AUTOGRAD_GPU_BACKEND="numpy")
    assert printed == "numpy <class 'numpy.ndarray'>"


def test_cupy_is_not_imported_unless_asked_for():
    code = (
        "import sys, numpy, autograd_gpu as ag; "
        "(ag.Variable(numpy.ones(3), requires_grad=True) * 2.0).sum().backward(); "
        "print('cupy' in sys.modules)"
    )
    assert run(code, AUTOGRAD_GPU_BACKEND="numpy") == "False"


def test_a_missing_cupy_says_how_to_install_it():
    code = (
        "import sys; sys.modules['cupy'] = None\n"
        "import autograd_gpu as ag\n"
        "try:\n    ag.set_backend('cupy')\n"
        "except ag.BackendError as error:\n    print(error)\n"
        "print(ag.get_backend())"
    )
    printed = run(code)
    assert "not installed" in printed
    assert "cuda13" in printed
    assert printed.endswith("numpy")


def test_a_missing_device_says_so():
    pytest.importorskip("cupy", reason="cupy is not installed")
    code = (
        "import autograd_gpu as ag\n"
        "try:\n    ag.set_backend('cupy')\n"
        "except ag.BackendError as error:\n    print(error)\n"
    )
    assert "device" in run(code)


def test_an_unknown_backend():
    with pytest.raises(ValueError, match=r"'jax' is unknown.*numpy.*cupy"):
        ag.set_backend("jax")
    with pytest.raises(ValueError, match="unknown"), ag.use_backend("torch"):
        pass


def test_use_backend_restores_and_is_per_thread():
    seen = []
    with ag.use_backend("numpy"):
        thread = threading.Thread(target=lambda: seen.append(module._using.get()))
        thread.start()
        thread.join()
        assert module._using.get() == "numpy"
    assert seen == [None]
    assert module._using.get() is None
    with pytest.raises(KeyError), ag.use_backend("numpy"):
        raise KeyError
    assert module._using.get() is None


def test_backend_error_is_an_import_error():
    assert issubclass(BackendError, ImportError)


def test_arrays_of_other_libraries_are_refused():
    class Other:
        """Looks like another library's array."""

        shape = (2,)
        dtype = "float32"

    with pytest.raises(TypeError, match="expected a NumPy or CuPy array"):
        ag.Variable(Other())


def test_moving_between_backends_of_one_name_is_no_copy_on_numpy():
    x = ag.Variable(np.ones(3), requires_grad=True)
    y = x.to("numpy") * 2.0
    y.sum().backward()
    np.testing.assert_array_equal(x.grad, np.full(3, 2.0))
    with pytest.raises(TypeError, match="jax"):
        x.to("jax")


def test_a_checkout_that_is_not_installed_works():
    root = Path(__file__).resolve().parents[1]
    code = (
        f"import sys; sys.path.insert(0, {str(root)!r})\n"
        "sys.meta_path[:] = [f for f in sys.meta_path if 'editable' not in repr(f).lower()]\n"
        "import autograd_gpu as ag; print(ag.Variable([2.0]).item(), ag.__file__)"
    )
    assert run(code, AUTOGRAD_GPU_BACKEND="numpy") == f"2.0 {root / 'autograd_gpu/__init__.py'}"
