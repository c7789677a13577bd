"""The table of function_cases.py against PyTorch: values, gradients, second derivatives."""

import numpy as np
import pytest
from function_cases import CASES, IMAGE, SIGNAL, VOLUME, X, normal
from parity import close, compare, compare_function, torch

import autograd_gpu as ag
from autograd_gpu.nn import functional as F

TF = torch.nn.functional
pytestmark = pytest.mark.filterwarnings("ignore:.*align_corners", "ignore:The default behavior")


@pytest.mark.parametrize("row", [pytest.param(c, id=c.id) for c in CASES])
def test_function(row):
    compare_function(row.function, *row.operands, **row.options)


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, np.inf])
def test_cdist(p):
    compare(
        lambda x, y: F.cdist(x, y, p), lambda x, y: torch.cdist(x, y, p),
        normal(2, 4, 3), normal(2, 5, 3),
    )  # fmt: skip
    compare(lambda x: F.cdist(x, X, p), lambda x: torch.cdist(x, torch.tensor(X), p), normal(2, 3))


def test_equal_rows_have_no_distance_and_no_gradient():
    x = ag.Variable(np.ones((3, 2)), True)
    ag.sum(F.cdist(x, np.ones((1, 2))) + F.pdist(x)).backward()
    assert not x.grad.any()


INDICES = np.array([[1, 2, 2, 0], [0, 1, 4, 3], [2, 2, 2, 2]])


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding_idx", [None, 2, -1])
def test_embedding_bag(mode, padding_idx):
    more = {"mode": mode, "padding_idx": padding_idx}
    compare(
        lambda w: F.embedding_bag(INDICES, w, **more),
        lambda w: TF.embedding_bag(torch.tensor(INDICES), w, **more),
        normal(5, 2),
        order=0,
    )
    if mode == "max":
        return
    at = INDICES.reshape(-1)
    for offsets, last in (([0, 4, 4, 9], False), ([0, 4, 4, 12], True)):
        compare(
            lambda w, o=offsets, i=last: F.embedding_bag(at, w, o, include_last_offset=i, **more),
            lambda w, o=offsets, i=last: TF.embedding_bag(
                torch.tensor(at), w, torch.tensor(o), include_last_offset=i, **more
            ),
            normal(5, 2),
            order=0,
        )


def test_embedding_bag_with_factors():
    at = torch.tensor(INDICES)
    compare(
        lambda w, f: F.embedding_bag(INDICES, w, mode="sum", per_sample_weights=f),
        lambda w, f: TF.embedding_bag(at, w, mode="sum", per_sample_weights=f),
        normal(5, 2), normal(3, 4),
        order=0,
    )  # fmt: skip
    assert ag.grad_check(
        lambda w, f: F.embedding_bag(INDICES, w, mode="sum", per_sample_weights=f),
        [normal(5, 2), normal(3, 4)],
        order=2,
    )


POOLS = [
    (SIGNAL, (2,), {}),
    (SIGNAL[0], (3, 2, 1), {}),
    (IMAGE, (2,), {"ceil_mode": True}),
    (IMAGE, ((3, 2), 1, 1), {"dilation": (1, 2)}),
    (VOLUME, (2, 1), {}),
]


@pytest.mark.parametrize(("x", "args", "options"), POOLS)
def test_maxima_with_their_places_and_back(x, args, options):
    d = {7: 1, 6: 2, 5: 3}[x.shape[-1]]
    ours, theirs = (getattr(m, f"max_pool{d}d") for m in (F, TF))
    y, indices = ours(x, *args, return_indices=True, **options)
    expected, places = theirs(torch.tensor(x), *args, return_indices=True, **options)
    close(y.value, expected)
    np.testing.assert_array_equal(indices.value, places.numpy())
    compare(
        lambda v: ours(v, *args, return_indices=True, **options)[0],
        lambda v: theirs(v, *args, **options),
        x,
    )
    if options or len(args) > 1:  # overlapping windows: PyTorch's result depends on the order
        return
    compare(
        lambda v: getattr(F, f"max_unpool{d}d")(v, indices, *args),
        lambda v: getattr(TF, f"max_unpool{d}d")(v, places, *args),
        normal(*y.shape),
    )


def test_unpooling_to_a_size():
    y, indices = F.max_pool2d(IMAGE, 2, return_indices=True)
    for size in ((5, 7), IMAGE.shape):
        compare(
            lambda v, s=size: F.max_unpool2d(v, indices, 2, output_size=s),
            lambda v, s=size: TF.max_unpool2d(v, torch.tensor(indices.value), 2, output_size=s),
            normal(*y.shape),
        )


@pytest.mark.parametrize("x", [SIGNAL, IMAGE, VOLUME[0]])
def test_adaptive_maxima_with_their_places(x):
    d = {7: 1, 6: 2, 5: 3}[x.shape[-1]]
    ours, theirs = (getattr(m, f"adaptive_max_pool{d}d") for m in (F, TF))
    y, indices = ours(x, 2, return_indices=True)
    expected, places = theirs(torch.tensor(x), 2, return_indices=True)
    close(y.value, expected)
    np.testing.assert_array_equal(indices.value, places.numpy())


def test_instance_norm_moves_the_running_statistics():
    ours = normal(4), np.abs(normal(4))
    theirs = tuple(torch.tensor(a.copy()) for a in ours)
    compare(
        lambda x: F.instance_norm(x, *[a.copy() for a in ours], momentum=0.3),
        lambda x: TF.instance_norm(x, *[a.clone() for a in theirs], momentum=0.3),
        IMAGE,
    )
    F.instance_norm(IMAGE, *ours, momentum=0.3)
    TF.instance_norm(torch.tensor(IMAGE), *theirs, momentum=0.3)
    for a, b in zip(ours, theirs, strict=True):
        close(a, b)
