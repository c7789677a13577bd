"""What holds for the project as a whole: packaging, layers and names."""

import ast
import re
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


def test_extras_are_quoted_where_they_are_installed():
    """zsh takes brackets for a pattern of file names, and says that none matches."""
    texts = [*sources("autograd_gpu", "backends", "benchmarks", "examples", "tests", "ci")]
    texts += [
        p
        for kind in ("*.md", "*.sh")
        for f in (".", "docs", "ci", "benchmarks", "examples")
        for p in (ROOT / f).glob(kind)
    ]
    bare = re.compile(r"pip install [^'\"`\n]*\w\[[a-z]")
    wrong = [
        f"{p.name}: {m[0]}"
        for p in texts
        if p != Path(__file__)
        for m in bare.finditer(p.read_text())
    ]
    assert wrong == []
    assert bare.search("pip install -e .[cuda13]".replace("-e .", "autograd_gpu"))


def test_scripts_read_their_arguments_with_argparse():
    """So that --help and a wrong argument are answered, and nothing is done."""
    others = {"processes.py", "__main__.py"}  # which others start, or which start another
    paths = [p for p in sources("benchmarks", "ci", "examples", "tests") if p.name not in others]
    scripts = [p for p in paths if not p.name.startswith("test_")]
    assert [p.name for p in scripts if "sys.argv[" in p.read_text()] == []


@pytest.mark.parametrize("script", ["tests/killed_training.py", "ci/reference.py"])
def test_help(script):
    done = subprocess.run(
        [sys.executable, ROOT / script, "--help"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("usage:")


def test_importing_imports_no_array_library_and_no_heavy_one():
    code = (
        "import sys, autograd_gpu; "
        "print([m for m in ('numpy', 'cupy', 'scipy', 'torch', 'pytest') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT / "tests"
    )
    assert done.stdout.strip() == "[]"
