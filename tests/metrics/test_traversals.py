"""Linearity, axis alignment and orientation, and the traversals they look at."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from metrics.representations import ALIGNED, SIZES, expected, factors, get, perfect
from unknot.core.errors import DataError
from unknot.core.factors import FactorSpace
from unknot.core.representation import Representation
from unknot.metrics import axis_alignment, distance_correlation, linearity, orientation
from unknot.metrics.parts.drawing import take
from unknot.metrics.parts.traversals import (
    PAPER,
    UNKNOT,
    Traversals,
    covariances,
    grid_traversals,
    half_traversals,
    pairs_along,
    points,
    traversal_shares,
    traversals,
)

SCORES = (linearity, axis_alignment, orientation)
SPACE = FactorSpace(tuple("abcd"), SIZES, ("ordered",) * 4)

# Half of each factor's movement per copy, among eight codes; a third for the two turned factors.
COPIED, TURNED = (1 / 2 - 1 / 8) / (1 - 1 / 8), math.sqrt((1 / 2 - 1 / 4) / (1 - 1 / 4))


@expected(
    ALIGNED | {"duplicated": 1.0, "rotated": 1.0, "missing": 0.0, "noise": 0.0, "outlier": 0.992}
)
def test_linearity_of_reference_representations(name, value):
    assert float(linearity(*get(name))) == pytest.approx(value, abs=0.001)


@expected(
    ALIGNED
    | {"duplicated": COPIED, "rotated": TURNED, "missing": 0.0, "noise": 0.0, "outlier": 0.992}
)
def test_axis_alignment_of_reference_representations(name, value):
    assert float(axis_alignment(*get(name))) == pytest.approx(value, abs=0.001)


@expected(
    ALIGNED | {"duplicated": COPIED, "rotated": TURNED, "missing": 0.0, "noise": 0.0, "outlier": 1}
)
def test_orientation_of_reference_representations(name, value):
    assert float(orientation(*get(name))) == pytest.approx(value, abs=0.001)


def cross(first, second, angle):
    """One traversal whose covariance has the given eigenvalues, turned by the angle."""
    long, short = math.sqrt(first), math.sqrt(second)
    points = np.array([[long, 0], [-long, 0], [0, short], [0, -short]] * 3)
    c, s = math.cos(angle), math.sin(angle)
    return points @ np.array([[c, s], [-s, c]]), np.arange(12)[:, None]


@given(st.floats(0.1, 10), st.floats(0.01, 0.99), st.floats(-4, 4))
@settings(max_examples=30)
def test_two_codes_in_closed_form(first, share, angle):
    """(l1 - l2) / (l1 + l2), that times |cos 2 angle|, and |cos 2 angle|."""
    second = share * first
    found = [score(*cross(first, second, angle), protocol="paper") for score in SCORES]
    line, turn = (first - second) / (first + second), abs(math.cos(2 * angle))
    assert [float(score) for score in found] == pytest.approx([line, line * turn, turn], abs=1e-9)
    raw = [score[f"{score.name}.raw"] for score in found]
    high, diagonal = (1 + line) / 2, (1 + line * turn) / 2
    assert raw == pytest.approx([high, diagonal, diagonal / high], abs=1e-9)


@given(st.integers(0, 1000), st.integers(2, 6))
@settings(max_examples=10)
def test_bounds_on_any_codes(seed, width):
    codes = np.random.default_rng(seed).normal(size=(SPACE.size, width))
    values = factors()[: SPACE.size]
    line, axis, turn = (score(codes, values, protocol="paper") for score in SCORES)
    assert (axis.parts["per_factor"] <= line.parts["per_factor"] + 1e-12).all()
    assert (axis.parts["per_factor_raw"] >= 1 / width).all()
    assert float(turn) == pytest.approx(float(axis) / float(line))


def test_units_that_a_vae_has_pruned_count_as_little_as_they_move():
    """Their means still follow the image by a hundredth; each alone tells the factors."""
    codes, values = perfect(), factors()
    pruned = 0.01 * codes @ np.random.default_rng(3).normal(size=(codes.shape[1], 20))
    both = np.concatenate([codes, pruned], axis=1)
    for protocol in ("paper", "unknot"):
        assert axis_alignment(both, values, protocol=protocol)["axis_alignment"] > 0.95
        assert linearity(both, values, protocol=protocol)["linearity"] > 0.95
        score = distance_correlation(both, values, protocol=protocol)
        assert float(score) > 0.95
        alone = distance_correlation(codes, values, protocol=protocol)
        for name in ("global", "global_linear"):
            full = f"distance_correlation.{name}"
            assert score[full] == pytest.approx(alone[full], abs=0.02)


def test_a_ball_has_no_line_as_traversals_grow():
    """Normalised linearity of isotropic points falls with their number towards 0."""
    rng = np.random.default_rng(0)
    found = []
    for n in (10, 100, 10_000):
        values = np.arange(n)[:, None]
        found.append(float(linearity(rng.normal(size=(n, 3)), values, protocol="paper")))
    assert found[0] > found[1] > found[2]
    assert found[2] < 0.03


def test_traversals_shorter_than_the_codes_keep_their_normaliser():
    """Two points lie on a line: of five codes one direction holds everything."""
    rng = np.random.default_rng(0)
    values = np.repeat([[0], [1]], 10, axis=0)
    codes = np.repeat(rng.normal(size=(2, 5)), 10, axis=0)
    assert float(linearity(codes, values, protocol="paper")) == pytest.approx(1)
    share = (codes[0] - codes[-1]) ** 2
    share = share.max() / share.sum()
    expected_ = (share - 1 / 5) / (1 - 1 / 5)
    assert float(axis_alignment(codes, values, protocol="paper")) == pytest.approx(expected_)


def test_the_two_largest_alone():
    codes, values = (
        np.random.default_rng(0).normal(size=(12, 3)) * [3, 2, 1],
        np.arange(12)[:, None],
    )
    two = replace(PAPER, components="top2")
    eigen = np.linalg.eigvalsh(np.cov(codes.T, bias=True))[1:]
    line = linearity(codes, values, protocol=two)
    assert line["linearity.raw"] == pytest.approx(eigen[1] / eigen.sum())
    assert float(line) == pytest.approx((eigen[1] - eigen[0]) / eigen.sum())
    variances = np.sort(codes.var(0))[1:]
    axis = axis_alignment(codes, values, protocol=two)
    assert float(axis) == pytest.approx((variances[1] - variances[0]) / variances.sum())


@pytest.mark.parametrize("protocol", ["paper", "unknot"])
@pytest.mark.parametrize("score", SCORES)
def test_a_grid_and_its_rows_agree(score, protocol):
    codes = np.hstack([perfect(), np.sin(3 * perfect()[:, :2])])[: SPACE.size]
    grid = Representation.whole(SPACE, torch.from_numpy(codes))
    on_grid = score(grid, protocol=protocol)
    on_rows = score(codes, factors()[: SPACE.size], protocol=protocol)
    assert list(on_grid.values.values()) == pytest.approx(list(on_rows.values.values()))


def test_a_lazy_grid_encodes_only_what_is_walked():
    asked = []

    def encode(index):
        asked.append(len(index))
        return space.factors(index).double()

    space = FactorSpace(("a", "b", "c", "d"), (30, 30, 30, 1), ("ordered",) * 4)
    score = axis_alignment(Representation.lazy(space, 4, encode))
    assert float(score) == pytest.approx(1)
    assert score.protocol["factors"] == ("a", "b", "c")
    assert sum(asked) < 27_000
    few = replace(UNKNOT, traversals=3)
    assert float(axis_alignment(Representation.lazy(space, 4, encode), protocol=few)) == 1


def test_traversals_of_a_grid():
    index = grid_traversals(SPACE, 1, 7, seed=3)
    assert index.shape == (7, 4)
    values = SPACE.factors(index)
    assert torch.equal(values[..., 1], torch.arange(4).expand(7, 4))
    assert (values[:, :, [0, 2, 3]] == values[:, :1, [0, 2, 3]]).all()
    every = grid_traversals(SPACE, 1, 1000, seed=3)
    assert torch.equal(every.flatten().sort().values, torch.arange(SPACE.size))


def test_traversals_of_rows():
    """Only groups with half of the values count, and no more of them than wanted."""
    values = np.array([[0, k] for k in range(8)] + [[1, k] for k in range(4)] + [[2, 0], [2, 1]])
    of = points(take(np.arange(14.0)[:, None], values, samples=None, seed=0), dead="counted")
    steps = traversals(of, 1, 10)
    assert steps.index.tolist() == list(range(12))
    assert steps.group.tolist() == [0] * 8 + [1] * 4
    assert len(set(traversals(of, 1, 1).group.tolist())) == 1
    assert traversals(of, 0, 10).index.tolist() == [0, 8, 12, 1, 9, 13, 2, 10, 3, 11]
    with pytest.raises(DataError, match="Too few rows to move factor 0 alone"):
        linearity(np.arange(20.0)[:, None], np.stack([np.arange(20), np.arange(20)], 1))


def test_pairs_along_traversals_are_uniform_and_stay_within_one():
    """Of 100 and of 30 rows: both rows of a pair are any of its traversal's, alike."""
    group = torch.tensor([0] * 100 + [1] * 30)
    first, second = pairs_along(Traversals(torch.arange(130), group), 130_000, 0, "factor")
    assert torch.equal(group[first], group[second])
    assert stats.chisquare(torch.bincount(first, minlength=130)).pvalue > 0.01
    inside = group[first] == 0
    assert stats.chisquare(torch.bincount(second[inside], minlength=100)).pvalue > 0.01
    assert stats.chisquare(torch.bincount(second[~inside] - 100, minlength=30)).pvalue > 0.01
    later = (second - first) % 100
    assert stats.chisquare(torch.bincount(later[inside], minlength=100)).pvalue > 0.01


