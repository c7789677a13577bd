"""Linear algebra, with derivatives of every order, on stacks of matrices, real and complex.

The names are those of the array API's extension and of numpy.linalg.  It is also the namespace in
which derivatives run under create_graph: what they call as `xp.linalg.name` is looked up here.
"""

from __future__ import annotations

from autograd_gpu.ops.linalg.determinants import (
    SlogdetResult as SlogdetResult,
    det as det,
    slogdet as slogdet,
)
from autograd_gpu.ops.linalg.eigen import (
    EighResult as EighResult,
    EigResult as EigResult,
    eig as eig,
    eigh as eigh,
    eigvals as eigvals,
    eigvalsh as eigvalsh,
)
from autograd_gpu.ops.linalg.factors import (
    QRResult as QRResult,
    cholesky as cholesky,
    qr as qr,
)
from autograd_gpu.ops.linalg.matrix_functions import matrix_function as matrix_function
from autograd_gpu.ops.linalg.norms import (
    cond as cond,
    matrix_norm as matrix_norm,
    matrix_rank as matrix_rank,
    norm as norm,
    vector_norm as vector_norm,
)
from autograd_gpu.ops.linalg.products import (
    cross as cross,
    diagonal as diagonal,
    expm as expm,
    matrix_power as matrix_power,
    multi_dot as multi_dot,
    trace as trace,
)
from autograd_gpu.ops.linalg.singular_values import (
    SVDResult as SVDResult,
    svd as svd,
    svdvals as svdvals,
)
from autograd_gpu.ops.linalg.solving import (
    LstsqResult as LstsqResult,
    inv as inv,
    lstsq as lstsq,
    pinv as pinv,
    solve as solve,
    solve_triangular as solve_triangular,
    tensorinv as tensorinv,
    tensorsolve as tensorsolve,
)
from autograd_gpu.ops.matmul import (
    matmul as matmul,
    outer as outer,
    tensordot as tensordot,
    vecdot as vecdot,
)
from autograd_gpu.ops.shape import matrix_transpose as matrix_transpose
