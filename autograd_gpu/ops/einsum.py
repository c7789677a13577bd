"""einsum, as products of matrices: NumPy's own loops take many times as long.

A string is taken apart once.  Operands are contracted in pairs; a pair is one recorded op, whose
forward and derivatives are each one (batched) matmul of permuted and reshaped views.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

from autograd_gpu.backend import NAMESPACES, Array, Namespace
from autograd_gpu.ops.arguments import variables
from autograd_gpu.ops.indexing import getitem_
from autograd_gpu.ops.shape import broadcast_to, permute_dims, reshape
from autograd_gpu.placement import backend_beside
from autograd_gpu.primitive import primitive
from autograd_gpu.variable import Variable

# Two operands ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Lowering:
    """How a pair becomes one product: `a` as [batch..., rows, sums], `b` as [batch..., sums,
    columns], each by a permutation and a reshape; None where there is nothing to do.

    `swapped` says that `a` and `b` change places, so that the product comes out closer to the
    order wanted.  Where nothing is summed the product is elementwise, of broadcast views.
    """

    swapped: bool
    elementwise: bool
    a_axes: tuple[int, ...] | None
    a_shape: tuple[int, ...] | None
    b_axes: tuple[int, ...] | None
    b_shape: tuple[int, ...] | None
    shape: tuple[int, ...] | None
    axes: tuple[int, ...] | None


@lru_cache(maxsize=4096)
def _lowering(
    a: str, b: str, out: str, a_shape: tuple[int, ...], b_shape: tuple[int, ...]
) -> Lowering:
    """The way to contract labels `a` and `b` to `out`; every label is in two of the three."""
    size = dict(zip(a + b, a_shape + b_shape, strict=True))

    def sizes(labels: Iterable[str]) -> tuple[int, ...]:
        return tuple([size[x] for x in labels])

    rows = [x for x in a if x not in b]
    columns = [x for x in b if x not in a]
    sums = [x for x in a if x in b and x not in out]
    if not sums:
        return Lowering(
            False,
            True,
            _axes(a, [x for x in out if x in a]),
            tuple([size[x] if x in a else 1 for x in out]) if len(a) < len(out) else None,
            _axes(b, [x for x in out if x in b]),
            tuple([size[x] if x in b else 1 for x in out]) if len(b) < len(out) else None,
            None,
            None,
        )
    # The columns of the product vary fastest, so the labels that end the output belong there.
    swapped = bool(rows) and (not columns or out.rfind(rows[-1]) > out.rfind(columns[-1]))
    if swapped:
        a, b, rows, columns = b, a, columns, rows
    batch = [x for x in out if x in a and x in b]
    m, k, n = prod(sizes(rows)), prod(sizes(sums)), prod(sizes(columns))
    joined = len(sums) != 1
    return Lowering(
        swapped,
        False,
        _axes(a, [*batch, *rows, *sums]),
        (*sizes(batch), m, k) if joined or len(rows) != 1 else None,
        _axes(b, [*batch, *sums, *columns]),
        (*sizes(batch), k, n) if joined or len(columns) != 1 else None,
        sizes([*batch, *rows, *columns]) if len(rows) != 1 or len(columns) != 1 else None,
        _axes("".join([*batch, *rows, *columns]), list(out)),
    )


def _axes(labels: str, order: list[str]) -> tuple[int, ...] | None:
    axes = tuple([labels.index(x) for x in order])
    return None if axes == tuple(range(len(axes))) else axes


def _product(xp: Namespace, a: Any, b: Any, la: str, lb: str, out: str) -> Any:
    """`a` with labels `la` times `b` with labels `lb`, summed to `out`; arrays or Variables."""
    plan = _lowering(la, lb, out, a.shape, b.shape)
    if plan.swapped:
        a, b = b, a
    if plan.a_axes is not None:
        a = a.transpose(plan.a_axes)
    if plan.a_shape is not None:
        a = a.reshape(plan.a_shape)
    if plan.b_axes is not None:
        b = b.transpose(plan.b_axes)
    if plan.b_shape is not None:
        b = b.reshape(plan.b_shape)
    if plan.elementwise:
        return a * b
    y = xp.matmul(a, b)
    if plan.shape is not None:
        y = y.reshape(plan.shape)
    return y if plan.axes is None else y.transpose(plan.axes)


@primitive(
    a=lambda xp, g, b, la, lb, out: _product(xp, g, xp.conj(b), out, lb, la),
    b=lambda xp, g, a, la, lb, out: _product(xp, g, xp.conj(a), out, la, lb),
    tangent="linear",
)
def einsum_(xp: Namespace, a: Array, b: Array, *, la: str, lb: str, out: str) -> Array:
    """The contraction of two operands, every label of which is in two of `la`, `lb` and `out`."""
    return _product(xp, a, b, la, lb, out)


# Any number of operands -----------------------------------------------------------------------


def einsum(subscripts: str, *operands: Any) -> Variable:
    """Sums of products over labelled axes, as NumPy's einsum has them.

    Parameters
    ----------
    subscripts
        Labels of the operands' axes, separated by commas, and after `->` those of the result;
        without `->` the result has, in alphabetical order, the labels that occur once.  A label
        that an operand repeats takes its diagonal, and an ellipsis stands for axes that broadcast.
    operands
        Variables or arrays.  More than two are contracted in pairs, small results first.

    Raises ValueError for subscripts that are wrong or do not fit the shapes.

    >>> einsum("ij,jk->ik", Variable([[1.0, 2.0]]), Variable([[3.0], [4.0]]))
    Variable(array([[11.]], dtype=float32))
    """
    if not isinstance(subscripts, str):
        raise TypeError(f"einsum: subscripts are a string, not {type(subscripts).__name__}")
    xs = variables(*operands)
    try:
        plan = _plan(subscripts, tuple([x.value.shape for x in xs]))
    except ValueError as error:
        kinds = "".join([f", {x.dtype}{list(x.shape)}" for x in xs])
        raise ValueError(f"einsum({subscripts!r}{kinds}): {error}") from None
    for i, diagonal, shape, alone in plan.prepared:
        if diagonal is not None:
            xs[i] = _diagonal(xs[i], diagonal)
        if shape is not None:
            xs[i] = reshape(xs[i], shape)
        if alone:
            xs[i] = NAMESPACES[Variable].sum(xs[i], axis=alone)
    for i, j, la, lb, out in plan.pairs:
        b = xs.pop(j)
        xs.append(einsum_(xs.pop(i), b, la, lb, out))
    (y,) = xs
    if plan.axes is not None:
        y = permute_dims(y, plan.axes)
    if plan.stretched is not None:
        y = broadcast_to(reshape(y, plan.stretched[0]), plan.stretched[1])
    return y


@dataclass(frozen=True, slots=True)
class Plan:
    """What an einsum of operands of given shapes does, step by step."""

    prepared: tuple[tuple[int, str | None, tuple[int, ...] | None, tuple[int, ...]], ...]
    """For an operand: the labels of which it takes diagonals, a shape without axes that others
    stretch, axes to sum."""
    pairs: tuple[tuple[int, int, str, str, str], ...]
    """Two operands, which leave the list, their labels and those of their product, which ends it"""
    axes: tuple[int, ...] | None
    stretched: tuple[tuple[int, ...], tuple[int, ...]] | None


@lru_cache(maxsize=4096)
def _plan(subscripts: str, shapes: tuple[tuple[int, ...], ...]) -> Plan:
    parsed, out = _parse(subscripts, tuple([len(shape) for shape in shapes]))
    sizes = _sizes(parsed, shapes)
    prepared: list[tuple[int, str | None, tuple[int, ...] | None]] = []
    terms: list[str] = []
    for i, (term, shape) in enumerate(zip(parsed, shapes, strict=True)):
        labels = "".join(dict.fromkeys(term))
        own = {c: max(n for n, d in zip(shape, term, strict=True) if d == c) for c in labels}
        kept = "".join([c for c in labels if own[c] == sizes[c]])
        prepared.append(
            (
                i,
                term if labels != term else None,
                tuple([sizes[c] for c in kept]) if kept != labels else None,
            )
        )
        terms.append(kept)
    alone: list[tuple[int, ...]] = []
    for i, term in enumerate(terms):
        needed = {*out, *"".join(terms[:i] + terms[i + 1 :])}
        alone.append(tuple([k for k, c in enumerate(term) if c not in needed]))
        terms[i] = "".join([c for c in term if c in needed])
    pairs: list[tuple[int, int, str, str, str]] = []
    while len(terms) > 1:
        i, j = _next_pair(terms, out, sizes)
        lb = terms.pop(j)
        la = terms.pop(i)
        needed = {*out, *"".join(terms)}
        both = dict.fromkeys(la + lb)
        kept = "".join([c for c in (both if terms else out) if c in needed and c in both])
        pairs.append((i, j, la, lb, kept))
        terms.append(kept)
    (term,) = terms
    stretched = None
    if len(term) < len(out):
        full = tuple([sizes[c] for c in out])
        stretched = tuple([sizes[c] if c in term else 1 for c in out]), full
    return Plan(
        tuple(
            [(*p, a) for p, a in zip(prepared, alone, strict=True) if a or p[1:] != (None, None)]
        ),
        tuple(pairs),
        _axes(term, [c for c in out if c in term]),
        stretched,
    )


def _parse(subscripts: str, ndims: tuple[int, ...]) -> tuple[tuple[str, ...], str]:
    """The labels of each operand and of the result; an ellipsis becomes labels of its own."""
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if len(parts) != len(ndims):
        raise ValueError(f"the subscripts are for {len(parts)} operands, {len(ndims)} are given")
    used = {c for c in text if c.isalpha()}
    free = max(
        (n - len(p.replace("...", "")) for p, n in zip(parts, ndims, strict=True) if "..." in p),
        default=0,
    )
    if free < 0:
        raise ValueError("an operand has fewer axes than labels")
    # Characters that no string may contain, in the order of the axes they stand for.
    dots = "".join([chr(1 + i) for i in range(free)])
    terms = []
    for part, ndim in zip(parts, ndims, strict=True):
        named = part.replace("...", "", 1)
        if not all(c in used for c in named):
            raise ValueError(f"{part!r} has other characters than letters and one ellipsis")
        extra = ndim - len(named)
        if extra < 0 or (extra and "..." not in part):
            raise ValueError(f"{part!r} does not fit an operand with {ndim} axes")
        terms.append(part.replace("...", dots[free - extra :], 1))
    everything = "".join(terms)
    if not arrow:
        out = dots + "".join(sorted(c for c in used if everything.count(c) == 1))
    else:
        out = right.replace("...", dots, 1)
        if any(c not in everything or out.count(c) > 1 for c in out):
            raise ValueError(f"the result {right!r} has unknown or repeated labels")
    return tuple(terms), out


def _sizes(terms: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
    """The size of each label; an axis of size 1 broadcasts."""
    sizes: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for label, n in zip(term, shape, strict=True):
            known = sizes.get(label, 1)
            if known == 1:
                sizes[label] = n
            elif n not in (1, known):
                name = label if label.isalpha() else "..."
                raise ValueError(f"the label {name!r} has the sizes {known} and {n}")
    return sizes


def _diagonal(x: Variable, term: str) -> Variable:
    """The elements at which axes with one label have one index, this axis once."""
    xp = backend_beside(x.value).xp
    labels = "".join(dict.fromkeys(term))
    shape = x.value.shape
    index: list[Any] = []
    for axis, label in enumerate(term):
        n = max(m for m, c in zip(shape, term, strict=True) if c == label)
        if shape[axis] != n:  # a size of 1 beside another
            index.append(xp.zeros((1,) * len(labels), dtype="int64"))
            continue
        at = labels.index(label)
        index.append(xp.arange(n).reshape((1,) * at + (n,) + (1,) * (len(labels) - at - 1)))
    return getitem_(x, tuple(index))


def _next_pair(terms: Sequence[str], out: str, sizes: dict[str, int]) -> tuple[int, int]:
    """The two operands whose product saves the most memory."""
    best = None
    for i in range(len(terms)):
        for j in range(i + 1, len(terms)):
            rest = {*out, *"".join(t for k, t in enumerate(terms) if k not in (i, j))}
            both = {*terms[i], *terms[j]}
            work = prod(sizes[c] for c in both)
            gain = prod(sizes[c] for c in both & rest) - sum(
                prod(sizes[c] for c in terms[k]) for k in (i, j)
            )
            if best is None or (gain, work) < best[0]:
                best = (gain, work), (i, j)
    assert best is not None
    return best[1]
