"""Chance levels: what codes that know nothing of the factors score."""

import pytest
import torch

from unknot import metrics
from unknot.core.factors import FactorSpace
from unknot.metrics.parts.chance import MARGIN, has_chance_level, measure_chance

SPACE = FactorSpace(("x", "y", "size"), (8, 8, 4), ("ordered", "ordered", "ordered"))


@pytest.mark.parametrize("metric", ["mig", "sap", "dci", "factor_vae"])
def test_a_shuffled_perfect_code_is_at_chance_and_a_perfect_one_is_not(metric):
    levels = measure_chance(metric, "unknot", SPACE, 3)
    chance = levels[metric]
    assert chance.level <= chance.limit - MARGIN
    factors = SPACE.factors(torch.arange(SPACE.size))
    order = torch.randperm(SPACE.size, generator=torch.Generator().manual_seed(0))
    score = getattr(metrics, metric)
    assert float(score(factors.double(), factors)) > chance.limit
    if metric != "factor_vae":  # which needs the code of every point of the grid
        shuffled = float(score(factors.double()[order], factors))
        assert shuffled == pytest.approx(chance.level, abs=0.06)


def test_the_chance_of_a_classifier_is_far_from_zero():
    """FactorVAE's vote gets a factor right by luck in a third of cases."""
    chance = measure_chance("factor_vae", "study2019", SPACE, 3)["factor_vae"]
    assert 0.2 < chance.level < 0.6


def test_parts_have_levels_of_their_own():
    levels = measure_chance("dci", "unknot", SPACE, 4)
    assert {"dci.disentanglement", "dci.completeness", "dci.informativeness"} <= set(levels)


def test_it_is_the_same_whenever_it_is_measured():
    assert measure_chance("mig", "unknot", SPACE, 4) == measure_chance("mig", "unknot", SPACE, 4)


@pytest.mark.parametrize("name", ["active_units", "gaussian_tc", "elbo", "udr"])
def test_scores_without_factors_or_of_which_less_is_better_have_none(name):
    assert not has_chance_level(name)


def test_a_metric_that_does_not_apply_has_none():
    assert measure_chance("mig", "study2019_fast", SPACE, 4) == {}
