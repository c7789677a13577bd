"""Matrices to try, and losses that do not depend on the choice of vectors."""

import numpy as np

import autograd_gpu as ag

RNG = np.random.default_rng(0)


def real(*shape):
    return RNG.uniform(-1, 1, shape) + np.eye(*shape[-2:]) * 2


def complexes(*shape):
    return real(*shape) + 1j * RNG.uniform(-1, 1, shape)


def hermitian(x):
    return (x + np.conj(np.swapaxes(x, -1, -2))) / 2


def turned(values, draws=real):
    """A Hermitian matrix with these eigenvalues."""
    q = np.linalg.qr(draws(len(values), len(values)))[0]
    return hermitian((q * np.array(values)) @ np.conj(q.T))


def gradient(f, x):
    v = ag.Variable(x, requires_grad=True)
    y = f(v)
    y.backward()
    return v.grad


def weights(*shape):
    return np.random.default_rng(7).uniform(-1, 1, shape)


def h(x):
    """The conjugate transpose."""
    return ag.conj(x.mT)


def projected(u):
    """A loss of the spans of the single columns."""
    n, k = u.shape[-2:]
    total = 0
    for i in range(k):
        column = u[..., :, i : i + 1]
        w = weights(n, n) * (i + 1) + 1j * weights(n, n).T
        total = total + ag.sum(ag.real(ag.matmul(column, h(column)) * w))
    return total


def spanned(u):
    n = u.shape[-1]
    w = weights(u.shape[-2], u.shape[-2])
    return ag.sum(ag.real(ag.matmul(u, h(u)) * (w + 1j * w**2)) * n)
