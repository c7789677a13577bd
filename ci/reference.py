"""Writes docs/reference.md: every op with its derivatives, as the source has them.

python ci/reference.py            write it
python ci/reference.py --check    fail if it is not what would be written
"""

from __future__ import annotations

import argparse
import ast
import difflib
import inspect
import sys
import textwrap
from collections import defaultdict
from pathlib import Path
from typing import Any

import autograd_gpu as ag
from autograd_gpu.primitive import PRIMITIVES, Primitive

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference.md"
PREFIX = "autograd_gpu.ops."

HEADER = """\
# Reference

Generated from the source by `python ci/reference.py`; a test fails if this page is stale.

## How to read it

The first part lists all public functions. The second has the primitives, the ops that have
derivatives of their own; everything else is made of them and inherits theirs.

For each operand of a primitive there is the gradient that it gets: `g` is the gradient of the
result, `y` the result, `xp` the namespace of the arrays, and `x_shape` the shape of the operand
`x`. Broadcasts are undone, dtypes cast back and imaginary parts dropped by the engine afterwards.
*Keeps* is what is saved for the backward, and only if the operand needs a gradient; shapes and
parameters, which cost nothing, are not counted.

*Forward* says how tangents are carried: by a word of `autograd_gpu/tangents.py`, by a rule of its
own, or by two reverse passes through the op.

What is not differentiable says so: its result is a leaf, and a gradient ends there.

All primitives work on NumPy and CuPy, in float32 and float64, most in float16, and in complex64 and
complex128 where the function has complex values. They have derivatives of every order, since a
derivative is made of primitives. First and second derivatives of every primitive are compared with
central differences in `tests/ops/test_table.py`, those of other functions in
`tests/ops/test_composed.py`.
"""


def page() -> str:
    """The text of the page."""
    families: dict[str, list[Primitive]] = defaultdict(list)
    for primitive in PRIMITIVES.values():
        module = primitive.forward.__module__
        if module.startswith(PREFIX):
            families[module.removeprefix(PREFIX)].append(primitive)
    parts = [HEADER, "## Functions\n"]
    for title, space in [
        ("autograd_gpu", ag),
        ("autograd_gpu.linalg", ag.linalg),
        ("autograd_gpu.fft", ag.fft),
        ("autograd_gpu.special", ag.special),
    ]:
        parts.append(f"### {title}\n")
        parts.append("\n".join(functions(space)) + "\n")
    parts.append("## Primitives\n")
    for family in sorted(families):
        parts.append(f"### {family}\n")
        parts += [entry(p) for p in sorted(families[family], key=lambda p: p.name)]
        helpers = sources(families[family])
        if helpers:
            parts.append("Used in these derivatives:\n")
            parts.append(f"```python\n{helpers}\n```\n")
    return "\n".join(parts)


def functions(space: Any) -> list[str]:
    """One line for each public function."""
    lines = []
    for name, value in sorted(vars(space).items()):
        if name.startswith("_") or not inspect.isfunction(inspect.unwrap(value)):
            continue
        lines.append(f"- `{name}{parameters(value)}`: {first_sentence(value)}")
    return lines


def parameters(function: Any) -> str:
    """The signature without annotations."""
    signature = inspect.signature(function)
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return str(inspect.Signature(bare))


def first_sentence(function: Any) -> str:
    text = inspect.getdoc(function) or ""
    paragraph = " ".join(text.split("\n\n")[0].split())
    return paragraph.split(".  ")[0].removesuffix(".")


def entry(primitive: Primitive) -> str:
    """What the page says of one primitive."""
    signature = f"{primitive.name}{parameters(primitive.op)}"
    lines = [f"**`{signature}`** {first_sentence(primitive.forward)}.", ""]
    formulas = gradients(primitive)
    for operand in primitive.operands:
        if operand not in formulas:
            continue
        formula = formulas[operand]
        kept = [
            x
            for x in inspect.signature(primitive.derivatives[operand]).parameters
            if x in primitive.operands or x in ("y", "aux")
        ]
        note = f" Keeps {', '.join(f'`{x}`' for x in kept)}." if kept else ""
        lines.append(f"- {operand}: `{formula}`.{note}")
    lines.append(f"- Forward: {forward(primitive)}." if formulas else "- Not differentiable.")
    return "\n".join(lines) + "\n"


def forward(primitive: Primitive) -> str:
    """How the tangent of the result comes about."""
    rules = primitive.writer.rules
    if not rules:
        return "two reverse passes"
    words = {rule if isinstance(rule, str) else "a rule" for rule in rules.values()}
    if len(words) == 1:
        return words.pop()
    return ", ".join(
        f"{rule if isinstance(rule, str) else 'a rule'} for {operand}"
        for operand, rule in rules.items()
    )


def gradients(primitive: Primitive) -> dict[str, str]:
    """The source of the derivative for each operand."""
    found = {}
    for keyword in declaration(primitive):
        if keyword.arg in primitive.derivatives:
            value = keyword.value
            if isinstance(value, ast.Lambda):
                found[keyword.arg] = " ".join(ast.unparse(value.body).split())
            else:
                names = inspect.signature(primitive.derivatives[keyword.arg]).parameters
                found[keyword.arg] = f"{ast.unparse(value)}({', '.join(names)})"
    for operand, derivative in primitive.derivatives.items():  # declared in another way
        if operand not in found:
            names = inspect.signature(derivative).parameters
            found[operand] = f"{derivative.__name__}({', '.join(names)})"
    return found


def declaration(primitive: Primitive) -> list[ast.keyword]:
    """The keywords of the decorator."""
    source = textwrap.dedent(inspect.getsource(primitive.forward))
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    return [
        keyword
        for decorator in function.decorator_list
        if isinstance(decorator, ast.Call)
        for keyword in decorator.keywords
    ]


def sources(primitives: list[Primitive]) -> str:
    """The functions of their own module that the derivatives call, in the order of the source."""
    module = sys.modules[primitives[0].forward.__module__]
    wanted: dict[str, Any] = {}
    trees: list[ast.AST] = [k.value for p in primitives for k in declaration(p)]
    while trees:
        for node in ast.walk(trees.pop()):
            name = node.id if isinstance(node, ast.Name) else ""
            value = vars(module).get(name)
            if (
                name not in wanted
                and name.startswith("_")
                and inspect.isfunction(value)
                and value.__module__ == module.__name__
            ):
                wanted[name] = value
                trees.append(ast.parse(textwrap.dedent(inspect.getsource(value))))
    ordered = sorted(wanted.values(), key=lambda f: f.__code__.co_firstlineno)
    return "\n\n\n".join(inspect.getsource(f).rstrip() for f in ordered)


def main() -> int:
    parser = argparse.ArgumentParser(description="Writes docs/reference.md from the source.")
    parser.add_argument(
        "--check", action="store_true", help="write nothing, and fail if the page is stale"
    )
    check = parser.parse_args().check
    text = page()
    if not check:
        PAGE.write_text(text)
        return 0
    old = PAGE.read_text() if PAGE.exists() else ""
    if old == text:
        return 0
    changes = difflib.unified_diff(old.splitlines(), text.splitlines(), "docs", "source", n=0)
    print("\n".join(list(changes)[:40]))
    print("docs/reference.md is stale; write it with: python ci/reference.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
