from dataclasses import replace

import numpy as np
import pytest
import torch

from metrics.representations import ALIGNED, expected, get
from unknot.core.errors import ConfigError, DataError
from unknot.core.factors import FactorSpace
from unknot.core.representation import Representation
from unknot.metrics import sap
from unknot.metrics.sap import PROTOCOLS, correlated_groups


@expected(
    ALIGNED | {"duplicated": 0.0, "rotated": 0.5, "missing": 0.75, "noise": 0.0, "outlier": 0.996}
)
def test_reference_representation(name, value):
    assert float(sap(*get(name))) == pytest.approx(value, abs=0.01)


@pytest.mark.parametrize(
    ("name", "value"),
    [("perfect", 1.0), ("constant", 1.0), ("duplicated", 0.0), ("rotated", 0.5), ("outlier", 0.64)],
)
def test_reference_representation_under_the_paper(name, value):
    assert float(sap(*get(name), protocol="paper")) == pytest.approx(value, abs=0.03)


def test_a_perfect_code_is_far_from_one_in_the_study():
    """One line cannot name six ordered values, let alone forty."""
    assert 0.3 < float(sap(*get("perfect"), protocol="study2019")) < 0.6
    assert float(sap(*get("duplicated"), protocol="study2019")) == pytest.approx(0, abs=1e-9)


def test_the_kind_of_a_factor_chooses_the_predictor():
    """Categories in the order 1, 0, 2 along the code: thresholds see them, a line does not."""
    values = np.stack([np.arange(900) % 3, np.arange(900) // 3 % 2], axis=1)
    codes = np.stack([np.array([0.0, -1.0, 1.0])[values[:, 0]], values[:, 1]], axis=1)
    kinds = ("nominal", "ordered")
    assert sap(codes, values, kinds=kinds).parts["table"][0, 0] == pytest.approx(1)
    assert sap(codes, values).parts["table"][0, 0] == pytest.approx(0.25)
    space = FactorSpace(("category", "size"), (3, 2), kinds)
    grid = Representation.whole(space, torch.tensor([[c, s] for c in (0, -1, 1) for s in (0.0, 1)]))
    assert sap(grid, protocol="paper").parts["table"][0, 0] == pytest.approx(1)


def test_no_predictor_is_better_than_perfect():
    """Shares of classes of 23 rows each add up to 1 and a trace more."""
    level = (np.arange(460) % 20)[:, None]
    score = sap(level.astype(float), level, kinds=("nominal",))
    assert float(score) <= 1
    assert float(score) == pytest.approx(1)


@pytest.mark.parametrize("unit", [1e-300, 1e-170, 1e170, 1e300])
@pytest.mark.parametrize("kind", ["ordered", "nominal"])
def test_the_unit_of_codes_does_not_count(unit, kind):
    codes, values = get("rotated")
    plain, scaled = (sap(u * codes, values, kinds=(kind,) * 4) for u in (1, unit))
    assert float(plain) > 0.01
    assert float(scaled) == pytest.approx(float(plain))


def test_a_constant_code_predicts_nothing_though_its_mean_is_rounded():
    level = np.tile([0, 1, 2], 100)[:, None]
    codes = np.full((300, 1), 0.1)
    assert codes.var() > 0
    assert float(sap(codes, level, kinds=("nominal",))) == 0


def test_options_that_do_not_apply_are_refused():
    codes, values = get("perfect")
    with pytest.raises(ConfigError, match="under 'study2019' takes no `interval`"):
        sap(codes, values, protocol="study2019", interval=0.9)
    with pytest.raises(ConfigError, match="under 'study2019' takes no `kinds`"):
        sap(codes, values, protocol="study2019", kinds=("nominal",) * 4)
    with pytest.raises(ConfigError, match="one kind of"):
        sap(codes, values, kinds=("nominal",))
    with pytest.raises(ConfigError, match="one kind of"):
        sap(codes, values, kinds=("round",) * 4)


def test_a_test_set_is_used_by_the_study_and_mentioned_elsewhere():
    codes, values = get("perfect")
    score = sap(codes, values, protocol="study2019", test=(codes[:100], values[:100]))
    assert score.protocol["test_rows"] == 100
    assert "not used" in sap(codes, values, test=(codes, values)).remarks[0]


def test_codes_beyond_a_support_vector_machine_are_refused():
    """Its solver would never end."""
    codes, values = get("perfect")
    with pytest.raises(DataError, match="cannot be fitted to codes above 1e\\+30"):
        sap(1e40 * codes, values, protocol="study2019")
    assert float(sap(1e40 * codes, values)) == pytest.approx(1)


def test_a_threshold_of_variance_takes_codes_out():
    """A code of deviation 0.1 leads by 1 until it counts as dead, under every estimator."""
    codes, values = get("perfect")
    codes = codes * [0.1, 1.0, 1.0, 1.0]
    for protocol in ("paper", "unknot"):
        kept, cut = (
            sap(codes, values, protocol=replace(PROTOCOLS[protocol], dead=dead))
            for dead in (0.0025, 0.04)
        )
        assert float(kept) == pytest.approx(1)
        np.testing.assert_allclose(cut.parts["per_factor"], [0, 1, 1, 1], atol=1e-9)
    study = replace(PROTOCOLS["study2019"], dead=0.04)
    assert (sap(codes, values, protocol=study).parts["table"][0] == 0).all()


def test_latents_that_share_a_factor_are_one_group():
    """Kumar's remedy: a factor in two latents has a gap of 0 between them, and 1 between groups."""
    score = sap(*get("duplicated"), protocol=replace(PROTOCOLS["unknot"], groups=0.5))
    assert float(score) == pytest.approx(1, abs=1e-9)
    assert score["sap.groups"] == 4
    assert float(sap(*get("duplicated"))) == pytest.approx(0, abs=1e-9)
    alone = sap(*get("rotated"), protocol=replace(PROTOCOLS["unknot"], groups=0.5))
    assert alone["sap.groups"] == 4
    assert float(alone) == pytest.approx(float(sap(*get("rotated"))))


def test_a_chain_of_correlations_is_one_group():
    a, b, c = np.random.default_rng(0).normal(size=(3, 500))
    codes = torch.from_numpy(np.stack([a, b, a + c, c, -c - 0.5 * b], axis=1))
    assert correlated_groups(codes, 0.6).tolist() == [0, 1, 0, 0, 0]
    assert correlated_groups(codes, 0.99).tolist() == [0, 1, 2, 3, 4]
