"""How cuBLAS multiplies row-major arrays and views of them without copies: pure planning.

cuBLAS is column-major.  A row-major matrix with leading dimension ld is, in the same memory, its
transpose in column-major order with the same ld.  So for C = A B, with X "row-major" where its last
axis is contiguous and "column-major" where the one before is (as in a `.T` view):

    C row-major:     C^T = B^T A^T   gemm(op(B), op(A), n, m, k, B, ldb, A, lda, C, ldc)
                     row-major operands are passed as they are, column-major ones transposed
    C column-major:  C = A B         gemm(op(A), op(B), m, n, k, A, lda, B, ldb, C, ldc)
                     column-major operands are passed as they are, row-major ones transposed

Only shapes and strides are looked at, so a plan can be tried out with NumPy arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod

Ints = tuple[int, ...]

Axis = tuple[int, int, int, int]
"""A batch axis: its size, and the strides of A, B and C along it."""

OP_N, OP_T, OP_C = 0, 1, 2

# What a further call and a copied byte cost on the device, in microseconds; good to a factor of 2.
_CALL_COST = 4.0
_BYTE_COST = 1e-6

# From so many calls on, one with an array of pointers takes their place, for up to so many axes.
_MANY_CALLS = 4
MOST_AXES = 4

_INT_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Call:
    """One gemm, or strided batch of `count`; all numbers are in elements.

    Where `swapped`, B is the first operand and A the second.  `offsets` are those of A, B and C;
    the other fields are cuBLAS's arguments, in its order of operands.
    """

    swapped: bool
    transa: int
    transb: int
    m: int
    n: int
    k: int
    lda: int
    stridea: int
    ldb: int
    strideb: int
    ldc: int
    stridec: int
    count: int
    offsets: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Plan:
    """Calls that compute C, or, where there are none, whether A, B, C must be copied first.

    With `axes` there is one call, for a batch whose matrices are at each index into these axes.
    """

    calls: tuple[Call, ...]
    copies: tuple[bool, bool, bool] = (False, False, False)
    axes: tuple[Axis, ...] = ()


@dataclass(slots=True)
class _Axes:
    """The batch axes that are left, outermost first, each (size, stride of A, of B, of C)."""

    axes: list[Axis]
    m: int
    n: int
    rows: list[int]  # strides of A and C along m
    columns: list[int]  # strides of B and C along n


@lru_cache(maxsize=4096)
def plan(
    a_shape: Ints,
    a_strides: Ints,
    b_shape: Ints,
    b_strides: Ints,
    c_shape: Ints,
    c_strides: Ints,
    width: int = 1,
    c_width: int = 1,
    pointers: bool = False,
) -> Plan:
    """The gemm calls for C [*batch, m, n] = A [*, m, k] B [*, k, n]; `strides` are in bytes.

    `width` is the item size of A and B, `c_width` that of C.  The batch axes of A and B broadcast
    to those of C.  Returns a plan without calls where C or k is empty, and one that asks for copies
    where an operand cannot be given to cuBLAS as it is.  `pointers` allows batches given by arrays
    of pointers.  ValueError where shapes do not match.
    """
    (m, k), n, batch = a_shape[-2:], b_shape[-1], c_shape[:-2]
    if b_shape[-2] != k or c_shape[-2:] != (m, n):
        raise ValueError(f"matmul: {a_shape} @ {b_shape} does not give {c_shape}")
    if prod(c_shape) * k == 0:
        return Plan(())
    a_batch, a_row, a_column = _strides(a_shape, a_strides, batch, width)
    b_batch, b_row, b_column = _strides(b_shape, b_strides, batch, width)
    c_batch, c_row, c_column = _strides(c_shape, c_strides, batch, c_width)
    axes = [axis for axis in zip(batch, a_batch, b_batch, c_batch, strict=True) if axis[0] != 1]

    copies = (
        _layout(m, k, a_row, a_column) is None,
        _layout(k, n, b_row, b_column) is None,
        _layout(m, n, c_row, c_column) is None or any(axis[3] == 0 for axis in axes),
    )
    if any(copies):
        return Plan((), copies)

    left = _Axes(_merge(axes), m, n, [a_row, c_row], [b_column, c_column])
    _fold(left, k, (a_column, c_column), (b_row, c_row))
    dense = [
        _is_dense(shape, strides, item)
        for shape, strides, item in (
            (a_shape, a_strides, width),
            (b_shape, b_strides, width),
            (c_shape, c_strides, c_width),
        )
    ]
    by_pointers = pointers and _is_for_pointers(left.axes)
    if not by_pointers:
        copies = _worth_copying(left.axes, (m * k, k * n, m * n), width, dense)
        if any(copies):
            return Plan((), copies)
    a = _layout(left.m, k, left.rows[0], a_column)
    b = _layout(k, left.n, b_row, left.columns[0])
    c_row = left.rows[1] if left.m != m else c_row
    c_column = left.columns[1] if left.n != n else c_column
    c = _layout(left.m, left.n, c_row, c_column)
    assert a is not None and b is not None and c is not None  # noqa: PT018 - for the type checker
    if by_pointers:
        axes, left.axes = left.axes, [(prod(axis[0] for axis in left.axes), 0, 0, 0)]
        return Plan(_calls(left, k, a, b, c), axes=tuple(axes))
    return Plan(_calls(left, k, a, b, c))


def _strides(shape: Ints, strides: Ints, batch: Ints, width: int) -> tuple[Ints, int, int]:
    """Element strides along the batch axes of C (0 where they broadcast), the rows and columns."""
    missing = len(batch) - (len(shape) - 2)
    if missing < 0:
        raise ValueError(f"matmul: the batch axes of {shape} do not broadcast to {batch}")
    out = [0] * missing
    for size, full, stride in zip(shape[:-2], batch[missing:], strides[:-2], strict=True):
        if size not in (1, full):
            raise ValueError(f"matmul: the batch axes of {shape} do not broadcast to {batch}")
        out.append(stride // width if size == full else 0)
    return tuple(out), strides[-2] // width, strides[-1] // width


def _layout(rows: int, columns: int, row: int, column: int) -> tuple[bool, int] | None:
    """(is row-major, leading dimension) of a matrix with these strides; None where it has none."""
    if (column == 1 or columns == 1) and (rows == 1 or row >= columns):
        return True, (row if rows > 1 else columns)
    if (row == 1 or rows == 1) and (columns == 1 or column >= rows):
        return False, (column if columns > 1 else rows)
    return None


def _merge(axes: list[Axis]) -> list[Axis]:
    """Neighbouring axes made one where every operand has one stride for both."""
    out: list[Axis] = []
    for axis in reversed(axes):
        if out:
            size, *inner = out[-1]
            if all(s == t * size for s, t in zip(axis[1:], inner, strict=True)):
                out[-1] = (axis[0] * size, inner[0], inner[1], inner[2])
                continue
        out.append(axis)
    return out[::-1]


def _fold(left: _Axes, k: int, a_c_columns: Ints, b_c_rows: Ints) -> None:
    """Make batch axes that only A has part of the rows, and ones that only B has of the columns."""
    a_column, c_column = a_c_columns
    b_row, c_row = b_c_rows
    for axis in reversed(left.axes[:]):
        size, sa, sb, sc = axis
        if sb == 0 and (rows := _joined(size, (sa, sc), left.m, left.rows)):
            m = left.m * size
            if _layout(m, k, rows[0], a_column) and _layout(m, left.n, rows[1], c_column):
                left.axes.remove(axis)
                left.m, left.rows, c_row = m, rows, rows[1]
                continue
        if sa == 0 and (columns := _joined(size, (sb, sc), left.n, left.columns)):
            n = left.n * size
            if _layout(k, n, b_row, columns[0]) and _layout(left.m, n, c_row, columns[1]):
                left.axes.remove(axis)
                left.n, left.columns, c_column = n, columns, columns[1]


def _joined(size: int, batch: Ints, length: int, strides: list[int]) -> list[int] | None:
    """Strides of an axis made of a batch axis and one of matrices, whichever is the outer one."""
    if size * length > _INT_MAX:
        return None
    if length == 1 or all(t == size * s for s, t in zip(batch, strides, strict=True)):
        return list(batch)
    if all(s == length * t for s, t in zip(batch, strides, strict=True)):
        return strides
    return None


def _is_dense(shape: Ints, strides: Ints, width: int) -> bool:
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1 and stride != width:
            return False
        width *= size
    return True


def _is_for_pointers(axes: list[Axis]) -> bool:
    """Whether the batch takes many calls, one for each index into all axes but the longest."""
    if not 2 <= len(axes) <= MOST_AXES:
        return False
    sizes = [axis[0] for axis in axes]
    return _MANY_CALLS * max(sizes) <= prod(sizes) <= _INT_MAX


def _worth_copying(
    axes: list[Axis], sizes: Ints, width: int, dense: list[bool]
) -> tuple[bool, bool, bool]:
    """Which operands to copy because their batch axes have no common stride and calls cost more."""
    if len(axes) < 2:
        return (False, False, False)
    count = prod(axis[0] for axis in axes)
    calls = count // max(axis[0] for axis in axes)
    offending = []
    for i in (1, 2, 3):
        own = [(axis[0], axis[i], 0, 0) for axis in axes]
        # copying does not help where the axes broadcast
        helps = not dense[i - 1] and all(axis[i] for axis in axes)
        offending.append(helps and len(_merge(own)) > 1)
    cost = sum(
        _CALL_COST + 2 * size * count * width * _BYTE_COST
        for size, is_offending in zip(sizes, offending, strict=True)
        if is_offending
    )
    if cost >= (calls - 1) * _CALL_COST:
        return (False, False, False)
    return (offending[0], offending[1], offending[2])


def _calls(
    left: _Axes, k: int, a: tuple[bool, int], b: tuple[bool, int], c: tuple[bool, int]
) -> tuple[Call, ...]:
    axes = left.axes or [(1, 0, 0, 0)]
    longest = max(range(len(axes)), key=lambda i: axes[i][0])
    count, sa, sb, sc = axes[longest]
    swapped = c[0]
    (first, first_stride), (second, second_stride) = ((a, sa), (b, sb))
    if swapped:
        (first, first_stride), (second, second_stride) = ((b, sb), (a, sa))
    m, n = (left.n, left.m) if swapped else (left.m, left.n)
    if max(m, n, k, a[1], b[1], c[1], count) > _INT_MAX:
        raise ValueError("matmul: cuBLAS takes sizes and leading dimensions below 2**31 only")
    outer = axes[:longest] + axes[longest + 1 :]
    calls = []
    for index in product(*(range(axis[0]) for axis in outer)):
        at = [sum(i * axis[j] for i, axis in zip(index, outer, strict=True)) for j in (1, 2, 3)]
        calls.append(
            Call(
                swapped,
                # cuBLAS sees a row-major operand transposed, and wants that where C is row-major
                OP_N if first[0] == swapped else OP_T,
                OP_N if second[0] == swapped else OP_T,
                m,
                n,
                k,
                first[1],
                first_stride,
                second[1],
                second_stride,
                c[1],
                sc,
                count,
                (at[0], at[1], at[2]),
            )
        )
    return tuple(calls)
