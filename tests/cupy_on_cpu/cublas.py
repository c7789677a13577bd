"""Stands for `cupy_backends.cuda.libs.cublas`: matrix products; every other call is refused.

CuPy enters cuBLAS from Python, so this module takes the place of the real one in sys.modules.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from . import counters, graphs, memory
from .errors import IllegalCall
from .gemm import Matrix, Precision, check_sizes, dtype_of, multiply, precision, solve_triangle
from .refused import stand_in

CONSTANTS = {
    "CUBLAS_OP_N": 0,
    "CUBLAS_OP_T": 1,
    "CUBLAS_OP_C": 2,
    "CUBLAS_FILL_MODE_LOWER": 0,
    "CUBLAS_FILL_MODE_UPPER": 1,
    "CUBLAS_SIDE_LEFT": 0,
    "CUBLAS_SIDE_RIGHT": 1,
    "CUBLAS_DIAG_NON_UNIT": 0,
    "CUBLAS_DIAG_UNIT": 1,
    "CUBLAS_POINTER_MODE_HOST": 0,
    "CUBLAS_POINTER_MODE_DEVICE": 1,
    "CUBLAS_DEFAULT_MATH": 0,
    "CUBLAS_TENSOR_OP_MATH": 1,
    "CUBLAS_PEDANTIC_MATH": 2,
    "CUBLAS_TF32_TENSOR_OP_MATH": 3,
    "CUBLAS_GEMM_DEFAULT": -1,
    "CUBLAS_GEMM_DEFAULT_TENSOR_OP": 99,
    "CUBLAS_COMPUTE_16F": 64,
    "CUBLAS_COMPUTE_16F_PEDANTIC": 65,
    "CUBLAS_COMPUTE_32F": 68,
    "CUBLAS_COMPUTE_32F_PEDANTIC": 69,
    "CUBLAS_COMPUTE_32F_FAST_16F": 74,
    "CUBLAS_COMPUTE_32F_FAST_16BF": 75,
    "CUBLAS_COMPUTE_32F_FAST_TF32": 77,
    "CUBLAS_COMPUTE_64F": 70,
    "CUBLAS_COMPUTE_64F_PEDANTIC": 71,
    "CUBLAS_COMPUTE_32I": 72,
}
_HOST, _DEVICE = 0, 1
_HANDLE = 0xB1A5
_TYPED = {"s": 0, "d": 1, "c": 4, "z": 5}  # the cudaDataType of sgemm and its sisters


class Cublas:
    """The emulated functions; the names of the arguments are those of cuBLAS's manual."""

    def __init__(self, current_stream: Callable[[], int]) -> None:
        self._current_stream = current_stream
        self._pointer_mode = _HOST
        self._math_mode = 0

    def create(self) -> int:
        return _HANDLE

    def destroy(self, handle: int) -> None:
        pass

    def getVersion(self, handle: int) -> int:
        return 130200

    def setStream(self, handle: int, stream: int) -> None:
        self._allow(handle)

    def getPointerMode(self, handle: int) -> int:
        return self._pointer_mode

    def setPointerMode(self, handle: int, mode: int) -> None:
        self._pointer_mode = mode

    def getMathMode(self, handle: int) -> int:
        return self._math_mode

    def setMathMode(self, handle: int, mode: int) -> None:
        self._math_mode = mode
        counters.blas("setMathMode", {"mode": mode})

    def gemmEx(
        self, handle: int, transa: int, transb: int, m: int, n: int, k: int, alpha: int,
        A: int, Atype: int, lda: int, B: int, Btype: int, ldb: int, beta: int,
        C: int, Ctype: int, ldc: int, computeType: int, algo: int,
    ) -> None:  # fmt: skip
        how = precision(computeType, Atype, Btype, Ctype)
        args = _named(locals(), "transa transb m n k A lda B ldb C ldc computeType algo")
        args.update(_types(Atype, Btype, Ctype))
        call = self._begin(handle, args, alpha, beta, how)
        self._do(handle, "gemmEx", args, lambda: _strided(
            call, A, Atype, lda, 0, B, Btype, ldb, 0, C, Ctype, ldc, 0, 1
        ))  # fmt: skip

    def gemmStridedBatchedEx(
        self, handle: int, transa: int, transb: int, m: int, n: int, k: int, alpha: int,
        A: int, Atype: int, lda: int, strideA: int, B: int, Btype: int, ldb: int, strideB: int,
        beta: int, C: int, Ctype: int, ldc: int, strideC: int, batchCount: int,
        computeType: int, algo: int,
    ) -> None:  # fmt: skip
        how = precision(computeType, Atype, Btype, Ctype)
        args = _named(
            locals(),
            "transa transb m n k A lda strideA B ldb strideB C ldc strideC batchCount "
            "computeType algo",
        )
        args.update(_types(Atype, Btype, Ctype))
        call = self._begin(handle, args, alpha, beta, how)
        self._do(handle, "gemmStridedBatchedEx", args, lambda: _strided(
            call, A, Atype, lda, strideA, B, Btype, ldb, strideB, C, Ctype, ldc, strideC, batchCount
        ))  # fmt: skip

    def gemmBatchedEx(
        self, handle: int, transa: int, transb: int, m: int, n: int, k: int, alpha: int,
        Aarray: int, Atype: int, lda: int, Barray: int, Btype: int, ldb: int, beta: int,
        Carray: int, Ctype: int, ldc: int, batchCount: int, computeType: int, algo: int,
    ) -> None:  # fmt: skip
        """CuPy has none; callers that look for one find this in place of the library's own."""
        how = precision(computeType, Atype, Btype, Ctype)
        args = _named(locals(), "transa transb m n k lda ldb ldc batchCount computeType algo")
        args.update(_types(Atype, Btype, Ctype))
        call = self._begin(handle, args, alpha, beta, how)

        def products() -> None:
            found = [_pointers(p, batchCount) for p in (Aarray, Barray, Carray)]
            args.update(Aarray=found[0], Barray=found[1], Carray=found[2])
            for a, b, c in zip(*found, strict=True):
                call(Matrix("A", a, dtype_of(Atype), lda), Matrix("B", b, dtype_of(Btype), ldb),
                     Matrix("C", c, dtype_of(Ctype), ldc))  # fmt: skip

        self._do(handle, "gemmBatchedEx", args, products)

    def typed_gemm(self, letter: str) -> Callable[..., None]:
        """sgemm, dgemm, cgemm or zgemm."""
        t = _TYPED[letter]

        def gemm(
            handle: int, transa: int, transb: int, m: int, n: int, k: int, alpha: int,
            A: int, lda: int, B: int, ldb: int, beta: int, C: int, ldc: int,
        ) -> None:  # fmt: skip
            args = _named(locals(), "transa transb m n k A lda B ldb C ldc")
            args.update(_types(t, t, t))
            name = f"{letter}gemm"
            call = self._begin(handle, args, alpha, beta, precision(t, t, t, t))
            self._do(handle, name, args, lambda: _strided(
                call, A, t, lda, 0, B, t, ldb, 0, C, t, ldc, 0, 1
            ))  # fmt: skip

        return gemm

    def typed_gemm_strided_batched(self, letter: str) -> Callable[..., None]:
        t = _TYPED[letter]

        def gemm(
            handle: int, transa: int, transb: int, m: int, n: int, k: int, alpha: int,
            A: int, lda: int, strideA: int, B: int, ldb: int, strideB: int, beta: int,
            C: int, ldc: int, strideC: int, batchCount: int,
        ) -> None:  # fmt: skip
            args = _named(
                locals(),
                "transa transb m n k A lda strideA B ldb strideB C ldc strideC batchCount",
            )
            args.update(_types(t, t, t))
            name = f"{letter}gemmStridedBatched"
            call = self._begin(handle, args, alpha, beta, precision(t, t, t, t))
            self._do(handle, name, args, lambda: _strided(
                call, A, t, lda, strideA, B, t, ldb, strideB, C, t, ldc, strideC, batchCount
            ))  # fmt: skip

        return gemm

    def typed_gemm_batched(self, letter: str) -> Callable[..., None]:
        t = _TYPED[letter]

        def gemm(
            handle: int, transa: int, transb: int, m: int, n: int, k: int, alpha: int,
            Aarray: int, lda: int, Barray: int, ldb: int, beta: int, Carray: int, ldc: int,
            batchCount: int,
        ) -> None:  # fmt: skip
            args = _named(locals(), "transa transb m n k lda ldb ldc batchCount")
            args.update(_types(t, t, t))
            name = f"{letter}gemmBatched"
            call = self._begin(handle, args, alpha, beta, precision(t, t, t, t))
            dtype = dtype_of(t)

            def products() -> None:
                pointers = [_pointers(p, batchCount) for p in (Aarray, Barray, Carray)]
                for a, b, c in zip(*pointers, strict=True):
                    call(Matrix("A", a, dtype, lda), Matrix("B", b, dtype, ldb),
                         Matrix("C", c, dtype, ldc))  # fmt: skip

            self._do(handle, name, args, products)

        return gemm

    def typed_trsm(self, letter: str) -> Callable[..., None]:
        """Solves op(A) X = alpha B, or X op(A) = alpha B, with a triangular A; X replaces B."""
        t = _TYPED[letter]

        def trsm(
            handle: int, side: int, uplo: int, trans: int, diag: int, m: int, n: int,
            alpha: int, A: int, lda: int, B: int, ldb: int,
        ) -> None:  # fmt: skip
            self._allow(handle)
            args = _named(locals(), "side uplo trans diag m n A lda B ldb")
            counters.stream(self._stream(handle))
            counters.blas(f"{letter}trsm", {**args, "type": dtype_of(t).name})
            rows = m if side == CONSTANTS["CUBLAS_SIDE_LEFT"] else n
            a = Matrix("A", A, dtype_of(t), lda).view(rows, rows)
            b = Matrix("B", B, dtype_of(t), ldb).view(m, n)
            triangle = (np.tril if uplo == CONSTANTS["CUBLAS_FILL_MODE_LOWER"] else np.triu)(a)
            if diag == CONSTANTS["CUBLAS_DIAG_UNIT"]:
                np.fill_diagonal(triangle, 1)
            solve_triangle(triangle, trans, self._scalar(alpha, dtype_of(t)), b, side)

        return trsm

    def _allow(self, handle: int) -> None:
        if graphs.is_capturing(self._current_stream()):
            raise NotImplementedError(
                "calling cuBLAS API during stream capture is currently unsupported"
            )

    def _do(self, handle: int, name: str, args: dict[str, Any], work: Callable[[], None]) -> None:
        """Log a call and do its work."""

        def logged() -> None:
            counters.blas(name, args)
            work()

        graphs.do(self._stream(handle), logged, name)

    def _stream(self, handle: int) -> int:
        """Where calls go: CuPy gives its handles the current stream before each."""
        return self._current_stream()

    def _begin(
        self, handle: int, args: dict[str, Any], alpha: int, beta: int, how: Precision
    ) -> Callable[[Matrix, Matrix, Matrix], None]:
        """Check what all calls have in common; returns what does one product."""
        self._allow(handle)
        transa, transb, m, n, k = (args[x] for x in ("transa", "transb", "m", "n", "k"))
        check_sizes(transa, transb, m, n, k)
        alpha_value, beta_value = (self._scalar(p, how.scale) for p in (alpha, beta))
        args.update(alpha=alpha_value.item(), beta=beta_value.item(), compute=how.name)

        def product(a: Matrix, b: Matrix, c: Matrix) -> None:
            multiply(transa, transb, m, n, k, alpha_value, a, b, beta_value, c, how)

        return product

    def _scalar(self, address: int, dtype: np.dtype[Any]) -> Any:
        on_device = memory.is_on_device(address)
        if on_device != (self._pointer_mode == _DEVICE):
            place = "on the device" if on_device else "on the host"
            raise IllegalCall(f"alpha or beta is {place}, against cuBLAS's pointer mode")
        return memory.view_flat(address, dtype, (1,))[0]


