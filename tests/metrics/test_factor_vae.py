from dataclasses import replace

import numpy as np
import pytest
import torch

from metrics.representations import ALIGNED, SIZES, expected, factors, get, perfect
from unknot.core.factors import FactorSpace
from unknot.core.representation import Representation
from unknot.metrics import factor_vae
from unknot.metrics.factor_vae import PROTOCOLS, Settings

NAMES = ("a", "b", "c", "d")
SPACE = FactorSpace(NAMES, SIZES, ("ordered",) * 4)
# A vote fails when one of its 64 points is an outlier of the code that is held.
OUTLIER = (1 - 0.001) ** 64


@expected(
    ALIGNED
    | {"duplicated": 1.0, "rotated": 0.75, "missing": 0.75, "noise": 0.0, "outlier": OUTLIER}
)
def test_reference_representation(name, value):
    assert float(factor_vae(*get(name))) == pytest.approx(value, abs=0.025)


def test_a_grid_and_its_rows_agree():
    codes = torch.from_numpy(perfect()[: SPACE.size])
    codes[:, 2] += codes[:, 3]
    grid = Representation.whole(SPACE, codes)
    by_grid, by_rows = factor_vae(grid), factor_vae(codes, factors()[: SPACE.size])
    assert float(by_grid) == pytest.approx(float(by_rows), abs=0.03)
    lazy = Representation.lazy(SPACE, 4, lambda index: codes[index])
    np.testing.assert_array_equal(factor_vae(lazy).parts["votes"], by_grid.parts["votes"])


@pytest.mark.parametrize("protocol", ["study2019", "paper", "carbonneau", "unknot"])
def test_a_constant_code_does_not_win_every_vote(protocol):
    """0 / 0 in the smallest variance takes a perfect code from 1.00 to 0.18."""
    score = factor_vae(*get("constant"), protocol=protocol)
    assert float(score) == pytest.approx(1, abs=0.001)
    assert score.parts["votes"][0].sum() == 0


def test_a_constant_code_never_counts_even_without_pruning():
    score = factor_vae(*get("constant"), protocol=Settings(votes=500, eval_votes=500, dead=0.0))
    assert float(score) == 1


def test_active_codes_are_counted_and_not_the_length_of_the_mask():
    assert factor_vae(*get("dead_last"), protocol="study2019")["factor_vae.active"] == 4
    assert factor_vae(*get("constant"))["factor_vae.active"] == 4


def test_nothing_alive_scores_zero():
    codes, values = get("perfect")
    score = factor_vae(0.001 * codes, values, protocol="study2019")
    assert list(score.values.values()) == [0] * 5
    assert "4 of 4 latents are dead" in score.remarks[0]


def test_dropping_by_scale_is_not_for_the_default():
    codes, values = get("perfect")
    assert float(factor_vae(0.001 * codes, values)) == 1


@pytest.mark.parametrize("unit", [1e-310, 1e-170, 1e170, 1e307])
def test_the_unit_of_codes_does_not_count(unit):
    """Squares of such codes are 0 or infinite."""
    codes, values = get("rotated")
    codes[:, 0] *= unit
    for given in (codes, unit * get("rotated")[0]):
        assert float(factor_vae(given, values)) == float(factor_vae(*get("rotated")))


def test_powers_of_two_change_no_vote():
    codes, values = get("rotated")
    scaled = factor_vae(codes * 2.0 ** np.array([9, -9, 40, 0]), values)
    np.testing.assert_array_equal(scaled.parts["votes"], factor_vae(codes, values).parts["votes"])
    variances = codes.var(0, ddof=1) * 4.0 ** np.array([9, -9, 40, 0])
    assert scaled.parts["variances"] == pytest.approx(variances)


def test_votes_add_up_and_chance_is_zero_when_rescaled():
    score = factor_vae(*get("rotated"), protocol="study2019")
    assert score.parts["votes"].sum() == 10_000
    assert score.parts["eval_votes"].sum() == 5_000
    accuracy = score["factor_vae.accuracy"]
    assert score["factor_vae.rescaled"] == pytest.approx((accuracy - 0.25) / 0.75)
    carbonneau = factor_vae(*get("noise"), protocol="carbonneau")
    assert float(carbonneau) == pytest.approx(0, abs=0.1)
    assert float(carbonneau) == carbonneau["factor_vae.rescaled"]


def test_the_seed_decides():
    votes = [
        factor_vae(*get("rotated"), seed=seed, protocol="paper").parts["votes"]
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(votes[0], votes[1])
    assert not np.array_equal(votes[0], votes[2])


def test_a_near_rotation_is_not_noticed():
    """The score's own weakness: some code stands stillest, and that is enough."""
    codes, values = get("perfect")
    a, b = codes[:, 2].copy(), codes[:, 3].copy()
    codes[:, 2], codes[:, 3] = a + 0.3 * b, b - 0.3 * a
    assert float(factor_vae(codes, values)) > 0.99


def test_collapsed_codes_can_win_votes_unless_they_are_left_out():
    """Three of five factors of dSprites: 0.59, or 0.78 with seven collapsed codes (Mushom 2020).

    The votes of the other two factors go to codes of noise, and most of a code's are of one factor.
    """
    sizes = (3, 6, 40, 32, 32)
    space = FactorSpace(("shape", "scale", "angle", "x", "y"), sizes, ("ordered",) * 5)

    def encode(index):
        known = space.factors(index)[:, [1, 3, 4]].double()
        noise = torch.from_numpy(
            np.random.default_rng(int(index.sum())).normal(size=(len(index), 7))
        )
        return torch.cat([known / known.new_tensor([6, 32, 32]), 0.001 * noise], dim=1)

    grid = Representation.lazy(space, 10, encode)
    short = replace(PROTOCOLS["study2019"], votes=2_000, eval_votes=2_000)
    assert float(factor_vae(grid, protocol=short)) == pytest.approx(0.59, abs=0.03)
    every = factor_vae(grid, protocol=replace(short, dead=0.0))
    assert float(every) == pytest.approx(0.78, abs=0.03)
    assert every["factor_vae.active"] == 10
