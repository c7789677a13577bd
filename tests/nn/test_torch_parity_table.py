"""The table of function_cases.py against PyTorch: values, gradients, second derivatives."""

import numpy as np
import pytest
from function_cases import CASES, IMAGE, X, normal
from parity import close, compare, compare_function, torch

import autograd_gpu as ag
from autograd_gpu import nn
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


@pytest.mark.parametrize("norm_type", [1.0, 2.0])
def test_embedding_of_bounded_rows(norm_type):
    weight = 3 * normal(5, 4)
    ours, theirs = ag.Variable(weight.copy(), True), torch.tensor(weight.copy())
    at = np.array([[0, 3], [3, 1]])
    y = F.embedding(at, ours, None, 2.0, norm_type)
    expected = TF.embedding(torch.tensor(at), theirs, None, 2.0, norm_type)
    close(y.value, expected)
    close(ours.value, theirs)  # the other rows stay
    with pytest.raises(TypeError, match="must be a leaf Variable"):
        F.embedding(at, weight, None, 2.0)
    layer = nn.Embedding(5, 4, max_norm=1.0, dtype="float64")
    assert (np.linalg.norm(layer(at).value, axis=-1) <= 1.0).all()
    assert repr(layer) == repr(torch.nn.Embedding(5, 4, max_norm=1.0))


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
def test_softmax_in_another_dtype(name):
    x = X.astype("f4")
    y = getattr(F, name)(ag.Variable(x), dim=0, dtype="float64")
    assert y.dtype == np.float64
    close(y.value, getattr(TF, name)(torch.tensor(x), dim=0, dtype=torch.float64))


def test_one_hot_of_as_many_classes_as_there_are():
    np.testing.assert_array_equal(
        F.one_hot([0, 2, 1]).value, TF.one_hot(torch.tensor([0, 2, 1])).numpy()
    )
    with pytest.raises(ValueError, match="num_classes=0 must be positive"):
        F.one_hot([0], 0)


def test_attention_by_keywords():
    q, k, v = normal(2, 3, 5), normal(2, 4, 5), normal(2, 4, 6)
    tensors = {"query": torch.tensor(q), "key": torch.tensor(k), "value": torch.tensor(v)}
    close(
        F.scaled_dot_product_attention(query=q, key=k, value=v).value,
        TF.scaled_dot_product_attention(**tensors),
    )
