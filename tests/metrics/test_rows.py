import numpy as np
import pytest
import torch

from unknot.core.errors import ConfigError, DataError, ShapeError
from unknot.core.factors import FactorSpace
from unknot.core.representation import Representation
from unknot.metrics import mig
from unknot.metrics.parts.drawing import take, take_two
from unknot.metrics.parts.information import CARBONNEAU, STUDY, UNKNOT
from unknot.metrics.parts.rows import Rows

RNG = np.random.default_rng(0)
CODES, FACTORS = RNG.normal(size=(60, 3)), RNG.integers(0, 4, (60, 2))
SPACE = FactorSpace(("one", "a", "b"), (1, 4, 5), ("nominal", "ordered", "cyclic"))
GRID = Representation.whole(SPACE, torch.from_numpy(RNG.normal(size=(20, 3))))


def rows(codes=CODES, factors=FACTORS, samples=None, seed=0) -> Rows:
    return take(codes, factors, samples=samples, seed=seed)


@pytest.mark.parametrize(
    ("codes", "factors", "error", "words"),
    [
        (CODES[:, 0], FACTORS, ShapeError, "codes as a table"),
        (CODES[:, :0], FACTORS, ShapeError, "both above 0"),
        (CODES[:50], FACTORS, ShapeError, "got 50 and 60"),
        (CODES[:3], FACTORS[:3], DataError, "at least 10 rows"),
        (np.where(CODES > 2, np.nan, CODES), FACTORS, DataError, "NaN or infinite"),
        (np.where(CODES > 2, np.inf, CODES), FACTORS, DataError, "NaN or infinite"),
        (CODES, FACTORS * np.nan, DataError, "whole numbers"),
        (CODES, FACTORS * 1e30, DataError, "between -2\\^53 and 2\\^53"),
        (CODES, FACTORS + 2**53, DataError, "whole numbers"),
        (CODES, -FACTORS - 2**62, DataError, "whole numbers"),
        (CODES, FACTORS.astype(np.uint64) + np.uint64(2**64 - 8), DataError, "whole numbers"),
        (CODES.astype(str), FACTORS, DataError, "real numbers in codes"),
        (CODES, FACTORS.astype(complex), DataError, "real numbers in factors"),
        (CODES, np.zeros_like(FACTORS), DataError, "nothing to find"),
        (CODES, None, ConfigError, "pass `factors`"),
        (GRID, FACTORS, ConfigError, "brings its own"),
    ],
)
def test_bad_input_is_one_clear_error(codes, factors, error, words):
    with pytest.raises(error, match=words) as caught:
        rows(codes, factors)
    assert "\n" not in str(caught.value)
    with pytest.raises(error):
        mig(codes, factors)


@pytest.mark.parametrize(
    ("codes", "factors"),
    [
        (torch.from_numpy(CODES), torch.from_numpy(FACTORS)),
        (torch.from_numpy(CODES).requires_grad_(), FACTORS.astype(np.uint16)),
        (CODES, FACTORS.astype(np.float32)),
        (np.asfortranarray(CODES), torch.from_numpy(FACTORS).short()),
    ],
)
def test_arrays_of_any_kind_are_the_same_rows(codes, factors):
    ours, plain = rows(codes, factors), rows()
    assert torch.equal(ours.codes, plain.codes)
    assert torch.equal(ours.values, plain.values)
    assert ours.codes.dtype == torch.float64
    assert not ours.codes.requires_grad


def test_arrays_that_cannot_be_written_are_read():
    codes = CODES.copy()
    codes.flags.writeable = False
    assert len(rows(codes)) == 60


def test_booleans_and_whole_codes_count_as_numbers():
    assert rows(FACTORS, FACTORS > 1).levels.unique().tolist() == [0, 1]


def test_levels_number_any_values_in_order():
    given = rows(factors=FACTORS * 100 - 50)
    assert torch.equal(given.levels, rows().values)
    assert given.values.min() == -50


def test_a_factor_of_one_value_is_left_out_with_a_remark():
    constant = np.hstack([FACTORS, np.full((60, 1), 3)])
    assert rows(factors=constant).names == ("factor 0", "factor 1")
    assert rows(factors=constant).remarks == ("left out for having one value: factor 2",)
    assert float(mig(CODES, constant)) == float(mig(CODES, FACTORS))
    assert rows(GRID, None).names == ("a", "b")
    assert rows(GRID, None).kinds == ("ordered", "cyclic")


def nearly_constant(train):
    """A factor that varies in one row alone, one that a draw of 20 training rows leaves out."""
    kept = two(samples=20, test=(CODES, FACTORS))[0] if train else rows(samples=20)
    out = next(i for i in range(60) if CODES[i].tolist() not in kept.codes.tolist())
    return np.hstack([FACTORS, (np.arange(60) == out)[:, None]])


def test_factors_are_judged_by_the_rows_that_are_used():
    factors = nearly_constant(train=False)
    assert rows(factors=factors).names == ("factor 0", "factor 1", "factor 2")
    some = rows(factors=factors, samples=20)
    assert some.names == ("factor 0", "factor 1")
    assert some.remarks == ("left out for having one value: factor 2",)
    assert torch.equal(some.codes, rows(samples=20).codes)
    assert torch.equal(some.levels, rows(samples=20).levels)


@pytest.mark.parametrize("test_samples", [None, 30])
def test_factors_are_judged_by_the_training_rows_that_are_used(test_samples):
    factors = nearly_constant(train=True)
    sizes = {"samples": 20, "test_samples": test_samples}
    found = two(factors=factors, test=(CODES, factors), **sizes)
    known = two(test=(CODES, FACTORS), **sizes)
    for ours, plain in zip(found, known, strict=True):
        assert ours.names == ("factor 0", "factor 1")
        assert ours.remarks == ("left out for having one value: factor 2",)
        assert torch.equal(ours.codes, plain.codes)
        assert torch.equal(ours.levels, plain.levels)


