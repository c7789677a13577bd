"""Plans for cuBLAS, carried out by a column-major BLAS made of NumPy that checks its arguments."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from layouts import (
    COPY_FREE,
    every_second_matrix,
    memory,
    numbers,
    problems,
    reversed_rows,
    sliced,
    strided_both,
    transposed,
)

from autograd_gpu.backends.gemm_plan import OP_N, OP_T, Plan, plan


def plan_of(a, b, c, pointers=False) -> Plan:
    layouts = (v for x in (a, b, c) for v in (x.shape, x.strides))
    return plan(*layouts, a.itemsize, c.itemsize, pointers)


def column_major(flat, at, ld, rows, columns):
    assert ld >= rows, "cuBLAS refuses a leading dimension below the number of rows"
    assert at >= 0
    assert at + ld * (columns - 1) + rows <= flat.size, "out of bounds"
    item = flat.itemsize
    return np.lib.stride_tricks.as_strided(flat[at:], (rows, columns), (item, ld * item))


def blas(call, operands, alpha, beta):
    """What cublasGemmStridedBatchedEx does with the arguments of `call`."""
    (a, at_a), (b, at_b), (c, at_c) = [
        (flat, at + offset)
        for (flat, at), offset in zip(map(memory, operands), call.offsets, strict=True)
    ]
    if call.swapped:
        a, at_a, b, at_b = b, at_b, a, at_a
    for i in range(call.count):
        size_a = (call.m, call.k) if call.transa == OP_N else (call.k, call.m)
        size_b = (call.k, call.n) if call.transb == OP_N else (call.n, call.k)
        x = column_major(a, at_a + i * call.stridea, call.lda, *size_a)
        y = column_major(b, at_b + i * call.strideb, call.ldb, *size_b)
        z = column_major(c, at_c + i * call.stridec, call.ldc, call.m, call.n)
        x = x if call.transa == OP_N else x.T
        y = y if call.transb == OP_N else y.T
        z[...] = alpha * (x @ y) + (beta * z if beta else 0)


def batch_by_pointers(call, axes, operands, alpha, beta):
    """What cublasGemmBatchedEx does with the pointers that `axes` stand for."""
    for index in np.ndindex(*(axis[0] for axis in axes)):
        at = tuple(sum(i * axis[j] for i, axis in zip(index, axes, strict=True)) for j in (1, 2, 3))
        blas(replace(call, count=1, offsets=at), operands, alpha, beta)


def multiply(a, b, c, alpha=1.0, beta=0.0, rounds=2, pointers=False) -> Plan:
    """Carry out the plan for `c = alpha a b + beta c`, with the copies it asks for.

    It may ask twice: for an operand without a layout, then for one whose batch takes many calls.
    """
    todo = plan_of(a, b, c, pointers)
    if todo.axes:
        (call,) = todo.calls
        assert call.count == np.prod([axis[0] for axis in todo.axes])
        batch_by_pointers(call, todo.axes, (a, b, c), alpha, beta)
        return todo
    if any(todo.copies):
        a, b = (
            np.ascontiguousarray(x) if copy else x
            for x, copy in zip((a, b), todo.copies[:2], strict=True)
        )
        dense = c.copy() if todo.copies[2] else c
        assert rounds, "copied twice and still not satisfied"
        multiply(a, b, dense, alpha, beta, rounds - 1, pointers)
        c[...] = dense
        return todo
    for call in todo.calls:
        blas(call, (a, b, c), alpha, beta)
    return todo


@settings(max_examples=1500, deadline=None)
@given(problems(), st.sampled_from([(1.0, 0.0), (1.0, 1.0), (2.0, -1.0)]), st.booleans())
def test_every_layout_is_multiplied_exactly(problem, factors, pointers):
    a, b, c = problem
    alpha, beta = factors
    want = alpha * (a @ b) + beta * c
    multiply(a, b, c, alpha, beta, pointers=pointers)
    np.testing.assert_array_equal(c, want)


@pytest.mark.parametrize("batch", [(), (4,), (2, 3)], ids=str)
@pytest.mark.parametrize("layout_c", COPY_FREE)
@pytest.mark.parametrize("layout_b", COPY_FREE)
@pytest.mark.parametrize("layout_a", COPY_FREE)
def test_usual_layouts_take_no_copies(layout_a, layout_b, layout_c, batch):
    a = layout_a(numbers(*batch, 3, 4))
    b = layout_b(numbers(*batch, 4, 5))
    c = layout_c(np.zeros((*batch, 3, 5)))
    todo = multiply(a, b, c)
    assert todo.copies == (False, False, False)
    np.testing.assert_array_equal(c, a @ b)
    uneven = every_second_matrix in (layout_a, layout_b, layout_c) and batch == (2, 3)
    assert len(todo.calls) == (1 if not uneven else 2)


@pytest.mark.parametrize("batch", [(), (6,), (2, 3)], ids=str)
def test_a_backward_is_two_calls_and_no_copy(batch):
    a, b, g = numbers(*batch, 5, 7), numbers(*batch, 7, 3), numbers(*batch, 5, 3)
    da, db = np.ones_like(a), np.ones_like(b)
    (call_a,) = multiply(g, b.swapaxes(-1, -2), da, beta=1.0).calls
    (call_b,) = multiply(a.swapaxes(-1, -2), g, db, beta=1.0).calls
    np.testing.assert_array_equal(da, 1 + g @ b.swapaxes(-1, -2))
    np.testing.assert_array_equal(db, 1 + a.swapaxes(-1, -2) @ g)
    # dA = g B^T: B, the first operand of cuBLAS, is transposed.  dB = A^T g: A is, the second.
    assert (call_a.swapped, call_a.transa, call_a.transb) == (True, OP_T, OP_N)
    assert (call_a.m, call_a.n, call_a.k) == (7, 5, 3)
    assert (call_a.lda, call_a.ldb, call_a.ldc) == (3, 3, 7)
    assert (call_b.swapped, call_b.transa, call_b.transb) == (True, OP_N, OP_T)
    assert (call_b.m, call_b.n, call_b.k) == (3, 7, 5)
    assert (call_b.lda, call_b.ldb, call_b.ldc) == (3, 7, 3)
    count = int(np.prod(batch))
    assert call_a.count == call_b.count == count
    if count > 1:
        assert (call_a.stridea, call_a.strideb, call_a.stridec) == (21, 15, 35)


def test_a_batch_of_one_operand_is_folded():
    x, w = numbers(2, 6, 3, 4), numbers(4, 5)
    for a, b, m, n in (
        (x, w, 36, 5),
        (x, transposed(w), 36, 5),
        (sliced(x), w, 36, 5),
        (x[:, :, :1], w, 12, 5),
        (numbers(6, 3, 4).swapaxes(0, 1), w, 18, 5),
    ):
        c = np.empty((*a.shape[:-1], 5))
        if a.strides[0] < a.strides[1]:
            c = np.empty((6, 3, 5)).swapaxes(0, 1)
        (call,) = multiply(a, b, c).calls
        np.testing.assert_array_equal(c, a @ b)
        assert (call.count, call.m, call.n, call.k) == (1, n, m, 4)


def test_a_batch_of_the_second_operand_is_folded_where_the_result_allows_it():
    a, b = numbers(3, 4), numbers(4, 2, 5).swapaxes(0, 1)
    c = np.empty((3, 2, 5)).swapaxes(0, 1)
    (call,) = multiply(a, b, c).calls
    np.testing.assert_array_equal(c, a @ b)
    assert (call.count, call.m, call.n) == (1, 10, 3)
    # into a contiguous result it is a strided batch that reads `a` again and again
    c = np.empty((2, 3, 5))
    (call,) = multiply(a, b, c).calls
    np.testing.assert_array_equal(c, a @ b)
    assert (call.count, call.strideb) == (2, 0)


def heads(x):
    """[batch, tokens, heads, width] seen as [batch, heads, tokens, width]."""
    return x.transpose(0, 2, 1, 3)


def test_attention_reads_heads_where_they_are():
    q, k = numbers(2, 256, 3, 64), numbers(2, 256, 3, 64)
    scores = np.empty((2, 3, 256, 256))
    todo = multiply(heads(q), heads(k).swapaxes(-1, -2), scores)
    np.testing.assert_array_equal(scores, np.einsum("bihd,bjhd->bhij", q, k))
    assert todo.copies == (False, False, False)
    assert [call.count for call in todo.calls] == [3, 3]


def test_many_calls_are_one_with_pointers():
    q, k = heads(numbers(5, 7, 4, 2)), heads(numbers(5, 3, 4, 2)).swapaxes(-1, -2)
    scores = np.empty((5, 4, 7, 3))
    todo = multiply(q, k, scores, pointers=True)
    np.testing.assert_array_equal(scores, q @ k)
    (call,) = todo.calls
    assert (call.count, call.offsets, todo.copies) == (20, (0, 0, 0), (False,) * 3)
    assert (call.stridea, call.strideb, call.stridec) == (0, 0, 0)
    # sizes and strides of A, B and C: along the batch, and along the heads
    assert todo.axes == ((5, 56, 24, 84), (4, 2, 2, 21))


def test_a_few_calls_are_made_one_by_one():
    q = heads(numbers(3, 7, 4, 2))
    todo = plan_of(q, q.swapaxes(-1, -2), np.empty((3, 4, 7, 7)), pointers=True)
    assert not todo.axes
    # and what one stride leads through is no matter of pointers
    x = numbers(3, 4, 5, 6)
    assert not plan_of(x, x.swapaxes(-1, -2), np.empty((3, 4, 5, 5)), pointers=True).axes


def test_more_axes_than_the_kernel_for_pointers_has_are_looped_over():
    x = numbers(*(2, 3) * 5, 2, 2)[::1, ::2, ::1, ::2, ::1, ::2, ::1, ::2, ::1, ::2]
    todo = plan_of(x, x, np.empty(x.shape), pointers=True)
    assert (len(todo.calls) > 1 or any(todo.copies), todo.axes) == (True, ())


def test_many_small_calls_are_worth_a_copy():
    q = heads(numbers(64, 5, 4, 2))
    todo = plan_of(q, numbers(64, 4, 2, 5), np.empty((64, 4, 5, 5)))
    assert todo.copies == (True, False, False)


def test_only_the_operand_that_cannot_be_read_is_copied():
    a, b, c = numbers(3, 4), numbers(4, 5), np.empty((3, 5))
    assert plan_of(strided_both(a), b, c).copies == (True, False, False)
    assert plan_of(a, reversed_rows(b), c).copies == (False, True, False)
    assert plan_of(a, b, strided_both(c)).copies == (False, False, True)
    ones = np.broadcast_to(1.0, (4, 5))
    assert plan_of(a, ones, c).copies == (False, True, False)
    same = np.lib.stride_tricks.as_strided(c, (2, 3, 5), (0, *c.strides))
    assert plan_of(a, b, same).copies == (False, False, True)


@pytest.mark.parametrize(
    ("a", "b", "c"),
    [((0, 4), (4, 5), (0, 5)), ((3, 0), (0, 5), (3, 5)), ((0, 3, 4), (4, 5), (0, 3, 5))],
)
def test_empty_products_call_nothing(a, b, c):
    assert plan_of(np.empty(a), np.empty(b), np.empty(c)) == Plan(())


@pytest.mark.parametrize(
    ("a", "b", "c"),
    [
        ((3, 4), (5, 6), (3, 6)),
        ((3, 4), (4, 6), (3, 5)),
        ((2, 3, 4), (4, 6), (3, 6)),
        ((2, 3, 4), (4, 6), (5, 3, 6)),
    ],
)
def test_shapes_that_do_not_match_are_refused(a, b, c):
    with pytest.raises(ValueError, match="matmul"):
        plan_of(np.empty(a), np.empty(b), np.empty(c))


def test_sizes_beyond_an_int_are_refused():
    big = 2**31
    with pytest.raises(ValueError, match=r"2\*\*31"):
        plan((big, 1), (1, 1), (1, 1), (1, 1), (big, 1), (1, 1))
    # and nothing is folded into one
    todo = plan((4, 2**30, 1), (2**30, 1, 1), (1, 1), (1, 1), (4, 2**30, 1), (2**30, 1, 1))
    assert [call.count for call in todo.calls] == [4]


@pytest.mark.parametrize("field", ["transa", "lda", "m", "stridec", "swapped"])
def test_the_emulated_blas_notices_a_wrong_argument(field):
    a, b, c = numbers(2, 3, 4), numbers(2, 4, 5), np.zeros((2, 3, 5))
    (call,) = plan_of(a, b, c).calls
    values = {name: getattr(call, name) for name in call.__slots__}
    values[field] = not values[field] if field in ("transa", "swapped") else values[field] - 1
    try:
        blas(type(call)(**values), (a, b, c), 1.0, 0.0)
    except (AssertionError, ValueError):
        return
    assert not np.array_equal(c, a @ b)
