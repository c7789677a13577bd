"""einsum, as products of matrices: NumPy's own loops take many times as long.

A string is taken apart once.  Operands are contracted in pairs; a pair is one recorded op, whose
forward and derivatives are each one (batched) matmul of permuted and reshaped views.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

from autograd_gpu.backend import NAMESPACES, Array, Namespace
from autograd_gpu.ops.indexing import getitem_
from autograd_gpu.ops.shape import broadcast_to, permute_dims, reshape
from autograd_gpu.primitive import primitive
from autograd_gpu.variable import Variable

# Two operands ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Lowering:
    """How a pair becomes one product: `a` as [batch..., rows, sums], `b` as [batch..., sums,
    columns], each a permutation and a reshape to groups of axes; None where there is nothing to do.

    `swapped` says that `a` and `b` change places, so that the product comes out closer to the
    order wanted.
    """

    swapped: bool
    product: bool  # nothing is summed: an elementwise product of broadcast views
    a_axes: tuple[int, ...] | None
    b_axes: tuple[int, ...] | None
    batch: int
    rows: int
    sums: int
    columns: int
    out_axes: tuple[int, ...] | None
    a_insert: tuple[Any, ...]
    b_insert: tuple[Any, ...]


@lru_cache(maxsize=4096)
def _lowering(a: str, b: str, out: str) -> Lowering:
    """The way to contract labels `a` and `b` to `out`; every label is in two of the three."""
    rows = [x for x in a if x not in b]
    columns = [x for x in b if x not in a]
    # The columns of the product vary fastest, so the labels that end the output belong there.
    swapped = bool(rows) and (not columns or out.rfind(rows[-1]) > out.rfind(columns[-1]))
    sums = [x for x in a if x in b and x not in out]
    if swapped and sums:
        a, b, rows, columns = b, a, columns, rows
    batch = [x for x in out if x in a and x in b]
    if not sums:
        order = [x for x in out if x in a], [x for x in out if x in b]
        return Lowering(
            False, True, _axes(a, order[0]), _axes(b, order[1]), 0, 0, 0, 0, None,
            tuple([slice(None) if x in a else None for x in out]),
            tuple([slice(None) if x in b else None for x in out]),
        )  # fmt: skip
    return Lowering(
        swapped,
        False,
        _axes(a, [*batch, *rows, *sums]),
        _axes(b, [*batch, *sums, *columns]),
        len(batch),
        len(rows),
        len(sums),
        len(columns),
        _axes("".join([*batch, *rows, *columns]), list(out)),
        (),
        (),
    )


def _axes(labels: str, order: list[str]) -> tuple[int, ...] | None:
    axes = tuple([labels.index(x) for x in order])
    return None if axes == tuple(range(len(axes))) else axes


def _product(xp: Namespace, a: Any, b: Any, la: str, lb: str, out: str) -> Any:
    """`a` with labels `la` times `b` with labels `lb`, summed to `out`; arrays or Variables."""
    plan = _lowering(la, lb, out)
    if plan.swapped:
        a, b = b, a
    if plan.a_axes is not None:
        a = a.transpose(plan.a_axes)
    if plan.b_axes is not None:
        b = b.transpose(plan.b_axes)
    if plan.product:
        return a[plan.a_insert] * b[plan.b_insert]
    n = plan.batch
    batch = a.shape[:n]
    rows = a.shape[n : n + plan.rows]
    columns = b.shape[n + plan.sums :]
    if plan.rows != 1 or plan.sums != 1:
        a = a.reshape((*batch, prod(rows), prod(a.shape[n + plan.rows :])))
    if plan.columns != 1 or plan.sums != 1:
        b = b.reshape((*batch, a.shape[-1], prod(columns)))
    y = xp.matmul(a, b)
    if plan.rows != 1 or plan.columns != 1:
        y = y.reshape((*batch, *rows, *columns))
    return y if plan.out_axes is None else y.transpose(plan.out_axes)


@primitive(
    a=lambda xp, g, b, la, lb, out: _product(xp, g, xp.conj(b), out, lb, la),
    b=lambda xp, g, a, la, lb, out: _product(xp, g, xp.conj(a), out, la, lb),
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
    xs = [x if isinstance(x, Variable) else Variable(x) for x in operands]
    try:
        parsed, out = _parse(subscripts, tuple([x.value.ndim for x in xs]))
        sizes = _sizes(parsed, xs)
    except ValueError as error:
        kinds = "".join([f", {x.dtype}{list(x.shape)}" for x in xs])
        raise ValueError(f"einsum({subscripts!r}{kinds}): {error}") from None
    terms = list(parsed)
    for i, term in enumerate(terms):
        xs[i], terms[i] = _simplified(xs[i], term, sizes)
    for i, term in enumerate(terms):
        xs[i], terms[i] = _summed(xs[i], term, {*out, *"".join(terms[:i] + terms[i + 1 :])})
    while len(xs) > 1:
        i, j = (0, 1) if len(xs) == 2 else _next_pair(terms, out, sizes)
        b, lb = xs.pop(j), terms.pop(j)
        a, la = xs.pop(i), terms.pop(i)
        later = {*out, *"".join(terms)}
        # Labels that nothing else needs are summed in one of the two: that is a smaller product.
        kept = "".join([x for x in dict.fromkeys(la + lb) if x in later])
        if not xs:
            kept = "".join([x for x in out if x in kept])
        xs.append(einsum_(a, b, la, lb, kept))
        terms.append(kept)
    return _arranged(xs[0], terms[0], out, sizes)


@lru_cache(maxsize=4096)
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


def _sizes(terms: Sequence[str], xs: Sequence[Variable]) -> dict[str, int]:
    """The size of each label; an axis of size 1 broadcasts."""
    sizes: dict[str, int] = {}
    for term, x in zip(terms, xs, strict=True):
        for label, n in zip(term, x.value.shape, strict=True):
            known = sizes.get(label, 1)
            if known == 1:
                sizes[label] = n
            elif n not in (1, known):
                name = label if label.isalpha() else "..."
                raise ValueError(f"the label {name!r} has the sizes {known} and {n}")
    return sizes


def _simplified(x: Variable, term: str, sizes: dict[str, int]) -> tuple[Variable, str]:
    """`x` without repeated labels and without axes of size 1 that others stretch."""
    if len(set(term)) < len(term):
        x, term = _diagonal(x, term)
    kept = "".join([c for c, n in zip(term, x.value.shape, strict=True) if n == sizes[c]])
    return (x, term) if kept == term else (reshape(x, tuple([sizes[c] for c in kept])), kept)


def _summed(x: Variable, term: str, needed: set[str]) -> tuple[Variable, str]:
    """`x` summed over the labels that nothing else needs."""
    alone = tuple([i for i, c in enumerate(term) if c not in needed])
    if not alone:
        return x, term
    return NAMESPACES[Variable].sum(x, axis=alone), "".join([c for c in term if c in needed])


def _diagonal(x: Variable, term: str) -> tuple[Variable, str]:
    """The elements at which axes with one label have one index, this axis once."""
    xp = NAMESPACES[x.value.__class__]
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
    return getitem_(x, tuple(index)), labels


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


def _arranged(x: Variable, term: str, out: str, sizes: dict[str, int]) -> Variable:
    """`x` with its axes in the order of `out`, stretched to the sizes."""
    axes = _axes(term, [c for c in out if c in term])
    if axes is not None:
        x = permute_dims(x, axes)
    if len(term) < len(out):
        x = reshape(x, tuple([sizes[c] if c in term else 1 for c in out]))
        x = broadcast_to(x, tuple([sizes[c] for c in out]))
    return x
