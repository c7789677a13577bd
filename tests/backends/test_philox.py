"""Philox4x32-10: Random123's known answers, and equal bits on every backend."""

import numpy as np
import pytest

from autograd_gpu.backends import philox

ONES = 0xFFFFFFFF
KNOWN_ANSWERS = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ONES,) * 4, (ONES,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN_ANSWERS)
def test_known_answers(counter, key, words):
    out = philox.philox_blocks(np.array([counter], np.uint32), key)
    assert tuple(map(int, out[0])) == words


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN_ANSWERS)
def test_known_answers_by_seed_and_offset(backend, counter, key, words):
    # the block's number is the lower half of the counter, so only the first is within reach
    block = counter[0] | counter[1] << 32
    if block > 100:
        pytest.skip("an array with that many blocks does not fit into memory")
    seed, offset = key[0] | key[1] << 32, counter[2] | counter[3] << 32
    bits = backend.to_host(backend.xp.random_bits((4 * block + 4,), seed, offset))
    assert tuple(map(int, bits[-4:])) == words


@pytest.mark.parametrize(
    ("shape", "seed", "offset"),
    [
        ((), 1, 2),
        ((0,), 1, 2),
        ((7,), 2**64 - 1, 2**64 - 1),
        ((3, 5), 2**32, 2**32),
        ((4 * philox._BLOCKS + 5,), 5, 1),
        ((2 * philox._WORDS + 7,), 2**40 + 3, 2**63),
    ],
)
def test_bits_are_those_of_the_blocks(backend, shape, seed, offset):
    bits = backend.xp.random_bits(shape, seed, offset)
    assert type(bits) is backend.array_type
    assert (bits.shape, bits.dtype) == (shape, np.uint32)
    n = int(np.prod(shape))
    counter = np.zeros((n // 4 + 1, 4), np.uint32)
    counter[:, 0] = np.arange(len(counter))
    counter[:, 2:] = offset & ONES, offset >> 32
    words = philox.philox_blocks(counter, (seed & ONES, seed >> 32)).reshape(-1)[:n]
    np.testing.assert_array_equal(backend.to_host(bits).reshape(-1), words)


def test_unit_numbers(backend):
    u = backend.to_host(backend.xp.random_unit((100_000,), 3, 4))
    bits = philox.random_bits((100_000,), 3, 4)
    assert u.dtype == np.float32
    np.testing.assert_array_equal(u, (bits >> 8) / 2.0**24)
    assert 0 <= u.min() <= u.max() < 1
    # 100,000 uniform numbers have their mean within 5 standard errors of 1/2
    assert abs(u.mean() - 0.5) < 5 / np.sqrt(12 * 100_000)


@pytest.mark.parametrize(("seed", "offset"), [(-1, 0), (0, -1), (2**64, 0), (0, 2**64)])
@pytest.mark.parametrize("name", ["random_bits", "random_unit"])
def test_seeds_out_of_range_are_refused(backend, name, seed, offset):
    with pytest.raises(ValueError, match="must be in"):
        getattr(backend.xp, name)((3,), seed, offset)