def test_covariances_do_not_depend_on_chunks(monkeypatch):
    rng = np.random.default_rng(0)
    codes, group = torch.from_numpy(rng.normal(size=(90, 3))), torch.arange(90) // 30
    monkeypatch.setattr("unknot.metrics.parts.traversals.CHUNK", 7)
    for k, found in enumerate(covariances(codes, group)):
        alone = np.cov(codes[30 * k : 30 * k + 30].numpy().T, bias=True)
        np.testing.assert_allclose(found.numpy(), alone, atol=1e-12)


@pytest.mark.parametrize("score", [axis_alignment, linearity, orientation])
def test_the_interval_is_that_of_a_mean_over_traversals(score):
    """Shares of traversals are averaged, so that their standard error tells the width."""
    codes, values = get("rotated")
    codes = codes[::5] + 0.4 * np.random.default_rng(0).normal(size=codes[::5].shape)
    found = traversal_shares(take(codes, values[::5], samples=None, seed=0), PAPER)
    result = score(codes, values[::5], protocol="paper", interval=0.95)
    low, high = result.interval
    assert low < float(result) < high
    assert result.protocol["level"] == 0.95
    if score is not orientation:
        each = [share[0 if score is axis_alignment else 1] for share in found.by_factor]
        raw = found.axis if score is axis_alignment else found.line
        errors = [float(s.std() / len(s) ** 0.5) for s in each]
        slope = float(result) / len(raw) / (raw - 1 / found.size)
        width = 2 * 1.96 * np.linalg.norm(slope.numpy() * errors)
        assert high - low == pytest.approx(width, rel=0.2)


@pytest.mark.parametrize("score", [axis_alignment, linearity, orientation, distance_correlation])
def test_one_traversal_tells_nothing_about_others(score):
    values = np.arange(20)[:, None]
    with pytest.raises(DataError, match="several traversals, and there is one of factor 0"):
        score(values.astype(float), values, interval=0.9)


def test_half_of_the_traversals_are_whole_ones():
    index = torch.tensor([5, 6, 1, 2, 3, 9, 7, 8])
    steps = Traversals(index, torch.tensor([0, 0, 1, 1, 1, 2, 3, 3]))
    whole = {(5, 6), (1, 2, 3), (9,), (7, 8)}
    seen = set()
    for step in range(20):
        half = half_traversals(steps, "a", step, 0)
        assert half.group.unique().tolist() == [0, 1]
        parts = {tuple(half.index[half.group == g].tolist()) for g in range(2)}
        assert parts <= whole
        assert len(parts) == 2, "without replacement"
        seen.add(frozenset(parts))
    assert len(seen) > 3
