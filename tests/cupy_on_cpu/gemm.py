"""One column-major matrix product on device memory, with every argument checked.

    C[m, n] = alpha * op(A)[m, k] @ op(B)[k, n] + beta * C

Column-major means that element (i, j) of a matrix with leading dimension ld lies at i + j * ld.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import memory, places
from .errors import IllegalCall, NotEmulated

OP_N, OP_T, OP_C = 0, 1, 2

_DATA_TYPES = {0: "f4", 1: "f8", 2: "f2", 4: "c8", 5: "c16", 14: "bfloat16"}
# What cublasGemmEx allows, by compute type: the pairs of A's (and B's) type and C's.
_HALVES = [("f2", "f2"), ("f2", "f4"), ("bfloat16", "bfloat16"), ("bfloat16", "f4")]
_SINGLES = [("f4", "f4"), ("c8", "c8")]
_COMPUTE = {
    64: ("COMPUTE_16F", [("f2", "f2")]),
    68: ("COMPUTE_32F", [*_HALVES, *_SINGLES]),
    69: ("COMPUTE_32F_PEDANTIC", [*_HALVES, *_SINGLES]),
    77: ("COMPUTE_32F_FAST_TF32", _SINGLES),
    70: ("COMPUTE_64F", [("f8", "f8"), ("c16", "c16")]),
    71: ("COMPUTE_64F_PEDANTIC", [("f8", "f8"), ("c16", "c16")]),
}
_NAMES = {74: "COMPUTE_32F_FAST_16F", 75: "COMPUTE_32F_FAST_16BF"}
# The entry points from before cuBLAS 11 name a data type where the newer ones name a compute type.
_LEGACY_COMPUTE = {0: 68, 4: 68, 1: 70, 5: 70, 2: 64}
_TF32 = 77


def dtype_of(data_type: int) -> np.dtype[Any]:
    """The NumPy dtype of a cudaDataType."""
    name = _DATA_TYPES.get(data_type)
    if name is None:
        raise NotEmulated("cuBLAS", f"cudaDataType {data_type}")
    if name == "bfloat16":
        import ml_dtypes  # CuPy's own bfloat16 arrays need it as well

        bfloat16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return bfloat16
    return np.dtype(name)


@dataclass(frozen=True)
class Precision:
    """Dtypes in which a product is computed and its factors alpha and beta are given."""

    name: str
    work: np.dtype[Any]
    scale: np.dtype[Any]
    tf32: bool = False


def precision(compute: int, a_type: int, b_type: int, c_type: int) -> Precision:
    """The precision of a compute type, or the error for a combination that cuBLAS refuses."""
    number = _LEGACY_COMPUTE.get(compute, compute)
    if number not in _COMPUTE:
        raise NotEmulated("cuBLAS", f"compute type {_NAMES.get(number, number)}")
    name, allowed = _COMPUTE[number]
    a, b, c = (_DATA_TYPES.get(t, str(t)) for t in (a_type, b_type, c_type))
    if a != b or (a, c) not in allowed:
        raise IllegalCall(f"cuBLAS has no product {a} x {b} -> {c} with {name}")
    if number == 64:
        # Half accumulation has no NumPy counterpart of the same order; this is its best case.
        return Precision(name, np.dtype("f4"), np.dtype("f2"))
    complex_ = a.startswith("c")
    double = number in (70, 71)
    work = np.dtype({(0, 0): "f4", (0, 1): "f8", (1, 0): "c8", (1, 1): "c16"}[complex_, double])
    return Precision(name, work, work, number == _TF32)


@dataclass(frozen=True)
class Matrix:
    """A matrix argument as cuBLAS gets it: pointer, type and leading dimension."""

    name: str
    address: int
    dtype: np.dtype[Any]
    ld: int

    def view(self, rows: int, cols: int) -> Any:
        """The column-major (rows, cols) matrix as a NumPy array, after checking its place."""
        if self.ld < max(1, rows):
            raise IllegalCall(
                f"ld{self.name.lower()} = {self.ld} is smaller than the {rows} rows of {self.name}"
            )
        if rows == 0 or cols == 0:
            return np.empty((rows, cols), self.dtype)
        width = self.dtype.itemsize
        if self.address % width:
            raise IllegalCall(f"{self.name} at {self.address:#x} is not aligned to {width} bytes")
        size = (self.ld * (cols - 1) + rows) * width
        memory.check_range(
            self.address, size, f"{self.name} ({rows} x {cols}, ld{self.name.lower()} {self.ld})"
        )
        places.check_current(memory.device_of(self.address), f"{self.name} of a product lives")
        return memory.view(self.address, self.dtype, (rows, cols), (width, self.ld * width))


def check_sizes(transa: int, transb: int, m: int, n: int, k: int) -> None:
    for name, op in (("transa", transa), ("transb", transb)):
        if op not in (OP_N, OP_T, OP_C):
            raise IllegalCall(f"{name} = {op} is no cublasOperation_t")
    if min(m, n, k) < 0 or max(m, n, k) >= 2**31:
        raise IllegalCall(f"m, n, k = {m}, {n}, {k} do not fit cuBLAS's int")


def multiply(
    transa: int,
    transb: int,
    m: int,
    n: int,
    k: int,
    alpha: Any,
    a: Matrix,
    b: Matrix,
    beta: Any,
    c: Matrix,
    how: Precision,
) -> None:
    """Do one product; NaN in C does not matter if beta is 0, nor in A and B if alpha is 0."""
    a_view = a.view(*((m, k) if transa == OP_N else (k, m)))
    b_view = b.view(*((k, n) if transb == OP_N else (n, k)))
    c_view = c.view(m, n)
    if c_view.size == 0:
        return
    for name, other in (("A", a_view), ("B", b_view)):
        if np.shares_memory(c_view, other):
            raise IllegalCall(f"C overlaps {name}; cuBLAS reads and writes them in no fixed order")
    result = np.zeros((m, n), how.work)
    with np.errstate(all="ignore"):  # a device raises no flags
        if k and alpha != 0:
            left, right = (_operand(x, t, how) for x, t in ((a_view, transa), (b_view, transb)))
            result = how.work.type(alpha) * (left @ right)
        if beta != 0:
            result = result + how.work.type(beta) * c_view.astype(how.work)
        c_view[...] = result.astype(c.dtype)


def _operand(x: Any, op: int, how: Precision) -> Any:
    x = x.astype(how.work)
    if how.tf32:
        x = _round_to_tf32(x)
    return x if op == OP_N else x.T if op == OP_T else x.conj().T


def _round_to_tf32(x: Any) -> Any:
    """float32 with 10 bits of mantissa, rounded to nearest; the other 13 bits become 0."""
    bits = np.ascontiguousarray(x).view("u4")
    finite = (bits & 0x7F800000) != 0x7F800000
    rounded = (bits + 0xFFF + ((bits >> 13) & 1)) & np.uint32(0xFFFFE000)
    return np.where(finite, rounded, bits).view(x.dtype).reshape(x.shape)


def solve_triangle(a: Any, op: int, alpha: Any, b: Any, side: int) -> None:
    """Replace `b` by the solution of op(a) x = alpha b (side 0) or x op(a) = alpha b (side 1)."""
    a = a if op == OP_N else a.T if op == OP_T else a.conj().T
    with np.errstate(all="ignore"):
        try:
            if side == 0:
                b[...] = np.linalg.solve(a, alpha * b)
            else:
                b[...] = np.linalg.solve(a.T, alpha * b.T).T
        except np.linalg.LinAlgError:
            b[...] = np.nan  # a device divides by the zero on the diagonal
