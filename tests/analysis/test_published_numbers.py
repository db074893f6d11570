"""Numbers that are known of the 2019 study's published runs.

Hartmann 2021 collected them run by run; tables and sections named here are of the notes on that
paper (experiments E1 to E5 stand for its figures 7 to 11).
"""

import numpy as np
import pytest
from analysis.published_tables import (
    FILES,
    SEVEN,
    cell_means,
    known_means,
    objective,
    table,
    whole_study,
)
from analysis.tables import (
    best_values,
    configurations,
    correlations,
    front,
    ranking,
    shares,
    summaries,
)

from unknot.analysis import Results, agreement, split_table
from unknot.analysis.comparison import compare

BETA = "objective.beta"


@pytest.mark.parametrize("data", FILES)
def test_means_of_all_cells_to_every_printed_digit(data):
    """Appendix, 36 configurations of 8 columns."""
    found, count = cell_means(data), 0
    for where, name, score, means in known_means():
        if where != data:
            continue
        own = [s for (o, k, _), s in found.items() if (o, k) == (name, score)]
        assert [s.n for s in own] == [50] * 6
        for summary, printed in zip(own, means, strict=True):
            digits = len(printed.partition(".")[2])
            # Printed by a program that halves up or to even, we do not know which.
            half = 0.5 * 10**-digits + 1e-9
            assert abs(summary.mean - float(printed)) <= half, (name, score, summary.swept_value)
            count += 1
    assert count == 36 * 8


# E2, table of section 4.1: mean of the seven scores as values, and the rank.
SEVEN_MEAN = {
    "beta_vae": {"dsprites": (0.366, 3), "smallnorb": (0.399, 5), "cars3d": (0.434, 3)},
    "annealed_vae": {"dsprites": (0.308, 4), "smallnorb": (0.274, 6), "cars3d": (0.405, 6)},
    "factor_vae": {"dsprites": (0.399, 2), "smallnorb": (0.438, 1), "cars3d": (0.451, 2)},
    "beta_tcvae": {"dsprites": (0.425, 1), "smallnorb": (0.422, 3), "cars3d": (0.453, 1)},
    "dip_vae_i": {"dsprites": (0.286, 6), "smallnorb": (0.400, 4), "cars3d": (0.420, 4)},
    "dip_vae_ii": {"dsprites": (0.303, 5), "smallnorb": (0.435, 2), "cars3d": (0.406, 5)},
}


@pytest.mark.parametrize("data", FILES)
def test_seven_scores_together_rank_the_objectives(data):
    held = table(data)
    pooled = {**held, "seven": np.mean([held[score] for score in SEVEN], axis=0).tolist()}
    found = ranking(pooled, ["seven"], draws=200)
    for name, known in SEVEN_MEAN.items():
        mean, rank = known[data]
        i = found.objectives.index(name)
        assert round(float(found.means[i, 0]), 3) == mean, name
        assert found.ranks[i, 0] == rank, name


# E1, table of section 4.1: mean and median over all six datasets.
POOLED = {
    "beta_vae": ".792/.801 .626/.616 .120/.113 .044/.039 .207/.206 .229/.226 .482/.468",
    "annealed_vae": ".658/.675 .500/.527 .073/.048 .023/.013 .115/.094 .134/.109 .409/.386",
    "factor_vae": ".799/.801 .675/.638 .129/.116 .047/.042 .223/.230 .265/.250 .473/.429",
    "beta_tcvae": ".805/.817 .653/.639 .134/.137 .047/.048 .237/.263 .265/.281 .501/.545",
    "dip_vae_i": ".789/.792 .618/.593 .067/.045 .028/.017 .127/.105 .123/.111 .448/.375",
    "dip_vae_ii": ".781/.793 .577/.560 .082/.053 .039/.020 .140/.115 .168/.131 .446/.392",
}


def test_pooled_medians_of_all_six_datasets():
    everything = whole_study()
    scores = {name: everything[name] for name in SEVEN}
    found = summaries({"objective": everything["objective"], **scores}, SEVEN, draws=2)
    for name, text in POOLED.items():
        own = [s for s in found if s.objective == name]
        for summary, pair in zip(own, text.split(), strict=True):
            mean, median = map(float, pair.split("/"))
            assert round(summary.mean, 3) == mean, (name, summary.score)
            assert round(summary.median, 3) == median, (name, summary.score)


