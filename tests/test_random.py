"""Generators: seeds, independence, state."""

import numpy as np
import pytest

import autograd_gpu as ag


def test_equal_seeds_give_equal_draws():
    a, b, c = ag.Generator(3), ag.Generator(3), ag.Generator(4)
    for draw in (
        lambda g: g.uniform((5,), -1, 1),
        lambda g: g.normal((5,), 2, 3),
        lambda g: g.permutation(10),
        lambda g: np.array(g.next_key()),
    ):
        first = draw(a)
        np.testing.assert_array_equal(first, draw(b))
        assert (first != draw(c)).any()


def test_state_goes_on_where_it_was_saved():
    g = ag.Generator(1)
    g.normal((3,))
    g.next_key()
    state = g.state_dict()
    expected = g.normal((3,)), g.next_key()
    other = ag.Generator(0)
    other.load_state_dict(state)
    np.testing.assert_array_equal(other.normal((3,)), expected[0])
    assert other.next_key() == expected[1]


def test_manual_seed_seeds_the_default():
    ag.manual_seed(2)
    first = ag.nn.Linear(3, 3).weight.value
    ag.manual_seed(2)
    np.testing.assert_array_equal(ag.nn.Linear(3, 3).weight.value, first)
    with pytest.raises(ValueError, match="seed"):
        ag.manual_seed(-1)
