"""FactorSpace: row numbers and factor values are two names of the same point."""

import math
from inspect import unwrap

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unknot.core.errors import DataError, ShapeError
from unknot.core.factors import FactorSpace


def grid(*sizes):
    names = tuple(f"f{i}" for i in range(len(sizes)))
    return FactorSpace(names, sizes, ("ordered",) * len(sizes))


sizes_of_grids = st.lists(st.integers(1, 64), min_size=1, max_size=6)
leading = st.lists(st.integers(0, 3), max_size=3).map(tuple)


@st.composite
def sizes_and_rows(draw):
    sizes, shape = draw(sizes_of_grids), draw(leading)
    n = math.prod(shape)
    rows = draw(st.lists(st.integers(0, math.prod(sizes) - 1), min_size=n, max_size=n))
    return sizes, torch.tensor(rows, dtype=torch.int64).reshape(shape)


@given(sizes_and_rows())
def test_factors_of_a_row_have_the_row_as_index(case):
    sizes, rows = case
    space = grid(*sizes)
    factors = space.factors(rows)
    assert factors.shape == (*rows.shape, len(space))
    assert factors.dtype == torch.int64
    back = space.index(factors)
    assert back.dtype == torch.int64
    assert torch.equal(back, rows)


@given(sizes_and_rows())
def test_the_order_is_numpys(case):
    """Independent reference: numpy's row-major raveling."""
    sizes, rows = case
    space = grid(*sizes)
    expected = np.stack(np.unravel_index(rows.numpy(), space.sizes), axis=-1)
    assert np.array_equal(space.factors(rows).numpy(), expected)


@pytest.mark.parametrize("sizes", [(64,) * 6, (2**31, 1, 2**31), (2**63 - 1,), (1, 2**62, 1)])
def test_row_numbers_have_64_bits(sizes):
    space = grid(*sizes)
    last = torch.tensor(space.size - 1)
    assert space.factors(last).tolist() == [size - 1 for size in sizes]
    assert space.index(space.factors(last)) == last


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int32])
def test_narrow_whole_numbers_do_not_overflow(dtype):
    space = grid(*(64,) * 6)
    factors = torch.full((6,), 63, dtype=dtype)
    assert space.index(factors) == 64**6 - 1
    assert torch.equal(
        space.factors(torch.tensor(77, dtype=dtype)), space.factors(torch.tensor(77))
    )


def test_a_value_equal_to_its_size_is_refused_and_not_carried_over():
    """Factor [0, 3] on a 2 x 3 grid is outside; taking it for [1, 0] is an old mistake."""
    space = grid(2, 3)
    assert space.index(torch.tensor([1, 0])) == 3
    with pytest.raises(DataError, match=r"^Factor values must lie in 0 .. size - 1 .*\(2, 3\)\.$"):
        space.index(torch.tensor([0, 3]))


@given(sizes_of_grids, st.data())
def test_values_outside_are_refused(sizes, data):
    space = grid(*sizes)
    good = torch.tensor([data.draw(st.integers(0, size - 1)) for size in space.sizes])
    column = data.draw(st.integers(0, len(space) - 1))
    bad = good.clone()
    bad[column] = data.draw(st.sampled_from([-1, space.sizes[column], 2**40]))
    with pytest.raises(DataError):
        space.index(torch.stack([good, bad]))
    row = data.draw(st.sampled_from([-1, space.size, space.size + 5, -space.size]))
    with pytest.raises(DataError, match=rf"^Row numbers must lie in 0 .. {space.size - 1}\.$"):
        space.factors(torch.tensor([0, row]))


@pytest.mark.parametrize("shape", [(3,), (2, 1), (2, 0)])
def test_another_number_of_columns_is_refused(shape):
    with pytest.raises(
        ShapeError, match=r"Expected 2 factors \('f0', 'f1'\) on the last axis; got"
    ):
        grid(2, 3).index(torch.zeros(shape, dtype=torch.int64))


def test_row_numbers_are_whole():
    with pytest.raises(DataError, match=r"whole numbers; got torch.float32"):
        unwrap(FactorSpace.factors)(FactorSpace(("a",), (3,), ("ordered",)), torch.tensor([1.7]))


@given(sizes_and_rows(), st.data())
def test_a_traversal_changes_one_factor_only(case, data):
    sizes, rows = case
    space = grid(*sizes)
    factor = data.draw(st.integers(0, len(space) - 1))
    walked = space.traversal(rows, factor)
    size = space.sizes[factor]
    assert walked.shape == (*rows.shape, size)
    expected = space.factors(rows).unsqueeze(-2).repeat(*(1,) * rows.ndim, size, 1)
    expected[..., factor] = torch.arange(size)
    assert torch.equal(space.factors(walked), expected)


def test_facts_of_a_space():
    space = FactorSpace(("shape", "scale", "turn"), (3, 6, 40), ("nominal", "ordered", "cyclic"))
    assert (len(space), space.size, space.strides) == (3, 720, (240, 40, 1))
    assert space == FactorSpace(space.names, space.sizes, space.kinds)
    assert hash(space) == hash(FactorSpace(space.names, space.sizes, space.kinds))


@pytest.mark.parametrize(
    ("names", "sizes", "kinds", "message"),
    [
        (("a",), (2, 3), ("ordered",) * 2, "one name, size and kind per factor"),
        (("a", "b"), (2, 3), ("ordered",), "one name, size and kind per factor"),
        ((), (), (), "at least one factor"),
        (("a", "a"), (2, 3), ("ordered",) * 2, "must differ from each other; got ('a', 'a')"),
        (("a", "b"), (2, 0), ("ordered",) * 2, "at least one value; got sizes (2, 0)"),
        (("a", "b"), (2, -1), ("ordered",) * 2, "at least one value; got sizes (2, -1)"),
        (("a", "b"), (2**32, 2**31), ("ordered",) * 2, "more points than a 64-bit row number"),
    ],
)
def test_a_space_that_makes_no_sense_is_refused(names, sizes, kinds, message):
    with pytest.raises(DataError) as caught:
        FactorSpace(names, sizes, kinds)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