def test_best_values():
    """E3: dSprites. Annealed at 5 everywhere; DIP-I at 2 on six of seven, at 5 on FactorVAE's."""
    best = {(b.objective, b.score): b for b in best_values(table("dsprites"), SEVEN, draws=400)}
    assert {best["annealed_vae", score].swept_value for score in SEVEN} == {5}
    assert {best["annealed_vae", score].share for score in SEVEN} == {1}
    assert [best["dip_vae_i", s].swept_value for s in SEVEN] == [2, 5, 2, 2, 2, 2, 2]
    assert best["beta_tcvae", "beta_vae"].swept_value == 4
    assert best["beta_tcvae", "factor_vae"].swept_value == 4
    assert best["beta_vae", "mig"].swept_value == 16
    assert best["beta_vae", "mig"].likely == (16,)
    # Flat: six strengths of which none can be told to be the best.
    assert len(best["beta_vae", "factor_vae"].likely) == 6


@pytest.mark.parametrize(
    ("data", "swept_value"), [("dsprites", 16), ("smallnorb", 1), ("cars3d", 16)]
)
def test_best_beta_by_the_mean_of_seven(data, swept_value):
    """E4."""
    held = objective("beta_vae", data)
    pooled = {**held, "seven": np.mean([held[score] for score in SEVEN], axis=0).tolist()}
    (best,) = best_values(pooled, ["seven"], draws=100)
    assert best.swept_value == swept_value


def test_exceptions_of_cars3d():
    """E4: SAP and informativeness are best at beta 1; the BetaVAE score is saturated."""
    found = best_values(objective("beta_vae", "cars3d"), SEVEN, draws=100)
    best = {b.score: b for b in found}
    assert best["sap"].swept_value == best["dci.informativeness"].swept_value == 1
    assert best["beta_vae"].mean == pytest.approx(1, abs=5e-4)


def test_strengths_transfer_or_do_not():
    """E4: Spearman's of 36 means of MIG between datasets, and of the six of beta-VAE."""

    def order(data):
        return {k: s.mean for k, s in cell_means(data).items() if k[1] == "mig"}

    def between(a, b, keep=lambda _: True):
        keys = [k for k in order(a) if keep(k)]
        pair = {"a": [order(a)[k] for k in keys], "b": [order(b)[k] for k in keys]}
        return agreement(pair).between("a", "b")[0]

    assert between("dsprites", "cars3d") == pytest.approx(0.80, abs=0.01)
    assert between("dsprites", "smallnorb") == pytest.approx(0.03, abs=0.01)
    assert between("dsprites", "smallnorb", lambda k: k[0] == "beta_vae") == -1


# E5, table of section 4.1: mean, deviation, smallest, largest; then reconstruction and divergence.
SPREAD = {
    1: [(0.816, 0.044, 0.69, 0.87), (0.647, 0.071, 0.48, 0.81), (0.075, 0.032, 0.01, 0.13)],
    2: [(0.817, 0.059, 0.66, 0.89), (0.658, 0.093, 0.45, 0.82), (0.088, 0.041, 0.01, 0.17)],
    4: [(0.803, 0.069, 0.65, 0.89), (0.645, 0.113, 0.37, 0.79), (0.090, 0.047, 0.01, 0.20)],
    6: [(0.801, 0.064, 0.67, 0.90), (0.648, 0.088, 0.47, 0.81), (0.109, 0.053, 0.03, 0.25)],
    8: [(0.812, 0.058, 0.66, 0.88), (0.644, 0.077, 0.43, 0.80), (0.129, 0.056, 0.04, 0.31)],
    16: [(0.823, 0.077, 0.64, 0.89), (0.645, 0.086, 0.42, 0.75), (0.263, 0.111, 0.04, 0.39)],
}
LOSSES = {1: (18.7, 0.5, 27.7), 2: (28.0, 0.7, 20.6), 4: (44.4, 1.0, 14.9), 6: (58.2, 1.0, 12.2),
          8: (70.8, 1.6, 10.3), 16: (113.1, 4.5, 6.55)}  # fmt: skip


def test_spread_over_seeds_of_beta_vae():
    names = ("beta_vae", "factor_vae", "mig")
    found = summaries(objective("beta_vae"), [*names, "recon", "kl"], draws=2)
    by = {(s.swept_value, s.score): s for s in found}
    for beta, known in SPREAD.items():
        for name, (mean, sd, low, high) in zip(names, known, strict=True):
            own = by[beta, name]
            assert round(own.mean, 3) == mean, (beta, name)
            # .0635 was printed as .064, after a rounding before.
            assert own.sd == pytest.approx(sd, abs=0.00052), (beta, name)
            assert (own.low, own.high) == pytest.approx((low, high), abs=0.00501)
        recon, sd, kl = LOSSES[beta]
        assert round(by[beta, "recon"].mean, 1) == recon
        assert round(by[beta, "recon"].sd, 1) == sd
        assert by[beta, "kl"].mean == pytest.approx(kl, abs=0.051)


