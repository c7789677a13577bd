"""Linear algebra."""

import numpy as np

from samples.sample import Table, draw

TABLE = Table()
I = np.array  # noqa: E741
FLOAT32 = ("float32",)


def add(name, reference, operands, label="", statics=None, **flags):
    TABLE.add(name, reference, operands, label, statics, dtypes=FLOAT32, **flags)


def real(name, shape):
    """Matrices with a strong diagonal: regular, and with distinct eigenvalues."""
    n = min(shape[-2:])
    x = draw(name, shape, -1, 1)
    i = np.arange(n)
    x[..., i, i] += 2.0 + 1.5 * i
    return x


def complexes(name, shape):
    return real(name, shape) + 1j * draw(name + "i", shape, -1, 1)


def positive(x):
    """A Hermitian matrix with eigenvalues above 1 that are no two alike."""
    n = x.shape[-1]
    return x @ np.conj(np.swapaxes(x, -1, -2)) / n + np.diag(1.0 + np.arange(n))


def both(name, reference, shape, label="", statics=None, make=lambda x: x, **flags):
    """A real and a complex sample."""
    for kind, draws in (("", real), ("complex ", complexes)):
        x = make(draws(name, shape))
        add(name, reference, (x,), f"{kind}{shape}{label}", statics, **flags)


# Equations and inverses

for a, b in [
    ((3, 3), (3,)),
    ((3, 3), (3, 2)),
    ((2, 3, 3), (2, 3, 1)),
    ((3, 3), (2, 3, 2)),
    ((2, 3, 3), (3, 2)),
    ((2, 3, 3), (3,)),
    ((2, 1, 2, 2), (3, 2, 1)),
    ((1, 1), (1,)),
    ((0, 2, 2), (0, 2, 1)),
]:
    A, B = real("solve", a), draw("solveb", b)
    add("solve", np.linalg.solve, (A, B), f"{a} {b}")
    add("solve", np.linalg.solve, (complexes("solve", a), B), f"complex and real {a} {b}")
    add("solve", np.linalg.solve, (A, B + 1j * draw("solvei", b)), f"real and complex {a} {b}")
add("solve", np.linalg.solve, (real("solve", (3, 3)).T, draw("solveb", (2, 3)).T), "transposed")
for shape in ((3, 3), (2, 2, 2), (1, 1)):
    both("inv", np.linalg.inv, shape)
add("inv", np.linalg.inv, (np.zeros((0, 2, 2)),), "empty")


def pinv(x, rtol=None):
    return np.linalg.pinv(x, rcond=rtol or 1e-15)


for shape in ((3, 3), (3, 2), (2, 4), (2, 3, 2)):
    both("pinv", pinv, shape)
add("pinv", pinv, (np.diag([3.0, 1e-3]),), "rtol", {"rtol": 1e-2}, check=False)

# Determinants


for shape in ((3, 3), (2, 2, 2), (1, 1), (4, 4)):
    both("det", np.linalg.det, shape)
    both("slogdet", lambda x: tuple(np.linalg.slogdet(x)), shape)
add("det", np.linalg.det, (np.zeros((0, 2, 2)),), "empty")
add("slogdet", lambda x: tuple(np.linalg.slogdet(x)), (-real("slogdet", (3, 3)),), "negative")
line = np.outer([1.0, 2, 3], [1.0, 1, -1])
singular = line + np.outer([0.0, 1, 1], [2.0, 0, 1])
add("det", lambda x: np.zeros(()), (singular,), "rank 2", gradients=(I(
    [[-1.0, 3, 2], [-1, 3, 2], [1, -3, -2]]),))  # fmt: skip
add("det", lambda x: np.zeros(()), (line,), "rank 1", gradients=(np.zeros((3, 3)),))
add("det", lambda x: np.zeros(()), (np.zeros((2, 2)),), "zero", gradients=(np.zeros((2, 2)),))
add("det", lambda x: np.zeros((), complex), (singular * (1 + 1j),), "complex rank 2")
add("det", np.linalg.det, (np.eye(3),), "equal singular values", gradients=(np.eye(3),))

# Factors


def cholesky(x):
    return np.linalg.cholesky((x + np.conj(np.swapaxes(x, -1, -2))) / 2)


for shape in ((3, 3), (2, 2, 2), (1, 1)):
    both("cholesky", cholesky, shape, make=positive)
skewed = I([[4.0, 1, 0], [0.5, 3, 0], [0.2, 0, 2]])
add("cholesky", cholesky, (skewed,), "not symmetric")


