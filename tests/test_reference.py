"""docs/reference.md is what ci/reference.py makes of the source."""

import importlib.util
from pathlib import Path

from autograd_gpu.primitive import PRIMITIVES

ROOT = Path(__file__).resolve().parents[1]
spec = importlib.util.spec_from_file_location("reference", ROOT / "ci" / "reference.py")
reference = importlib.util.module_from_spec(spec)
spec.loader.exec_module(reference)


def test_the_page_is_not_stale():
    assert reference.PAGE.read_text() == reference.page(), "write it: python ci/reference.py"


def test_formulas():
    assert reference.gradients(PRIMITIVES["multiply"]) == {
        "a": "g * xp.conj(b)",
        "b": "g * xp.conj(a)",
    }
    assert "_spread(" in reference.gradients(PRIMITIVES["sum"])["x"]
    assert "def _restored" in reference.sources([PRIMITIVES["sum"]])
    assert "Not differentiable" in reference.entry(PRIMITIVES["equal"])


def test_every_derivative_has_a_formula():
    for primitive in PRIMITIVES.values():
        assert reference.gradients(primitive).keys() == primitive.derivatives.keys()
