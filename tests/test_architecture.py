"""What holds for the project as a whole: packaging, layers and names."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def sources(*folders):
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def test_every_package_is_listed():
    found = {
        "autograd_gpu" + "".join(f".{part}" for part in path.parent.relative_to(root).parts)
        if prefix is None
        else prefix
        for root, prefix in (
            (ROOT / "autograd_gpu", None),
            (ROOT / "backends", "autograd_gpu.backends"),
        )
        for path in root.rglob("__init__.py")
    }
    assert found == set(PROJECT["tool"]["setuptools"]["packages"])


def test_no_array_library_is_imported_under_autograd_gpu():
    for path in sources("autograd_gpu"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            roots = {name.partition(".")[0] for name in names}
            assert not roots & {"numpy", "cupy", "cupyx", "array_api_compat"}, path


def test_every_module_is_named_in_the_contract_that_keeps_array_libraries_out():
    (contract,) = [
        c
        for c in PROJECT["tool"]["importlinter"]["contracts"]
        if c["name"] == "No array library above the backends"
    ]
    modules = {
        f"autograd_gpu.{path.stem}"
        for path in (ROOT / "autograd_gpu").iterdir()
        if path.suffix not in (".pyi", ".so", ".pyd")
        and path.name not in ("__init__.py", "__pycache__", "c", "py.typed")
    }
    assert modules == set(contract["source_modules"])


def test_cupy_is_imported_in_cupy_files_only():
    for path in sources("autograd_gpu", "backends"):
        if not path.name.startswith("cupy_"):
            assert "import cupy" not in path.read_text(), path


@pytest.mark.parametrize("folder", ["autograd_gpu", "backends"])
def test_files_are_short(folder):
    for path in sources(folder):
        assert len(path.read_text().splitlines()) <= 550, path


def test_importing_imports_no_cupy_and_no_heavy_library():
    code = (
        "import sys, autograd_gpu; "
        "print([m for m in ('cupy', 'scipy', 'torch', 'pytest') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT / "tests"
    )
    assert done.stdout.strip() == "[]"