def qr(x, mode="reduced"):
    return tuple(np.linalg.qr(x, mode))


for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 2), (1, 1)):
    both("qr", qr, shape)
both("qr", qr, (3, 2), " complete", {"mode": "complete"}, check=False)
add("qr", qr, (real("qr", (3, 2)),), "one more column", {"mode": "complete"})
both("qr", qr, (2, 3), " complete", {"mode": "complete"})


def blocks(w, dtype):
    """The block diagonal matrix of values, and its companion of zeros."""
    a = w[..., None] * np.eye(w.shape[-1], dtype=dtype)
    return a, np.zeros_like(a)


def svd(x, full_matrices=True):
    u, s, vh = np.linalg.svd(x, full_matrices=full_matrices)
    return u, s, vh, *blocks(s, u.dtype)


def svdvals(x):
    return np.linalg.svd(x, compute_uv=False)


for shape in ((3, 3), (3, 2), (2, 3), (2, 2, 2), (1, 1)):
    for full in (True, False):
        statics = {"full_matrices": full}
        add("svd", svd, (real("svd", shape),), f"{shape} {full}", statics)
        add("svd", svd, (complexes("svd", shape),), f"complex {shape} {full}", statics, check=False)
    both("svdvals", svdvals, shape)
add("svd", svd, (real("svd", (4, 2)),), "free columns", check=False)

# Eigenvalues


def hermitian(x):
    return (x + np.conj(np.swapaxes(x, -1, -2))) / 2


def eigh(x):
    w, v = np.linalg.eigh(hermitian(x))
    return w, v, *blocks(w, v.dtype)


def sylvester(s, a, sign):
    """Each element by itself."""
    w = np.diagonal(a, axis1=-2, axis2=-1).real
    return s / (w[..., None, :] + sign * w[..., :, None] + (np.eye(len(w)) if sign < 0 else 0))


for sign in (-1, 1, 0):
    a = np.diag([1.0, 2.5, 4.0])
    for kind, s in (("real", real("sylvester", (3, 3))), ("complex", complexes("sylv", (3, 3)))):
        if sign < 0:
            s[range(3), range(3)] = 0  # these elements have no equation
        add("sylvester", sylvester, (s, a), f"{kind} {sign}", {"sign": sign})
add("sylvester", lambda s, a, sign: s / np.diagonal(a), (real("sylvester", (4, 3)), a), "tall",
    {"sign": 0})  # fmt: skip


for shape in ((3, 3), (2, 2, 2), (1, 1)):
    x = real("eigh", shape)
    add("eigh", eigh, (x,), f"{shape}")
    add("eigh", eigh, (positive(complexes("eigh", shape)),), f"complex {shape}", check=False)
    both("eigvalsh", lambda x: np.linalg.eigvalsh(hermitian(x)), shape)


def eig(x):
    return tuple(np.linalg.eig(x + 0j))


for shape in ((3, 3), (2, 2, 2)):
    both("eig", eig, shape, check=False)

# Functions of matrices, and equations with sums of eigenvalues


def spectral(x, e=None, f=np.exp):
    w, v = np.linalg.eigh(hermitian(x))
    vh = np.conj(np.swapaxes(v, -1, -2))
    if e is None:
        return (v * f(w)[..., None, :]) @ vh
    gaps = w[..., None, :] - w[..., :, None] + np.eye(w.shape[-1])
    inner = (f(w)[..., None, :] - f(w)[..., :, None]) / gaps + f(w)[..., None] * np.eye(len(w))
    return v @ (inner * (vh @ e @ v)) @ vh


def lyapunov(p, c):
    w, v = np.linalg.eigh(hermitian(p))
    vh = np.conj(np.swapaxes(v, -1, -2))
    return v @ ((vh @ c @ v) / (w[..., None, :] + w[..., :, None])) @ vh


def unitary_factor(x):
    u, _, vh = np.linalg.svd(x, full_matrices=False)
    return u @ vh


for shape in ((3, 3), (2, 2, 2), (1, 1)):
    both("spectral", spectral, shape, "", {"f": np.exp}, make=lambda x: x / 4)
    for kind, draws in (("", real), ("complex ", complexes)):
        p, c = positive(draws("lyapunov", shape)), draws("lyapunovc", shape)
        add("lyapunov", lyapunov, (p, c), f"{kind}{shape}")
for kind, draws in (("", real), ("complex ", complexes)):
    x, e = draws("spectral", (3, 3)) / 4, draws("spectral e", (3, 3))
    add("spectral", spectral, (x, e), f"{kind}along", {"f": np.exp})
