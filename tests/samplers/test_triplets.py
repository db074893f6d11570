"""Triplets: ordered as exact arithmetic orders them, by each of five distances."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from unknot.core import noise
from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError
from unknot.core.factors import FactorSpace
from unknot.data.parts.images import Bytes
from unknot.data.xysquares import XYSquares
from unknot.samplers.singles import Singles
from unknot.samplers.triplets import Triplets

CPU = torch.device("cpu")
SIZES = (5, 8, 3, 2, 4)


def grid(*sizes, kinds=None, names="abcdef"):
    space = FactorSpace(tuple(names[: len(sizes)]), sizes, kinds or ("ordered",) * len(sizes))
    stored = noise.integers(0, "images", 0, space.size, 3, 2, 2, high=256).to(torch.uint8)
    return FactorDataset("grid", space, Bytes(stored))


def ordered(triplets, data, n, seed=0):
    return triplets.bind(data, CPU)(seed, 0, n).reshape(3, n)


def as_drawn(data, n, seed=0):
    """The three rows before they are ordered."""
    return Singles().bind(data, CPU)(seed, 0, 3 * n).reshape(3, n)


def fractions(data, rows):
    """Both distances of each triplet, as exact fractions."""
    sizes = data.space.sizes
    a, p, n = (data.space.factors(view).tolist() for view in rows)

    def distance(u, v):
        parts = zip(u, v, sizes, strict=True)
        return sum((Fraction(abs(x - y), size - 1) for x, y, size in parts), Fraction(0))

    return [(distance(*ap), distance(*an)) for ap, an in zip(zip(a, p), zip(a, n), strict=True)]  # noqa: B905


@pytest.mark.parametrize("data", [XYSquares().load(), grid(*SIZES)], ids=["xysquares", "grid"])
def test_scaled_distances_are_compared_exactly(data):
    """Two rows change places where fractions say so, and nowhere else."""
    n = 5_000
    before, after = as_drawn(data, n), ordered(Triplets(order="scaled"), data, n)
    swap = torch.tensor([near > far for near, far in fractions(data, before)])
    assert 0.4 < swap.double().mean() < 0.6
    expected = torch.stack([before[0], *before[1:]])
    expected[1:, swap] = before[1:, swap].flip(0)
    assert torch.equal(after, expected)
    assert all(near <= far for near, far in fractions(data, after))


def test_sums_of_rounded_fractions_order_more_than_one_percent_wrongly():
    """What exactness is for: 1.2 % of the swaps of XYSquares triplets differ in IEEE doubles.

    Michlo 2022, 5.2.4, reports 1.4 % and scores that suffer; 2.4 % differ if ties are counted too.
    """
    data, n = XYSquares().load(), 100_000
    a, p, other = data.space.factors(as_drawn(data, n)).numpy()

    def rounded(u, v):
        total = np.zeros(n)
        for factor in range(6):
            total = total + np.abs(u[:, factor] - v[:, factor]) / 7
        return total

    near, far = rounded(a, p), rounded(a, other)
    exact = np.abs(a - p).sum(1) - np.abs(a - other).sum(1)
    wrong = ((near > far) != (exact > 0)).mean()
    assert wrong == pytest.approx(0.012, abs=0.0015)
    wrong_sign = (np.sign(near - far) != np.sign(exact)).mean()
    assert wrong_sign == pytest.approx(0.024, abs=0.002)


def tie_share():
    """How likely three uniform rows of an 8^6 grid are tied, by exact convolution."""
    values = np.arange(8)
    a, p, n = np.meshgrid(values, values, values, indexing="ij")
    one = np.bincount((np.abs(a - p) - np.abs(a - n)).ravel() + 7) / 8**3
    every = np.ones(1)
    for _ in range(6):
        every = np.convolve(every, one)
    return every[len(every) // 2]


def test_ties_are_six_percent_of_xysquares_and_stay_in_the_order_drawn():
    data, n = XYSquares().load(), 200_000
    exact = tie_share()
    assert exact == pytest.approx(0.063, abs=0.0005)
    distance = Triplets().distance(data, CPU)
    a, p, other = ordered(Triplets(), data, n)
    tied = distance(a, p) == distance(a, other)
    assert abs(tied.double().mean() - exact) < 4 * (exact / n) ** 0.5
    before = as_drawn(data, n)
    assert torch.equal(torch.stack([a, p, other])[:, tied], before[:, tied])


def test_redrawn_ties_leave_strict_order():
    data, n = XYSquares().load(), 200_000
    triplets = Triplets(ties="redrawn")
    distance = triplets.distance(data, CPU)
    a, p, other = ordered(triplets, data, n)
    assert (distance(a, p) < distance(a, other)).all()
    before, was = as_drawn(data, n), ordered(Triplets(), data, n)
    untied = distance(before[0], before[1]) != distance(before[0], before[2])
    assert torch.equal(torch.stack([a, p, other])[:, untied], was[:, untied])


def test_of_ties_as_likely_as_not_two_in_a_thousand_stay():
    """A factor of two values is the same or different for both others in half of the triplets."""
    triplets = Triplets(order="factors", ties="redrawn")
    data, n = grid(2), 200_000
    distance = triplets.distance(data, CPU)
    a, p, other = ordered(triplets, data, n)
    stay = (distance(a, p) == distance(a, other)).double().mean().item()
    assert abs(stay - 0.5**9) < 4 * (0.5**9 / n) ** 0.5


def test_redrawn_triplets_are_uniform_among_those_without_a_tie():
    data, n = grid(4), 100_000
    a, p, other = ordered(Triplets(ties="redrawn"), data, n)
    counts = torch.bincount(a * 16 + p * 4 + other, minlength=64).reshape(4, 4, 4)
    allowed = torch.tensor(
        [[[abs(a - p) < abs(a - o) for o in range(4)] for p in range(4)] for a in range(4)]
    )
    values = torch.arange(4)
    apart = (values[:, None] - values).abs()
    tie = (apart[:, :, None] == apart[:, None]).double().mean().item()
    assert counts[~allowed].sum() <= n * tie**9 + 4 * (n * tie**9) ** 0.5
    assert chisquare(counts[allowed]).pvalue > 1e-3


HAND = [
    # order, settings, values of two rows, their distance: in parts of lcm(4, 7, 2, 1, 3) = 84
    ("category", {"factor": "b"}, (0, 3, 1, 0, 2), (4, 3, 0, 1, 0), 0),
    ("category", {"factor": "b"}, (0, 3, 1, 0, 2), (0, 7, 1, 0, 2), 1),
    ("factors", {}, (0, 3, 1, 0, 2), (4, 3, 0, 1, 2), 3),
    ("factors", {}, (0, 3, 1, 0, 2), (0, 3, 1, 0, 2), 0),
    ("distance", {}, (0, 3, 1, 0, 2), (4, 3, 0, 1, 0), 4 + 0 + 1 + 1 + 2),
    ("distance", {}, (4, 0, 0, 0, 0), (0, 7, 0, 0, 0), 4 + 7),
    ("scaled", {}, (0, 3, 1, 0, 2), (4, 3, 0, 1, 0), 84 + 0 + 42 + 84 + 56),
    ("scaled", {}, (1, 0, 0, 0, 0), (0, 1, 0, 0, 1), 21 + 12 + 28),
    ("scaled", {}, (0, 0, 0, 0, 0), (4, 7, 2, 1, 3), 5 * 84),
]


@pytest.mark.parametrize(("order", "settings", "u", "v", "expected"), HAND)
def test_distances_by_hand(order, settings, u, v, expected):
    data = grid(*SIZES)
    a, b = data.space.index(torch.tensor([u, v]))
    distance = Triplets(order=order, **settings).distance(data, CPU)
    for rows in ((a, b), (b, a)):
        found = distance(*(row.reshape(1) for row in rows))
        assert found.dtype == torch.int64
        assert found.item() == expected


def test_a_cyclic_factor_counts_as_an_ordered_one():
    data = grid(40, kinds=("cyclic",))
    distance = Triplets(order="distance").distance(data, CPU)
    assert distance(torch.tensor([0]), torch.tensor([39])).item() == 39


@pytest.mark.parametrize("standardize", [False, True])
def test_images_are_compared_by_their_mean_squared_error(standardize):
    """As drawn, the nearer image first by an independent sum; channels weigh as they are given."""
    data, n = grid(*SIZES), 3_000
    if standardize:
        data = replace(data, mean=(0.1, 0.5, 0.2), std=(0.01, 1.0, 7.0))
    rows = as_drawn(data, n)
    images = data.batch(rows).double().numpy()
    near, far = (np.square(images[0] - images[i]).mean((1, 2, 3)) for i in (1, 2))
    # Equal images apart, no two distances of noise come near each other.
    clear = np.abs(near - far) > 1e-6 * (near + far)
    assert clear.mean() > 0.99
    after = ordered(Triplets(order="recon"), data, n)
    swapped = torch.tensor(near > far)
    expected = torch.stack([rows[0], rows[1].where(~swapped, rows[2]),
                            rows[2].where(~swapped, rows[1])])  # fmt: skip
    assert torch.equal(after[:, clear], expected[:, clear])


def test_images_of_xysquares_are_as_far_apart_as_squares_have_moved():
    """Each of the three squares that moves adds 128 / 12288: ties are ties, to the last bit."""
    data, n = XYSquares().load(), 500
    rows = as_drawn(data, n)
    found = Triplets(order="recon").distance(data, CPU)(rows[0], rows[1])
    a, b = data.space.factors(rows[0]), data.space.factors(rows[1])
    moved = (a != b).unflatten(-1, (3, 2)).any(-1).sum(-1)
    assert torch.equal(found, (128.0 * moved).sqrt())


@given(
    order=st.sampled_from(["factors", "distance", "scaled", "recon"]),
    ties=st.sampled_from(["kept", "redrawn"]),
    sizes=st.lists(st.integers(2, 6), min_size=1, max_size=5),
    seed=st.integers(0, 2**63 - 1),
)
def test_the_positive_is_never_farther_than_the_negative(order, ties, sizes, seed):
    data, triplets = grid(*sizes), Triplets(order=order, ties=ties)
    a, p, n = ordered(triplets, data, 40, seed=seed)
    distance = triplets.distance(data, CPU)
    assert (distance(a, p) <= distance(a, n)).all()


def test_anchors_are_uniform_over_the_grid():
    data = grid(*SIZES)
    a, _, _ = ordered(Triplets(), data, 100_000)
    assert chisquare(torch.bincount(a, minlength=len(data))).pvalue > 1e-3


def test_images_without_factors_have_triplets_by_image_alone():
    data = grid(9, kinds=("nominal",), names=["index"])
    assert ordered(Triplets(order="recon"), data, 5).shape == (3, 5)
    for triplets in (Triplets(), Triplets(order="category", factor="index")):
        with pytest.raises(ConfigError) as caught:
            triplets.bind(data, CPU)
        assert str(caught.value) == (
            f"Triplets by '{triplets.order}' compare factors and grid has none; "
            "give labels, or add 'factors' to its file, or take order 'recon'."
        )


def test_triplets_that_cannot_be_are_refused():
    for name, value, hint in (
        ("order", "scale", "; did you mean"),
        ("ties", "no", "; known: kept"),
    ):
        wrong = Triplets()
        object.__setattr__(wrong, name, value)  # past the tests' own check of types
        with pytest.raises(ConfigError, match=rf"^Triplets\.{name} has no choice '{value}'{hint}"):
            wrong.__post_init__()
    with pytest.raises(ConfigError, match="got factor None and order 'category'"):
        Triplets(order="category")
    with pytest.raises(ConfigError, match="got factor 'a' and order 'scaled'"):
        Triplets(factor="a")
    with pytest.raises(ConfigError, match=r"'b' is no factor with several values; known: a, c\.$"):
        Triplets(order="category", factor="b").bind(grid(3, 1, 4), CPU)
    with pytest.raises(ConfigError, match=r"'shap' is no factor .*; did you mean 'shape'\?"):
        Triplets(order="category", factor="shap").bind(grid(3, 4, names=["shape", "x"]), CPU)


def test_a_factor_of_one_value_counts_nothing():
    alike = ordered(Triplets(), grid(3, 4), 50), ordered(Triplets(), grid(3, 1, 4), 50)
    assert torch.equal(*alike)


def test_sizes_whose_common_multiple_is_beyond_64_bits_are_refused():
    sizes = [prime + 1 for prime in (251, 241, 239, 233, 229, 227, 223, 211)]
    space = FactorSpace(tuple("abcdefgh"), tuple(sizes), ("ordered",) * 8)
    data = FactorDataset("huge", space, XYSquares().load().images)
    with pytest.raises(ConfigError, match="more than 64 bits hold; take order 'distance'"):
        Triplets(order="scaled").bind(data, CPU)
