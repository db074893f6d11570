import numpy as np
import pytest
import torch

from metrics.representations import ALIGNED, SIZES, expected, factors, get, perfect
from unknot.core.errors import DataError
from unknot.core.factors import FactorSpace
from unknot.core.representation import Representation
from unknot.metrics import beta_vae
from unknot.metrics.parts.interventions import batches
from unknot.metrics.parts.learners import class_margins

SPACE = FactorSpace(("a", "b", "c", "d"), SIZES, ("ordered",) * 4)


@expected(
    ALIGNED | {"duplicated": 1.0, "rotated": 0.75, "missing": 1.0, "noise": 0.25, "outlier": 1.0}
)
def test_reference_representation(name, value):
    assert float(beta_vae(*get(name))) == pytest.approx(value, abs=0.03)


def test_one_missing_factor_goes_unnoticed():
    """The known flaw: with K - 1 factors encoded the score is still perfect."""
    codes, values = get("missing")
    for protocol in ("study2019", "carbonneau", "unknot"):
        assert float(beta_vae(codes, values, protocol=protocol)) > 0.99


def test_a_grid_and_its_rows_agree():
    codes = torch.from_numpy(perfect()[: SPACE.size])
    codes[:, 2], codes[:, 3] = codes[:, 2] + codes[:, 3], codes[:, 2] - codes[:, 3]
    grid = Representation.whole(SPACE, codes)
    values = factors()[: SPACE.size]
    by_grid, by_rows = (
        float(beta_vae(*data, protocol="study2019")) for data in ((grid,), (codes, values))
    )
    assert by_grid == pytest.approx(by_rows, abs=0.03)


def test_the_code_of_the_shared_factor_does_not_differ():
    table = beta_vae(*get("perfect"), protocol="study2019").parts["differences"]
    np.testing.assert_allclose(np.diag(table), 0, atol=1e-12)
    assert table[~np.eye(4, dtype=bool)].min() > 0.3


def test_chance_is_zero_when_rescaled():
    score = beta_vae(*get("noise"), protocol="carbonneau")
    assert float(score) == pytest.approx(0, abs=0.03)
    assert score["beta_vae.accuracy"] == pytest.approx(0.25, abs=0.03)


def test_constant_codes_are_a_guess():
    codes, values = get("perfect")
    score = beta_vae(np.ones_like(codes), values)
    assert float(score) == pytest.approx(0.25, abs=0.03)


def test_one_factor_is_always_named():
    codes, values = get("perfect")
    assert float(beta_vae(codes[:, :1], values[:, :1])) == 1


def test_the_paper_takes_codes_as_they_are():
    """A penalised classifier of all classes; small codes leave it nothing to hold on to."""
    codes, values = get("rotated")
    assert float(beta_vae(codes, values, protocol="paper")) == pytest.approx(0.75, abs=0.03)
    small = beta_vae(1e-5 * codes, values, protocol="paper")
    assert float(small) < 0.5
    assert float(beta_vae(1e-5 * codes, values)) == pytest.approx(0.75, abs=0.03)


def test_codes_beyond_the_classifier_are_refused():
    """Its solver would never end."""
    codes, values = get("perfect")
    for protocol in ("study2019", "paper", "carbonneau", "kumar"):
        with pytest.raises(DataError, match="cannot be classified"):
            beta_vae(1e40 * codes, values, protocol=protocol)
    assert float(beta_vae(1e40 * codes, values)) == 1


def test_two_factors_are_classified_as_well():
    """Noise names one of two factors no better than a coin."""
    values = factors()[:, :2]
    noise = np.random.default_rng(0).normal(size=(len(values), 2))
    assert float(beta_vae(noise, values)) == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize(
    ("name", "value"), [("perfect", 1.0), ("missing", 1.0), ("rotated", 0.75), ("noise", 0.25)]
)
def test_support_vector_machines_of_kumar(name, value):
    score = beta_vae(*get(name), protocol="kumar")
    assert float(score) == pytest.approx(value, abs=0.05)


def test_each_factor_has_as_many_points():
    counts = torch.zeros(3)
    for factor, _ in batches(3, 3_300, 0, "any", balanced=True):
        counts += factor.bincount(minlength=3)
    assert counts.tolist() == [1_100] * 3


def test_machines_are_those_of_one_factor_against_the_rest():
    """The decision of three problems of two classes, each solved by itself."""
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    x = torch.from_numpy(np.eye(3)[y] + 0.5 * rng.normal(size=(300, 3)))
    classes, margins, _ = class_margins(x, y, x, c=0.01, seed=0)
    alone = [class_margins(x, (y == c).astype(int), x, c=0.01, seed=0)[1][:, 1] for c in classes]
    torch.testing.assert_close(margins, torch.stack(alone, dim=1), atol=2e-3, rtol=0)


def test_few_rows_are_no_doubt_of_an_accuracy():
    """Counts of the codes only say which are dead; that there are few cells does not matter."""
    codes, values = get("perfect")
    score = beta_vae(codes[:300], values[:300])
    assert not any("overestimated" in remark for remark in score.remarks)
    dead = np.concatenate([codes, np.zeros((len(codes), 1))], axis=1)
    assert any("1 of" in remark for remark in beta_vae(dead, values).remarks)
