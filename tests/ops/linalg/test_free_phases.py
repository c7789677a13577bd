"""Losses that do not depend on the phases of vectors."""

import numpy as np
import pytest
from matrices import complexes, h, projected, real, spanned, weights

import autograd_gpu as ag
from autograd_gpu import linalg


def svd_loss(x, full):
    u, s, vh = linalg.svd(x, full_matrices=full)
    k = s.shape[-1]
    middle = ag.matmul(u[..., :, :k] * s[..., None, :] ** 2, vh[..., :k, :])
    loss = ag.sum(ag.real(middle * (1 + 2j))) + projected(u[..., :, :k])
    loss = loss + projected(h(vh)[..., :, :k])
    for m in (u, h(vh)):
        if m.shape[-1] > k:
            loss = loss + spanned(m[..., :, k:]) + spanned(m[..., :, k:]) ** 2
    return loss


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("draws", [real, complexes])
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 2)])
@pytest.mark.parametrize("full", [True, False])
def test_svd_of_losses_that_do_not_depend_on_phases(shape, draws, full, order):
    assert ag.grad_check(lambda x: svd_loss(x, full), [draws(*shape)], order=order)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("draws", [real, complexes])
@pytest.mark.parametrize("stack", [(), (2,)])
def test_eigh_of_losses_that_do_not_depend_on_phases(draws, stack, order):
    def loss(x):
        w, v = linalg.eigh(x)
        return ag.sum(w**2) + projected(v) + ag.sum(ag.real((v * ag.exp(w)[..., None, :]) @ h(v)))

    assert ag.grad_check(loss, [draws(*stack, 3, 3)], order=order)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("draws", [real, complexes])
@pytest.mark.parametrize("stack", [(), (2,)])
def test_eig_of_losses_that_do_not_depend_on_phases(draws, stack, order):
    def loss(x):
        w, v = linalg.eig(x)
        return ag.sum(ag.real(w**2 + 1j * w**3)) + projected(v)

    x = draws(*stack, 3, 3) + np.diag([0, 2, 5])
    assert ag.grad_check(loss, [x], order=order)
    assert ag.grad_check(lambda x: ag.sum(ag.abs(linalg.eigvals(x))), [x], order=order)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("draws", [real, complexes])
@pytest.mark.parametrize("shape", [(4, 2), (2, 4, 2), (2, 3)])
def test_complete_qr_of_losses_of_the_span_of_new_columns(shape, draws, order):
    def loss(x):
        q, r = linalg.qr(x, mode="complete")
        k = min(shape[-2:])
        own = ag.sum(ag.real(q[..., :, :k] * weights(shape[-2], k)))
        new = spanned(q[..., :, k:]) ** 2 if q.shape[-1] > k else 0
        return own + new + ag.sum(ag.abs(r[..., :k, :]) ** 2 * weights(k, shape[-1]))

    assert ag.grad_check(loss, [draws(*shape)], order=order)
