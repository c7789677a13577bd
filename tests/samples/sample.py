"""What a sample is, and the operands that most of them share."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Sample:
    """One call of a primitive.

    `operands` are NumPy arrays in float64, complex128, integers or bools, Python numbers, or None.
    `reference` computes the value from operands and statics with NumPy.  With `gradients`, those
    for a cotangent of ones are known, one for each operand, or None where there is none.
    """

    label: str
    operands: tuple[Any, ...]
    statics: Mapping[str, Any]
    reference: Callable[..., Any]
    check: bool = True  # compare with central differences: off at kinks
    second: bool = True  # and the second derivatives too
    gradients: tuple[Any, ...] | None = None
    dtypes: tuple[str, ...] = ("float32", "float16")  # the others that the op is tried in

    def __str__(self) -> str:
        return self.label


@dataclass
class Table:
    """The samples of one family, by the names of the primitives."""

    samples: dict[str, list[Sample]] = field(default_factory=dict)

    def add(
        self,
        name: str,
        reference: Callable[..., Any],
        operands: tuple[Any, ...],
        label: str = "",
        statics: Mapping[str, Any] | None = None,
        **flags: Any,
    ) -> None:
        mine = self.samples.setdefault(name, [])
        label = label or f"{len(mine)}"
        mine.append(Sample(label, operands, statics or {}, reference, **flags))

    def unary(
        self,
        name: str,
        reference: Callable[..., Any],
        low: float = -2.0,
        high: float = 2.0,
        *,
        complexes: bool = False,
        statics: Mapping[str, Any] | None = None,
        **flags: Any,
    ) -> None:
        """Samples of an elementwise op of one operand, within its domain."""
        for label, x in arrays(name, low, high):
            self.add(name, reference, (x,), label, statics, **flags)
        if complexes:
            z = draw(name, (2, 3), -1, 1) + 1j * draw(name + "i", (2, 3), 0.2, 1)
            self.add(name, reference, (z,), "complex", statics, **flags)

    def binary(
        self,
        name: str,
        reference: Callable[..., Any],
        a: tuple[float, float] = (-2.0, 2.0),
        b: tuple[float, float] = (-2.0, 2.0),
        *,
        complexes: bool = False,
        **flags: Any,
    ) -> None:
        """Samples of an elementwise op of two operands: the ways to broadcast, and numbers."""
        for label, x, y in [
            ("same", (2, 3), (2, 3)),
            ("row", (2, 3), (3,)),
            ("outer", (2, 1), (1, 3)),
            ("0-d", (), ()),
            ("0-d and vector", (), (3,)),
            ("empty", (0, 3), (3,)),
            ("empty outer", (0, 1), (1, 3)),
        ]:
            operands = draw(name, x, *a), draw(name + "b", y, *b)
            self.add(name, reference, operands, label, **flags)
        transposed = draw(name, (3, 2), *a).T
        strided = draw(name + "b", (2, 6), *b)[:, ::-2]
        self.add(name, reference, (transposed, strided), "strided", **flags)
        x, y = draw(name, (3,), *a), draw(name + "b", (3,), *b)
        self.add(name, reference, (x, (b[0] + 2 * b[1]) / 3), "number right", **flags)
        self.add(name, reference, ((a[0] + 2 * a[1]) / 3, y), "number left", **flags)
        if complexes:
            z = draw(name, (2, 3), 0.2, 1) + 1j * draw(name + "i", (2, 3), 0.2, 1)
            w = draw(name + "b", (3,), 0.2, 1) - 1j * draw(name + "bi", (3,), 0.2, 1)
            self.add(name, reference, (z, w), "complex", **flags)
            self.add(name, reference, (z, y), "complex and real", **flags)


def draw(name: str, shape: tuple[int, ...], low: float = -2.0, high: float = 2.0) -> Any:
    """Numbers between low and high, the same for the same name; no two of them close."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    n = int(np.prod(shape))
    steps = (np.arange(n) + 0.1 + 0.8 * rng.random(n)) / max(n, 1)
    return np.asarray(rng.permutation(low + (high - low) * steps).reshape(shape))


def arrays(name: str, low: float, high: float) -> Iterator[tuple[str, Any]]:
    """One operand: shapes and layouts."""
    yield "matrix", draw(name, (2, 3), low, high)
    yield "0-d", draw(name, (), low, high)
    yield "empty", draw(name, (0, 3), low, high)
    yield "one", draw(name, (1, 1), low, high)
    yield "transposed", draw(name, (3, 2), low, high).T
    yield "strided", draw(name, (2, 6), low, high)[:, ::-2]


def integers(name: str, shape: tuple[int, ...], low: int = 0, high: int = 9) -> Any:
    return np.random.default_rng(zlib.crc32(name.encode())).integers(low, high, shape)