def test_given_rows_keep_their_order_unless_there_are_too_many():
    assert torch.equal(rows(samples=60).codes, rows().codes)
    some = rows(samples=20)
    assert len(some) == 20
    assert torch.equal(some.codes, rows(samples=20).codes)
    assert not torch.equal(some.codes, rows(samples=20, seed=1).codes)
    assert len(some.codes.unique(dim=0)) == 20


def test_a_grid_is_drawn_with_replacement_or_taken_whole():
    whole = rows(GRID, None)
    assert len(whole) == 20
    assert len(SPACE.index(torch.cat([torch.zeros(20, 1).long(), whole.values], 1)).unique()) == 20
    drawn = rows(GRID, None, samples=100)
    assert len(drawn) == 100
    index = SPACE.index(torch.cat([torch.zeros(100, 1).long(), drawn.values], 1))
    assert torch.equal(drawn.codes, GRID.codes(index))


def test_a_lazy_grid_encodes_only_the_rows_that_are_drawn():
    asked: list[int] = []

    def encode(index: torch.Tensor) -> torch.Tensor:
        asked.extend(index.tolist())
        return GRID.codes(index)

    lazy = Representation.lazy(SPACE, 3, encode)
    assert torch.equal(rows(lazy, None, samples=12).codes, rows(GRID, None, samples=12).codes)
    assert len(asked) == len(set(asked)) <= 12


def test_a_diverged_lazy_grid_is_refused():
    lazy = Representation.lazy(SPACE, 2, lambda index: torch.full((len(index), 2), torch.nan))
    with pytest.raises(DataError, match="NaN or infinite"):
        rows(lazy, None)


def two(codes=CODES, factors=FACTORS, test=None, **options):
    sizes = {"samples": 10_000, "test_samples": 5_000, "seed": 0} | options
    return take_two(codes, factors, test, **sizes)


def test_rows_without_a_test_set_are_split_two_to_one():
    train, held = two()
    assert (len(train), len(held)) == (40, 20)
    both = torch.cat([train.codes, held.codes])
    assert torch.equal(both.sort(0).values, torch.from_numpy(CODES).sort(0).values)
    train, held = two(samples=30, test_samples=15)
    assert (len(train), len(held)) == (30, 15)


def test_a_given_test_set_is_used_and_numbered_alike():
    test = (RNG.normal(size=(15, 3)), RNG.integers(0, 9, (15, 2)))
    train, held = two(factors=FACTORS * 2, test=test)
    assert torch.equal(train.codes, torch.from_numpy(CODES))
    assert torch.equal(held.codes, torch.from_numpy(test[0]))
    every = np.unique(np.concatenate([FACTORS[:, 0] * 2, test[1][:, 0]]))
    np.testing.assert_array_equal(every[held.levels[:, 0]], test[1][:, 0])


def test_a_test_set_of_other_width_is_refused():
    with pytest.raises(ShapeError, match="as many codes"):
        two(test=(CODES[:, :2], FACTORS))
    with pytest.raises(ConfigError, match="brings its own"):
        two(GRID, None, test=(CODES, FACTORS))


def test_a_protocol_without_a_test_set_says_that_it_did_not_use_it():
    train, held = two(test=(CODES, FACTORS), test_samples=0)
    assert train is held
    assert "was not used" in train.remarks[0]


def test_points_in_both_halves_of_a_drawn_grid_are_reported():
    """With replacement the halves of a small grid overlap, which nobody else tells."""
    train, _ = two(GRID, None, samples=100, test_samples=50)
    assert "100 % of the test points" in train.remarks[-1]
    train, held = two(GRID, None, samples=14, test_samples=6, distinct=True)
    assert (len(train), len(held)) == (14, 6)
    assert all("test points" not in remark for remark in train.remarks)


def test_grids_too_large_to_shuffle_are_drawn():
    space = FactorSpace(("a", "b"), (4_000, 4_000), ("ordered", "ordered"))
    lazy = Representation.lazy(space, 2, lambda index: space.factors(index).double())
    assert len(rows(lazy, None)) == 10_000


def test_perfect_codes_are_the_factors_and_dead_ones():
    perfect = rows().perfect()
    assert torch.equal(perfect.codes[:, :2], perfect.values.double())
    assert torch.equal(perfect.codes[:, 2], torch.zeros(60, dtype=torch.float64))


def test_scores_leave_global_generators_alone():
    torch.manual_seed(3)
    np.random.seed(3)  # noqa: NPY002 - the global state is what must not move
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    mig(CODES, FACTORS, interval=0.5, protocol="study2019")
    take_two(CODES, FACTORS, None, samples=None, test_samples=None, seed=1)
    assert torch.equal(torch.get_rng_state(), before[0])
    np.testing.assert_array_equal(np.random.get_state()[1], before[1])  # noqa: NPY002


def test_what_rows_remember_belongs_to_one_way_of_counting_and_to_these_rows():
    shared = rows()
    for counting in (STUDY, CARBONNEAU, UNKNOT):
        remembered, computed = shared.information(counting), rows().information(counting)
        assert torch.equal(remembered.mutual, computed.mutual)
        assert shared.information(counting) is remembered
    part = shared[torch.arange(30)]
    expected = rows(CODES[:30], FACTORS[:30]).information(STUDY)
    assert torch.equal(part.information(STUDY).mutual, expected.mutual)