def _named(values: dict[str, Any], names: str) -> dict[str, Any]:
    return {name: int(values[name]) for name in names.split()}


def _types(a: int, b: int, c: int) -> dict[str, str]:
    return {"Atype": dtype_of(a).name, "Btype": dtype_of(b).name, "Ctype": dtype_of(c).name}


def _pointers(address: int, count: int) -> list[int]:
    memory.check_range(address, 8 * count, "an array of pointers")
    return [int(p) for p in memory.view_flat(address, np.uint64, (count,))]


def _strided(
    call: Callable[[Matrix, Matrix, Matrix], None],
    A: int, Atype: int, lda: int, strideA: int, B: int, Btype: int, ldb: int, strideB: int,
    C: int, Ctype: int, ldc: int, strideC: int, count: int,
) -> None:  # fmt: skip
    if count < 0:
        raise IllegalCall(f"batchCount = {count}")
    if count > 1 and strideC == 0:
        raise IllegalCall("strideC = 0: all products of the batch write to one matrix")
    a_type, b_type, c_type = dtype_of(Atype), dtype_of(Btype), dtype_of(Ctype)
    for i in range(count):
        call(
            Matrix("A", A + i * strideA * a_type.itemsize, a_type, lda),
            Matrix("B", B + i * strideB * b_type.itemsize, b_type, ldb),
            Matrix("C", C + i * strideC * c_type.itemsize, c_type, ldc),
        )


def make_module(current_stream: Callable[[], int]) -> ModuleType:
    """The module; CuPy finds functions, constants, and a refusal for all else."""
    module = stand_in("cupy_backends.cuda.libs.cublas", "cuBLAS")
    cublas = Cublas(current_stream)
    for letter in _TYPED:
        setattr(module, f"{letter}gemm", cublas.typed_gemm(letter))
        setattr(module, f"{letter}trsm", cublas.typed_trsm(letter))
        setattr(module, f"{letter}gemmBatched", cublas.typed_gemm_batched(letter))
        strided = cublas.typed_gemm_strided_batched(letter)
        setattr(module, f"{letter}gemmStridedBatched", strided)
    public = [n for n in vars(Cublas) if not n.startswith(("_", "typed_"))]
    for name in public:
        setattr(module, name, getattr(cublas, name))
    for name, value in CONSTANTS.items():
        setattr(module, name, value)
    return module