for shape in ((3, 3), (4, 2), (2, 3), (2, 2, 2)):
    both("unitary_factor", unitary_factor, shape)
    both("nuclear_norm", lambda x: np.sum(svdvals(x), -1), shape)
add("nuclear_norm", lambda x: np.zeros(()), (np.zeros((2, 2)),), "zero", check=False,
    gradients=(np.zeros((2, 2)),))  # fmt: skip

# Norms


def vector_norm(x, axis=None, keepdims=False, ord=2):
    return np.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)


x, z = draw("norm", (2, 3, 2)), draw("norm", (2, 3, 2)) + 1j * draw("normi", (2, 3, 2))
for axis in (None, 0, -1, (0, 2)):
    for keepdims in (False, True):
        statics = {"axis": axis, "keepdims": keepdims}
        add("vector_norm", vector_norm, (x,), f"{axis} {keepdims}", statics)
for order in (2, 3, 0.5, -1, -2, 1.5, 2.5, 0):
    for label, operand in (("", x), ("complex ", z)):
        statics = {"axis": 1, "ord": order}
        add("vector_norm", vector_norm, (operand,), f"{label}{order}", statics, second=order != 0)
for order in (2, 3, 1.5, 0.5, 0):
    add("vector_norm", vector_norm, (np.zeros(3),), f"zero {order}", {"ord": order}, check=False,
        gradients=(np.zeros(3),))  # fmt: skip
add("vector_norm", vector_norm, (I([0.0, 3, 4]),), "a zero", check=False,
    gradients=(I([0, 0.6, 0.8]),))  # fmt: skip
add("vector_norm", vector_norm, (I([0.0, 3, 4]),), "a zero, 1.5", {"ord": 1.5}, check=False)
add("vector_norm", vector_norm, (I(3.0),), "0-d")


def matrix_rank(x, rtol=None):
    return np.asarray(np.linalg.matrix_rank(x, rtol=rtol))


add("matrix_rank", matrix_rank, (singular,), "2")
add("matrix_rank", matrix_rank, (np.stack([line, np.eye(3)]),), "stacked")
add("matrix_rank", matrix_rank, (np.diag([1.0, 0.1, 0.01]),), "rtol", {"rtol": 0.05})

# Products and diagonals

for a, b, axis in [
    ((3,), (3,), -1),
    ((2, 3), (2, 3), 1),
    ((3, 2), (3, 2), 0),
    ((4, 3), (3,), -1),
    ((1, 3), (4, 1, 3), -1),
    ((0, 3), (3,), -1),
]:
    operands = draw("cross", a), draw("crossb", b)
    reference = lambda x, y, axis: np.cross(x, y, axis=axis)  # noqa: E731
    add("cross", reference, operands, f"{a} {b}", {"axis": axis})
    operands = operands[0] + 1j * draw("crossi", a), operands[1]
    add("cross", reference, operands, f"complex {a} {b}", {"axis": axis})


def diagonal(x, offset=0):
    return np.diagonal(x, offset, -2, -1)


def diagonal_matrix(v, shape, offset=0):
    y = np.zeros((*v.shape[:-1], *shape), v.dtype)
    i = np.arange(v.shape[-1])
    y[..., i + max(-offset, 0), i + max(offset, 0)] = v
    return y


for shape in ((3, 3), (2, 4), (4, 2), (2, 3, 3)):
    for offset in (0, 1, -1, 2, -2):
        x = draw("diagonal", shape)
        statics = {"offset": offset}
        add("diagonal", diagonal, (x,), f"{shape} {offset}", statics)
        v = diagonal(x, offset)
        if v.size:
            statics = {"shape": shape[-2:], "offset": offset}
            add("diagonal_matrix", diagonal_matrix, (v + 1j,), f"{shape} {offset}", statics)
add("diagonal", diagonal, (complexes("diagonal", (2, 3)),), "complex")
add("diagonal", diagonal, (draw("diagonal", (2, 2)),), "none", {"offset": 5})


def expm(x):
    """The series, of a small part of the matrix."""
    y = term = np.broadcast_to(np.eye(x.shape[-1]), x.shape)
    for k in range(1, 20):
        term = term @ (x / 64) / k
        y = y + term
    for _ in range(6):
        y = y @ y
    return y


for shape in ((2, 2), (2, 3, 3), (1, 1)):
    both("expm", expm, shape)
add("expm", expm, (np.stack([np.eye(2) * 8, np.eye(2)[::-1] * 0.1]),), "far apart")
add("expm", expm, (I([[0.0, 1], [0, 0]]),), "nilpotent")