def test_deviation_within_cells():
    """Section 4.1, mean over the 36 configurations of dSprites."""
    known = dict(zip(SEVEN, (0.042, 0.073, 0.043, 0.016, 0.050, 0.050, 0.030), strict=True))
    found = summaries(table("dsprites"), SEVEN, draws=2)
    for score, sd in known.items():
        own = np.mean([s.sd for s in found if s.score == score])
        assert own == pytest.approx(sd, abs=0.00051), score


def test_variance_shares_of_all_six_datasets():
    """Section 4.1: share of the objective, and of objective and strength; mean over datasets."""
    known = {
        "beta_vae": (0.39, 0.56), "factor_vae": (0.46, 0.58), "mig": (0.35, 0.65),
        "sap": (0.33, 0.51), "dci.disentanglement": (0.43, 0.72), "dci.completeness": (0.49, 0.80),
        "dci.informativeness": (0.46, 0.72),
    }  # fmt: skip
    parts = [shares(part, SEVEN) for part in split_table(whole_study(), "data").values()]
    for k, (score, pair) in enumerate(known.items()):
        own = [part[k].shares for part in parts]
        first = np.mean([s["objective"] for s in own])
        both = np.mean([s["objective"] + s["swept_value"] for s in own])
        assert (first, both) == pytest.approx(pair, abs=0.01), score


@pytest.mark.parametrize("data", FILES)
def test_variance_shares_by_sums_of_squares(data):
    groups = configurations(table(data))
    for found in shares(table(data), SEVEN):
        held = [one.sample(found.score).values for one in groups]
        values = np.concatenate(held)
        total = ((values - values.mean()) ** 2).sum()
        within = sum(((v - v.mean()) ** 2).sum() for v in held)
        assert found.shares["seed"] == pytest.approx(within / total, abs=1e-9)
        assert found.groups == {"objective": 6, "swept_value": 36}


# Section 4.1, Spearman's times 100: dSprites, smallNORB, Cars3D.
CORRELATIONS = {
    ("beta_vae", "factor_vae"): (82, 63, 37),
    ("beta_vae", "mig"): (81, 56, 22),
    ("beta_vae", "sap"): (81, 39, 13),
    ("beta_vae", "dci.disentanglement"): (84, 45, 38),
    ("factor_vae", "mig"): (72, 34, 66),
    ("factor_vae", "sap"): (67, 2, 40),
    ("factor_vae", "dci.disentanglement"): (77, 39, 60),
    ("mig", "sap"): (83, 76, 43),
    ("mig", "dci.disentanglement"): (93, 79, 67),
    ("sap", "dci.disentanglement"): (84, 58, 27),
    ("dci.disentanglement", "dci.completeness"): (98, 90, 85),
    ("dci.disentanglement", "dci.informativeness"): (94, 82, -38),
    ("mig", "modularity"): (-5, -50, 52),
}


@pytest.mark.parametrize(("place", "data"), list(enumerate(FILES)))
def test_rank_correlations(data, place):
    """Two runs of Cars3D that diverged are left out here and were not there."""
    found = correlations(table(data), [*SEVEN, "modularity"])
    for pair, row in CORRELATIONS.items():
        assert 100 * found.between(*pair)[0] == pytest.approx(row[place], abs=1), pair
    lost = 2 if data == "cars3d" else 0
    assert found.n.min() == 1800 - lost
    assert found.remarks == (("2 runs that diverged were left out",) if lost else ())


def test_scores_against_reconstruction():
    """E3: Spearman's of score and reconstruction loss within beta-VAE."""
    known = dict(zip(SEVEN, (0.11, -0.04, 0.51, 0.09, 0.47, 0.59, 0.74), strict=True))
    found = correlations(objective("beta_vae"), [*SEVEN, "recon"])
    for score, value in known.items():
        assert found.between(score, "recon")[0] == pytest.approx(value, abs=0.0051), score
    found = correlations(objective("beta_vae", "smallnorb"), [*SEVEN, "recon"])
    for score in SEVEN:
        low, high = (-0.375, -0.365) if score == "sap" else (-0.965, -0.835)
        assert low <= found.between(score, "recon")[0] <= high, score


