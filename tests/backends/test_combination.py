"""Sums of scaled rows, several at a time, against NumPy's own products and sums."""

import numpy as np
import pytest

from autograd_gpu.backends import numpy_combination
from autograd_gpu.backends.numpy_combination import Combination

HEIGHT, WIDTH = 12, 6


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


WEIGHT, FIRST, SECOND = numbers(3, WIDTH, seed=3)
KINDS = {
    "one block, two rows": ([WEIGHT], [FIRST, SECOND]),
    "two blocks, a row": ([WEIGHT, None], [FIRST]),
    "blocks only": ([None, None], []),
}


def by_numpy(weights, rows, columns, blocks):
    blocks = [x if w is None else x * w for x, w in zip(blocks, weights, strict=True)]
    terms = [*blocks, *[np.broadcast_to(row, blocks[0].shape) for row in rows]]
    return sum(column[:, None] * term for column, term in zip(columns, terms, strict=True))


@pytest.fixture(params=["single rows", "pairs"])
def of_two_blocks(monkeypatch, request):
    if request.param == "pairs":  # as for wide rows
        monkeypatch.setattr(numpy_combination, "VECTOR", 0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 3, 4, 7, HEIGHT])
def test_any_number_of_rows(of_two_blocks, kind, n):
    weights, rows = KINDS[kind]
    combine = Combination(weights, rows, HEIGHT, WIDTH, np.dtype("f8"))
    for seed in range(2):  # the second time in the memory of the first
        blocks = [numbers(n, WIDTH, seed=seed + 10 * i) for i in range(len(weights))]
        columns = numbers(combine.terms, n, seed=seed)
        out = np.empty((n, WIDTH))
        combine(columns, blocks, out)
        np.testing.assert_allclose(out, by_numpy(weights, rows, columns, blocks), atol=1e-14)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_stays_in_its_row(of_two_blocks, bad):
    combine = Combination([WEIGHT, None], [FIRST], HEIGHT, WIDTH, np.dtype("f8"))
    blocks, columns = list(numbers(2, HEIGHT, WIDTH)), numbers(3, HEIGHT, seed=1)
    blocks[1][5, 2] = columns[2, 5] = bad
    out = np.empty((HEIGHT, WIDTH))
    combine(columns, blocks, out)
    assert not np.isfinite(out[5]).any()
    others = np.arange(HEIGHT) != 5
    want = by_numpy([WEIGHT, None], [FIRST], columns, blocks)
    np.testing.assert_allclose(out[others], want[others], atol=1e-14)
