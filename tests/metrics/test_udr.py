import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics import peers
from metrics.representations import get, perfect, permuted, rotated
from unknot.core.errors import ConfigError, DataError, ShapeError
from unknot.core.factors import FactorSpace
from unknot.core.representation import Representation
from unknot.metrics import udr
from unknot.metrics.udr import PROTOCOLS, Settings, agreement


@pytest.mark.parametrize("variant", ["lasso", "spearman"])
@pytest.mark.parametrize("case", peers.CASES)
def test_equals_the_reference(case, variant):
    """disentanglement_lib at 86a644d; its divergences were made from standard deviations."""
    theirs = peers.golden(case)["disentanglement_lib"][f"udr_{variant}"]
    models = list(peers.arrays(case)["udr_codes"])
    for kl in (None, list(np.array(theirs["matrices"]["kl"]))):
        ours = udr(models, kl=kl, protocol=Settings(similarity=variant))
        assert float(ours) == pytest.approx(theirs["scores"]["mean_model_score"], abs=1e-8)
        for part, value in (
            ("per_model", theirs["scores"]["model_scores"]),
            ("pairs", theirs["matrices"]["pairwise"]),
        ):
            np.testing.assert_allclose(ours.parts[part], value, atol=1e-8)


def test_the_paper_is_the_lasso():
    assert PROTOCOLS["paper"].similarity == "lasso"
    score = udr([perfect(), permuted()], protocol="paper")
    assert score.protocol["rows"] == 1_000
    assert score.protocol["models"] == 2
    assert "scikit_learn" in score.protocol


def test_models_equal_up_to_order_and_sign_agree_and_a_lasso_takes_alpha():
    models = [perfect(), permuted(), perfect() * [-1, 1, -1, 3]]
    assert float(udr(models)) == pytest.approx(1)
    for alpha in (0.1, 0.3):
        lasso = Settings(None, alpha=alpha)
        assert float(udr(models, protocol=lasso)) == pytest.approx(1 - alpha, abs=1e-9)


def test_a_rotated_model_in_closed_form():
    """Two codes of four see two codes each, at r: r^2 / 2 r each, in both directions."""
    score = udr([perfect(), permuted(), rotated()])
    with_ranks = score.parts["pairs"][0, 2]
    assert with_ranks == pytest.approx((2 + 2 * 0.5 / np.sqrt(2)) / 4, abs=0.02)
    # The two that agree are one another's better half: the median of two is their mean.
    assert score.parts["per_model"] == pytest.approx(
        [(1 + with_ranks) / 2, (1 + with_ranks) / 2, with_ranks]
    )
    np.testing.assert_allclose(score.parts["pairs"], score.parts["pairs"].T)


@given(st.integers(0, 1000), st.integers(2, 4), st.sampled_from(["lasso", "spearman"]))
@settings(max_examples=15)
def test_order_sign_and_unit_do_not_matter(seed, z, variant):
    """A lasso stops within a tolerance that depends on the order of codes: it keeps its order."""
    rng = np.random.default_rng(seed)
    source = rng.normal(size=(80, z))
    models = [*(source @ m for m in rng.normal(size=(2, z, z))), source]
    changed = []
    for codes in models:
        order = np.arange(z) if variant == "lasso" else rng.permutation(z)
        changed.append(codes[:, order] * rng.choice([-1, 1], z) * rng.uniform(1, 9, z) + 3)
    before, after = (
        udr(m, protocol=Settings(similarity=variant, deviation=1e-3)) for m in (models, changed)
    )
    np.testing.assert_allclose(before.parts["pairs"], after.parts["pairs"], atol=1e-9)


def test_agreement_in_closed_form():
    assert agreement(torch.eye(3)) == 1
    assert agreement(0.4 * torch.eye(3)) == pytest.approx(0.4)
    assert agreement(torch.ones(2, 4)).item() == pytest.approx((1 / 2 + 1 / 4) / 2)
    assert agreement(torch.zeros(2, 2)) == 0
    assert agreement(torch.zeros(0, 2)) == 0


@pytest.mark.parametrize("protocol", ["paper", "unknot"])
def test_dead_codes_are_left_out_by_deviation_or_divergence(protocol):
    live, rng = perfect(), np.random.default_rng(0)
    dead = [np.hstack([live, 0.01 * rng.normal(size=(len(live), 2))]) for _ in range(2)]
    alone, both = udr([live, live], protocol=protocol), udr(dead, protocol=protocol)
    assert float(both) == pytest.approx(float(alone), abs=1e-9)
    assert both.parts["active"].tolist() == [4, 4]
    kl = [np.array([1.0, 0.0, 1.0, 0.005, 1.0, 1.0])] * 2
    assert udr(dead, kl=kl, protocol=protocol).parts["active"].tolist() == [4, 4]
    assert float(udr(dead, kl=kl, protocol=protocol)) < float(both)


@pytest.mark.parametrize("protocol", ["paper", "unknot"])
def test_collapsed_models_agree_with_none(protocol):
    nothing = np.ones((len(perfect()), 3))
    score = udr([perfect(), nothing], protocol=protocol)
    assert float(score) == 0
    assert score.remarks == ("no code of 1 models counts, so that they agree with none",)
    kl = [np.ones(4), np.ones(3)]
    assert float(udr([perfect(), nothing], kl=kl, protocol=protocol)) == 0
    assert float(udr([perfect()[:, :1], perfect()[:, :1]], protocol=protocol)) > 0.85


def test_models_may_have_different_numbers_of_codes():
    score = udr([perfect(), perfect()[:, :2]])
    assert score.parts["pairs"][0, 1] == pytest.approx((1 + 0.5) / 2)


def test_noise_agrees_little():
    rng = np.random.default_rng(0)
    assert float(udr([rng.normal(size=(2_000, 4)) for _ in range(3)])) < 0.03


def test_representations_of_one_grid():
    space = FactorSpace(("a", "b", "c", "d"), (3, 4, 6, 6), ("ordered",) * 4)
    first = torch.from_numpy(perfect()[: space.size])
    grids = [Representation.whole(space, c) for c in (first, -first)]
    assert float(udr(grids)) == pytest.approx(1)
    assert float(udr(grids, protocol="paper")) == pytest.approx(0.9, abs=0.02)


def test_bad_models_are_errors():
    codes, _ = get("noise")
    with pytest.raises(ConfigError, match="at least two models; got 1"):
        udr([codes])
    with pytest.raises(ShapeError, match=r"same rows; got \[50, 60\]"):
        udr([codes[:50], codes[:60]])
    with pytest.raises(ConfigError, match="one kl for each model; got 1 for 2"):
        udr([codes, codes], kl=[np.ones(4)])
    with pytest.raises(ShapeError, match=r"Expected kl \[4\]"):
        udr([codes, codes], kl=[np.ones(4), np.ones(3)])
    with pytest.raises(DataError, match="NaN"):
        udr([codes, codes * np.nan])
