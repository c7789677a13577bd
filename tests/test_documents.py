"""README.md and docs/*.md: their Python runs, and their links lead somewhere."""

import re
from pathlib import Path

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu import nn, optim
from autograd_gpu.nn import functional as F

ROOT = Path(__file__).parents[1]
PAGES = [
    path
    for folder in (".", "docs", "examples", "benchmarks")
    for path in sorted((ROOT / folder).glob("*.md"))
]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
ELSEWHERE = {
    "cupy_on_cpu.md": "tests/emulated_cupy runs it",
    "design.md": "it shows the definition of an op that is there",
    "multi_gpu.md": "test_buckets_on_cupy.py runs it",
    "reference.md": "it quotes the source",
}


def names(width: int) -> dict[str, object]:
    """What the blocks take for granted: a model, its optimiser, two batches of images."""
    draw = np.random.default_rng(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(width * width, 10))
    images = draw.random((2, 4, 1, width, width)).astype("f4")
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    return {
        "ag": ag,
        "autograd_gpu": ag,
        "np": np,
        "nn": nn,
        "F": F,
        "optim": optim,
        "model": model,
        "optimizer": optimizer,
        "schedule": optim.StepLR(optimizer, 1),
        "batches": [(x, draw.integers(0, 10, 4)) for x in images],
        "x": draw.random((5, 2, 3)).astype("f4"),
        "lengths": [5, 3],
        "lstm": nn.LSTM(3, 4),
    }


def blocks():
    for page in PAGES:
        found = BLOCK.findall(page.read_text())
        if found and page.name not in ELSEWHERE:
            yield pytest.param(page, found, id=page.name)


@pytest.mark.parametrize(("page", "found"), list(blocks()))
@ag.use_backend("numpy")
def test_python_runs(page, found):
    """One block after the other, with the names that the earlier ones have defined."""
    scope = names(8)
    for i, source in enumerate(found):
        exec(compile("import logging\n" + source, f"{page.name}, block {i}", "exec"), scope)


def anchors(page: Path) -> set[str]:
    """The names that GitHub gives to a page's headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links(page):
    for target in LINK.findall(page.read_text()):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        assert path.exists(), target
        if anchor:
            assert anchor in anchors(path), target


def test_files_that_are_named_exist():
    """Paths in backticks, from the root or from the folder that the sentence is about."""
    folders = ("", "backends", "autograd_gpu", "benchmarks", "docs", "tests", "examples")
    for page in PAGES:
        for name in re.findall(r"`([\w/]+\.(?:py|sh|md))`", page.read_text()):
            places = [ROOT / folder / name for folder in folders] + [page.parent / name]
            assert any(place.exists() for place in places), f"{page.name}: {name}"
