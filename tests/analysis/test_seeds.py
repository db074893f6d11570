import itertools

import numpy as np
import pytest
import torch
from metrics import study2019

from unknot.analysis import seeds_needed
from unknot.core.errors import ConfigError, DataError

# Dataset, score, two settings, and the probability that 1, 3, 5 and 10 seeds show the contrast.
PUBLISHED = [
    ("dsprites_full", "mig", ("beta_vae", 16), ("beta_vae", 1), (0.95, 1.00, 1.00, 1.00)),
    ("dsprites_full", "mig", ("beta_vae", 8), ("beta_vae", 1), (0.78, 0.94, 0.98, 1.00)),
    ("dsprites_full", "factor_vae", ("beta_tc_vae", 4), ("beta_vae", 1), (0.87, 0.97, 0.99, 1.00)),
    ("dsprites_full", "mig", ("beta_tc_vae", 6), ("beta_vae", 6), (0.88, 0.98, 1.00, 1.00)),
    ("dsprites_full", "dci.d", ("beta_tc_vae", 6), ("beta_vae", 6), (0.93, 0.99, 1.00, 1.00)),
    ("dsprites_full", "mig", ("factor_vae", 50), ("beta_vae", 1), (0.94, 1.00, 1.00, 1.00)),
    ("dsprites_full", "mig", ("annealed_vae", 5), ("annealed_vae", 100), (1, 1, 1, 1)),
    ("dsprites_full", "mig", ("dip_vae_i", 2), ("dip_vae_i", 50), (0.85, 0.99, 1.00, 1.00)),
    ("dsprites_full", "mig", ("dip_vae_i", 2), ("dip_vae_i", 1), (0.59, 0.67, 0.71, 0.79)),
    ("dsprites_full", "factor_vae", ("beta_vae", 1), ("dip_vae_ii", 5), (0.78, 0.91, 0.96, 1.00)),
    ("smallnorb", "mig", ("beta_vae", 1), ("beta_vae", 16), (1, 1, 1, 1)),
    ("cars3d", "dci.d", ("beta_vae", 16), ("beta_vae", 1), (1, 1, 1, 1)),
]


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: " ".join(map(str, row[:4])))
def test_the_published_models(row):
    dataset, score, first, second, published = row
    found = seeds_needed(
        study2019.seed_scores(dataset, *first, score),
        study2019.seed_scores(dataset, *second, score),
        most=10,
    )
    assert found.difference > 0
    ours = [found.probability[n - 1] for n in (1, 3, 5, 10)]
    assert ours == pytest.approx(published, abs=0.015)


def test_few_seeds_by_counting_all_draws():
    """Every way to draw two of three seeds with replacement, for both settings."""
    a, b = [0.1, 0.4, 0.6], [0.2, 0.3, 0.5]
    means = [[np.mean(pair) for pair in itertools.product(s, repeat=2)] for s in (a, b)]
    apart = np.array([x - y for x, y in itertools.product(*means)]).round(9)
    right = ((apart > 0) + 0.5 * (apart == 0)).mean()
    found = seeds_needed(a, b, most=2, draws=100_000)
    assert found.probability[1] == pytest.approx(right, abs=0.005)
    assert "a guess: 3 seeds" in found.remarks[0]


def test_normal_scores_against_the_normal_distribution():
    """A difference of one deviation: P(right) is Phi(sqrt(n / 2)), so that 6 seeds make 95 %."""
    quantiles = torch.special.ndtri((torch.arange(400) + 0.5) / 400).numpy()
    found = seeds_needed(quantiles + 1, quantiles)
    n = np.arange(1, 51)
    phi = torch.special.ndtr(torch.from_numpy(np.sqrt(n / 2)))
    assert found.probability == pytest.approx(phi.tolist(), abs=0.012)
    assert found.half_width == pytest.approx(list(1.96 * np.sqrt(2 / n)), rel=0.04)
    assert found.needed == 6
    assert found.difference == pytest.approx(1)
    assert repr(found) == "difference +1.0000: 6 seeds for 95 %"
    assert seeds_needed(quantiles, quantiles + 1).probability == pytest.approx(
        found.probability, abs=0.012
    )


def test_what_no_number_of_seeds_shows():
    """Beta 16 and 1 do not differ in the FactorVAE score: fifty seeds still toss a coin."""
    values = np.linspace(0, 1, 20)
    found = seeds_needed(values, values + 1e-4, most=20)
    assert found.needed is None
    assert found.probability[-1] < 0.6
    equal = seeds_needed([0.5] * 10, [0.5] * 10, most=3)
    assert equal.probability == [0.5] * 3
    assert equal.remarks == ("the means are equal: no number of seeds shows an order",)
    assert repr(equal).startswith("difference +0.0000: more than 3 seeds")


def test_settings_without_spread_need_one_seed():
    found = seeds_needed(torch.full((6,), 0.4), np.full(6, 0.3))
    assert found.needed == 1
    assert found.half_width[0] == 0


def test_the_seed_decides():
    a, b = np.linspace(0, 1, 10), np.linspace(0.1, 1.1, 10)
    one, same, other = (seeds_needed(a, b, seed=s, draws=500).probability for s in (0, 0, 1))
    assert one == same != other


def test_bad_arguments():
    with pytest.raises(
        DataError, match=r"The second configuration needs finite scores of at least two"
    ):
        seeds_needed([0.1, 0.2], [0.3])
    with pytest.raises(DataError, match="Leave diverged models out"):
        seeds_needed([0.1, float("nan")], [0.3, 0.4])
    with pytest.raises(ConfigError, match=r"between 0.5 and 1"):
        seeds_needed([0.1, 0.2], [0.3, 0.4], level=95.0)
    with pytest.raises(ConfigError, match="at least 1"):
        seeds_needed([0.1, 0.2], [0.3, 0.4], most=0)