# Section 4.1, seed counts: score, two settings, probability at 1, 3, 5 and 10 seeds.
SEEDS = [
    ("dsprites", "mig", ("beta_vae", 16), ("beta_vae", 1), (0.95, 1.00, 1.00, 1.00)),
    ("dsprites", "mig", ("beta_vae", 8), ("beta_vae", 1), (0.78, 0.94, 0.98, 1.00)),
    ("dsprites", "factor_vae", ("beta_tcvae", 4), ("beta_vae", 1), (0.87, 0.97, 0.99, 1.00)),
    ("dsprites", "mig", ("beta_tcvae", 6), ("beta_vae", 6), (0.88, 0.98, 1.00, 1.00)),
    ("dsprites", "dci.disentanglement", ("beta_tcvae", 6), ("beta_vae", 6), (0.93, 0.99, 1, 1)),
    ("dsprites", "mig", ("factor_vae", 50), ("beta_vae", 1), (0.94, 1.00, 1.00, 1.00)),
    ("dsprites", "mig", ("annealed_vae", 5), ("annealed_vae", 100), (1, 1, 1, 1)),
    ("dsprites", "mig", ("dip_vae_i", 2), ("dip_vae_i", 50), (0.85, 0.99, 1.00, 1.00)),
    ("dsprites", "mig", ("dip_vae_i", 2), ("dip_vae_i", 1), (0.59, 0.67, 0.71, 0.79)),
    ("dsprites", "factor_vae", ("beta_vae", 1), ("dip_vae_ii", 5), (0.78, 0.91, 0.96, 1.00)),
    ("smallnorb", "mig", ("beta_vae", 1), ("beta_vae", 16), (1, 1, 1, 1)),
    ("cars3d", "dci.disentanglement", ("beta_vae", 16), ("beta_vae", 1), (1, 1, 1, 1)),
]
AXES = {"beta_vae": BETA, "beta_tcvae": BETA, "factor_vae": "objective.gamma",
        "annealed_vae": "objective.c.end", "dip_vae_i": "objective.lambda_od",
        "dip_vae_ii": "objective.lambda_od"}  # fmt: skip


def settings(name, strength):
    return {"objective": name, AXES[name]: strength}


@pytest.mark.parametrize("row", SEEDS, ids=lambda row: " ".join(map(str, row[:4])))
def test_seed_counts(row):
    data, score, first, second, known = row
    found = Results(table(data)).seeds_needed(
        settings(*first), settings(*second), score, most=10, draws=4000
    )
    assert found.difference > 0
    ours = [found.probability[n - 1] for n in (1, 3, 5, 10)]
    assert ours == pytest.approx(known, abs=0.03)


def test_a_contrast_that_is_none():
    """Section 4.1: 16 above 1 in the FactorVAE score, .53 .53 .50 .49; ours asks for 1 above 16.

    By 400,000 draws with NumPy it is .529 .506 .500 .490, so that the second was printed 0.024 off
    by chance and leaves little of the tolerance for ours.
    """
    first, second = settings("beta_vae", 16), settings("beta_vae", 1)
    found = Results(table("dsprites")).seeds_needed(
        first, second, "factor_vae", most=10, draws=100_000
    )
    assert found.difference < 0
    exact = (0.529, 0.506, 0.500, 0.490)
    for n, known in zip((1, 3, 5, 10), exact, strict=True):
        assert 1 - found.probability[n - 1] == pytest.approx(known, abs=0.006)
    for n, known in ((1, 0.53), (3, 0.53), (5, 0.50), (10, 0.49)):
        assert 1 - found.probability[n - 1] == pytest.approx(known, abs=0.03)
    assert found.needed is None


def test_the_best_cell_of_all_costs_the_most():
    """E3: Annealed at 5 has the highest MIG, SAP and completeness, and the worst images."""
    for score in ("mig", "sap", "dci.completeness"):
        found = front(table("dsprites"), score, draws=100)
        best, dearest = int(found.gain.argmax()), int(found.price.argmax())
        assert best == dearest
        assert found.configurations[best].label == "annealed_vae c 5"
        assert found.on[best]


def test_divergences_equal_capacities():
    """Section 1.3: after training the divergence is the capacity, almost exactly."""
    found = summaries(objective("annealed_vae"), ["kl"], draws=2)
    known = {5: 5.00, 10: 10.00, 25: 25.00, 50: 49.99, 75: 75.00, 100: 100.06}
    assert {s.swept_value: round(s.mean, 2) for s in found} == pytest.approx(known, abs=0.0051)


def test_halves_of_a_study_agree():
    """Even seeds against odd ones: of 252 equal pairs a few are three errors apart, not many."""
    held = table("dsprites")

    def half(rest):
        keep = [seed % 2 == rest for seed in held["seed"]]
        runs = {n: [v for v, k in zip(c, keep, strict=True) if k] for n, c in held.items()}
        return summaries(runs, SEVEN, draws=2)

    found = compare(half(0), half(1))
    assert len(found.differences) == 252
    assert found.only_ours == found.only_published == ()
    assert 0.97 < found.within <= 1
