"""Means that documents print: as they print them, and what is said of ours beside them."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from unknot.analysis import Results
from unknot.analysis.documents import Printed, PrintedMatch, document, match_printed, names
from unknot.core.errors import ConfigError
from unknot.core.registry import names as registered
from unknot.metrics import facts

NAN = math.nan


def find(name, table, score, objective, data=None, **settings):
    settings = {f"objective.{key}": value for key, value in settings.items()}
    (value,) = [
        v for v in document(name).values
        if table in v.table.split(", ") and (v.score, v.objective) == (score, objective)
        and data in (None, v.data) and dict(v.settings) == settings
    ]  # fmt: skip
    return value


def column(table, score):
    """By data, objective and settings, a column of one of the tables of Özcan."""
    return {
        (v.data, v.objective, *map(str, v.settings.values())): v.mean
        for v in document("ozcan2024").values
        if table in v.table.split(", ") and v.score == score
    }


# Read by hand, cell by cell, from the tables; not from the files.
KNOWN = [
    ("mushom2020", "5.3", "beta_vae", "beta_vae", {"beta": 30}, None, 0.729, 0.006, 10),
    ("mushom2020", "5.3", "factor_vae", "beta_vae", {"beta": 1}, None, 0.696, 0.065, 10),
    ("mushom2020", "5.3", "mig", "beta_vae", {"beta": 3}, None, 0.269, 0.028, 10),
    ("mushom2020", "5.6", "mig", "beta_vae", {"beta": 10}, None, 0.270, 0.013, 10),
    ("mushom2020", "5.6", "mig", "factor_vae", {"gamma": 25}, None, 0.297, 0.061, 10),
    ("mushom2020", "5.6", "beta_vae", "beta_tcvae", {"beta": 1}, None, 0.884, 0.049, 10),
    ("mushom2020", "5.6", "factor_vae", "dip_vae_ii", {"lambda_od": 1, "lambda_d": 1}, None,
     0.479, 0.038, 10),
    ("kumar2018", "1", "sap", "beta_vae", {"beta": 60}, "dsprites", 0.5503, NAN, 1),
    ("kumar2018", "1", "beta_vae", "dip_vae_i", {"lambda_od": 10, "lambda_d": 100}, "dsprites",
     0.987, NAN, 1),
    ("kumar2018", "1", "sap", "dip_vae_ii", {"lambda_od": 80, "lambda_d": 40}, "celeba",
     0.0393, NAN, 1),
    ("kumar2018", "1", "beta_vae", "beta_vae", {"beta": 32}, "celeba", 0.064, NAN, 1),
    ("kumar2018", "2", "attribute_accuracy.Male", "dip_vae_i", {}, "celeba", 0.859, NAN, 1),
    ("kumar2018", "2", "attribute_accuracy.Wavy_Hair", "beta_vae", {"beta": 8}, "celeba",
     0.637, NAN, 1),
    ("ozcan2024", "6.1", "recon", "dynamic_vae", {}, "falcor3d", 205.04, NAN, 1),
    ("ozcan2024", "6.1", "explicitness", "beta_vae", {"beta": 4}, "dsprites", 0.55, NAN, 1),
    ("ozcan2024", "6.2", "recon", "beta_vae", {"beta": 0.89}, "dsprites", 21.43, NAN, 1),
    ("ozcan2024", "7.1", "mig", "mdl_vae", {"variant": "weak"}, "mpi3d", 0.19, NAN, 1),
    ("ozcan2024", "7.2", "mig_sup", "mdl_vae", {"variant": "strong"}, "isaac3d", 0.36, NAN, 1),
    ("ozcan2024", "7.2", "cbd.column", "beta_vae", {}, "falcor3d", 0.35, NAN, 1),
    ("ozcan2024", "7.3", "cbd.row", "sigma_vae", {}, "isaac3d", 0.31, NAN, 1),
    ("ozcan2024", "7.3", "recon", "l_vae", {}, "mpi3d", 24.34, NAN, 1),
    ("ozcan2024", "7.4", "recon", "mdl_vae", {"variant": "v2"}, "dsprites", 37.86, NAN, 1),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "table", "score", "objective", "of", "data", "mean", "sd", "n"), KNOWN
)
def test_values_are_as_printed(name, table, score, objective, of, data, mean, sd, n):
    value = find(name, table, score, objective, data, **of)
    assert (value.mean, value.n) == (mean, n)
    assert value.sd == sd or (math.isnan(sd) and math.isnan(value.sd))


def test_what_the_documents_say_of_their_tables_holds():
    recon, cbd = column("6.1", "recon"), column("7.1", "cbd")
    for data in ("dsprites", "mpi3d", "isaac3d"):
        of_data = {key: value for key, value in recon.items() if key[0] == data}
        assert min(of_data, key=of_data.get)[1] == "l_vae", "L-VAE reconstructs best"
    for data in ("dsprites", "mpi3d", "falcor3d", "isaac3d"):
        of_data = {key: value for key, value in cbd.items() if key[0] == data}
        best = [key[1] for key, value in of_data.items() if value == max(of_data.values())]
        assert "mdl_vae" in best, "mdL-VAE is first by CbD everywhere, with ties"
        mig = {key: value for key, value in column("6.1", "mig").items() if key[0] == data}
        assert min(mig, key=mig.get)[1] == "sigma_vae"
    ends = [0, 0, 0]
    for score in ("cbd", "beta_vae", "mig", "explicitness"):
        values = column("6.2", score)
        for data in ("dsprites", "mpi3d", "falcor3d", "isaac3d"):
            (frozen,) = (v for key, v in values.items() if key[:2] == (data, "beta_vae"))
            ends[int(np.sign(values[data, "l_vae"] - frozen))] += 1
    assert ends == [2, 8, 6], "L-VAE ties, wins and loses against a frozen beta"
    by_row, by_column = column("7.3", "recon"), column("7.2", "recon")
    signs = [int(np.sign(value - by_column[key])) for key, value in by_row.items()]
    assert [signs.count(sign) for sign in (1, -1, 0)] == [13, 7, 9]
    accuracy = {}
    for v in document("kumar2018").values:
        if v.table == "2":
            accuracy.setdefault(v.score, []).append((v.mean, v.objective))
    assert len(accuracy) == 12
    assert sum(max(of)[1] == "dip_vae_i" for of in accuracy.values()) == 10
    mushom = {}
    for v in document("mushom2020").values:
        mushom.setdefault(v.score, []).append((v.mean, v.objective))
    assert {max(of)[1] for of in mushom.values()} == {"factor_vae"}, "first by each mean"


def test_sizes_and_names():
    sizes = {"kumar2018": 12 + 12 + 60, "mushom2020": 12 + 9, "ozcan2024": None}
    assert names() == [*sizes]
    assert all(size in (None, len(document(name).values)) for name, size in sizes.items())
    counts = {"6.1": 24, "6.2": 8, "7.1": 29, "7.2": 29, "7.3": 29, "7.4": 4}
    assert {table: len(column(table, "recon")) for table in counts} == counts
    assert len(column("7.3", "sap")) == 28, "the last cell is lost"
    for name in names():
        for value in document(name).values:
            metric = value.score.partition(".")[0]
            assert value.objective in registered("objectives")
            assert value.data in registered("datasets")
            assert metric == "recon" or facts(metric)
    correlations = {(c.first, c.second): c.spearman for c in document("mushom2020").correlations}
    assert correlations["beta_vae", "elbo"] == -0.14
    assert correlations["factor_vae", "recon"] == 0.16
    assert correlations["mig", "kl"] == -0.5
    assert len(correlations) == 9
    with pytest.raises(ConfigError, match="did you mean 'mushom2020'"):
        document("mushom")


# What is said


def runs(values, *, beta=1.0, data="dsprites", **more):
    return [
        {"data": data, "objective": "beta_vae", "objective.beta": beta, "seed": seed, "mig": value,
         **more}
        for seed, value in enumerate(values)
    ]  # fmt: skip


def one(values, printed):
    results = Results(runs(values), ["mig"])
    return PrintedMatch(printed, results.summaries()[0])


PRINTED = Printed("5.3", "dsprites", "beta_vae", {"objective.beta": 1}, "mig", 0.2, 0.05, 10, 8, "")


def test_the_interval_is_that_of_students_test():
    values = np.array([0.25, 0.31, 0.22])
    held = one(values, PRINTED)
    theirs = 0.2 + 0.05 * stats.zscore(np.arange(10.0), ddof=1)
    test = stats.ttest_ind(values, theirs)
    low, high = test.confidence_interval(0.9)
    assert held.interval == pytest.approx((low, high), abs=1e-6)
    assert held.difference / held.error == pytest.approx(test.statistic, abs=1e-5)
    assert (held.verdict == "differs") == (test.pvalue < 0.05)


def test_verdicts():
    same = [0.19, 0.21, 0.2]
    assert one(same, PRINTED).verdict == "no difference seen", "ten cannot show equality"
    assert one(same, replace(PRINTED, n=11)).verdict == "undecided", "more of ours might"
    many = replace(PRINTED, n=200)
    assert one(np.tile([0.15, 0.25], 100), many).verdict == "equal"
    assert one([0.4, 0.42, 0.41], PRINTED).verdict == "differs"
    assert one([0.4], PRINTED).verdict == "differs", "one run beside a spread"
    single = replace(PRINTED, sd=NAN, n=1)
    assert one([0.9], single).verdict == "no spread"
    assert math.isnan(one([0.9], single).visible)
    # Another run of ours would seldom be so far away.
    assert one([0.5, 0.51, 0.52, 0.49], single).verdict == "differs"
    assert one([0.1, 0.3, 0.2, 0.25], single).verdict == "no difference seen"


def test_rounding_is_part_of_the_error():
    """Runs that all agree differ from a rounded value by half a digit at most."""
    coarse = replace(PRINTED, mean=0.20, sd=NAN, n=1, digits=2)
    exact = [0.2041, 0.2042, 0.2041]
    assert one(exact, coarse).verdict == "no difference seen"
    assert one(exact, replace(coarse, digits=8)).verdict == "differs"


def test_equal_means_differ_in_one_of_twenty():
    rng = np.random.default_rng(0)
    flags = []
    for _ in range(400):
        theirs = rng.normal(0.2, 0.05, 10)
        printed = replace(PRINTED, mean=theirs.mean(), sd=theirs.std(ddof=1))
        flags.append(one(rng.normal(0.2, 0.05, 3), printed).verdict == "differs")
    assert 0.02 < np.mean(flags) < 0.085


def test_a_visible_difference_is_found_in_four_of_five():
    rng = np.random.default_rng(1)
    found = []
    for _ in range(400):
        theirs = rng.normal(0.2, 0.05, 10)
        printed = replace(PRINTED, mean=theirs.mean(), sd=theirs.std(ddof=1))
        shift = 2.5 * 0.05 * (1 / 10 + 1 / 10) ** 0.5 * 1.2
        held = one(rng.normal(0.2 + shift, 0.05, 10), printed)
        found.append(held.verdict == "differs")
        assert held.visible == pytest.approx(
            (stats.t.ppf(0.975, 18) + stats.t.ppf(0.8, 18)) * held.error
        )
    assert 0.7 < np.mean(found) < 0.9


# Which of ours stands beside


def held(rows, name="mushom2020", protocol=None, **options):
    results = Results(rows, **options)
    return {
        (b.printed.table, b.printed.score): b
        for b in match_printed(document(name), results, protocol)
    }


def test_only_the_same_data_objective_and_settings_are_beside():
    assert held(runs([0.2, 0.3]))["5.3", "mig"].printed.mean == 0.201
    assert held(runs([0.2, 0.3], beta=2.0)) == {}
    assert held(runs([0.2, 0.3], data="xysquares")) == {}
    other = [{**row, "objective": "vae"} for row in runs([0.2, 0.3])]
    assert held(other) == {}


def test_only_the_same_protocol_is_beside():
    assert held(runs([0.2, 0.3]), protocol="study2019")
    assert held(runs([0.2, 0.3]), protocol="unknot") == {}
    named = [{**row, "mig@study2019": 0.4} for row in runs([0.2, 0.3])]
    (found,) = held(named, protocol="unknot").values()
    assert (found.ours.score, found.ours.mean) == ("mig@study2019", 0.4)


def test_a_chosen_model_is_beside_ours_that_is_chosen_alike():
    rows = [
        {"data": "dsprites", "objective": "l_vae", "batch": batch, "seed": seed, "recon": recon,
         "cbd": cbd, "mig@carbonneau": mig}
        for batch, recon, cbd, mig in ((64, 9.0, 0.4, 0.9), (128, 12.0, 0.6, 0.3))
        for seed in range(3)
    ]  # fmt: skip
    found = match_printed(document("ozcan2024"), Results(rows), None)
    assert {b.ours.settings["batch"] for b in found} == {128}, "the best by CbD, not by MIG"
    assert {b.printed.table for b in found} == {"6.1, 6.2, 7.1"}, "no column that 7.2 chose by"
    without = [{k: v for k, v in row.items() if k != "cbd"} for row in rows]
    assert match_printed(document("ozcan2024"), Results(without), None) == []
