"""A table of a network's modules with their outputs' shapes and numbers of parameters."""

from __future__ import annotations

import math
from typing import Any

from autograd_gpu.modes import no_grad
from autograd_gpu.nn.module import Module
from autograd_gpu.variable import RemovableHandle


def summary(module: Module, *inputs: Any, **options: Any) -> str:
    """A table of all modules: class, shape of the output, number of parameters of its own.

    With `inputs` the module is called once, in eval mode and without a graph, to learn the shapes.

    >>> print(summary(Sequential(Linear(3, 2), ReLU()), ones((5, 3))))
    module      type        output  parameters
    ------------------------------------------
                Sequential  [5, 2]           0
      0         Linear      [5, 2]           8
      1         ReLU        [5, 2]           0
    ------------------------------------------
    8 parameters, 8 of them trained; 32 bytes
    """
    shapes: dict[int, str] = {}
    modules = list(module.named_modules())
    if inputs or options:
        _watch(module, modules, shapes, inputs, options)
    rows = [("module", "type", "output", "parameters")]
    for path, m in modules:
        depth = path.count(".") + 1 if path else 0
        own = sum(math.prod(p.shape) for p in m._parameters.values() if p is not None)
        name = "  " * depth + path.rpartition(".")[2]
        rows.append((name, type(m).__name__, shapes.get(id(m), ""), f"{own:,}"))
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    widths[0] = max(widths[0], 10)
    lines = []
    for row in rows:
        left = "  ".join(cell.ljust(width) for cell, width in zip(row[:3], widths, strict=False))
        lines.append(f"{left}  {row[3].rjust(widths[3])}")
    rule = "-" * len(lines[0])
    parameters = list(module.parameters())
    total = sum(math.prod(p.shape) for p in parameters)
    trained = sum(math.prod(p.shape) for p in parameters if p.requires_grad)
    size = sum(p.value.nbytes for p in parameters)
    end = f"{total:,} parameters, {trained:,} of them trained; {size:,} bytes"
    return "\n".join([lines[0], rule, *lines[1:], rule, end])


def _watch(
    module: Module,
    modules: list[tuple[str, Module]],
    shapes: dict[int, str],
    inputs: tuple[Any, ...],
    options: dict[str, Any],
) -> None:
    """Call `module` and note the shapes of what all modules return."""

    def note(m: Module, args: Any, result: Any) -> None:
        shapes[id(m)] = _shape(result)

    modes = [(m, m.training) for _, m in modules]
    handles: list[RemovableHandle[Any]] = [m.register_forward_hook(note) for _, m in modules]
    try:
        module.eval()
        with no_grad():
            module(*inputs, **options)
    finally:
        for handle in handles:
            handle.remove()
        for m, training in modes:
            m.training = training


def _shape(result: Any) -> str:
    if isinstance(result, (tuple, list)):
        return ", ".join(filter(None, map(_shape, result)))
    return str(list(result.shape)) if hasattr(result, "shape") else ""
