"""Effects of settings: which runs are pairs, and that intervals hold the truth as often as said."""

import importlib.util
import itertools
from pathlib import Path

import numpy as np
import pytest

from unknot.analysis.effects import COVERAGE, clustered_interval, effects, pooled_settings
from unknot.analysis.intervals import mean_interval

TOOL = Path(__file__).parents[2] / "tools" / "coverage.py"
spec = importlib.util.spec_from_file_location("coverage_of_pairs", TOOL)
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)

SETTINGS = ["objective", "objective.beta", "net", "steps"]


def grid(seeds=5, betas=(4, 1, 16)):
    """A full grid whose score is 0.1 per step of beta, plus what net, steps and seed add."""
    rows = [
        {"objective": "beta_vae", "objective.beta": beta, "net": net, "steps": steps, "seed": seed,
         "mig": 0.1 * np.log2(beta) + 0.5 * (net == "b") + steps + 0.01 * seed * (1 + (net == "b"))}
        for beta, net, steps, seed in itertools.product(betas, "ab", (1, 2), range(seeds))
    ]  # fmt: skip
    return {name: [row[name] for row in rows] for name in rows[0]}


def test_pairs_differ_in_the_setting_alone():
    four, sixteen = effects(grid(), SETTINGS, "objective.beta", "mig")
    assert (four.reference, four.value, sixteen.value) == (1, 4, 16)
    np.testing.assert_allclose(four.differences, np.full(20, 0.2))
    np.testing.assert_allclose(sixteen.differences, np.full(20, 0.4))
    assert (four.configurations, four.seeds, four.unpaired) == (4, 5, 0)
    (net,) = effects(grid(), SETTINGS, "net", "mig")
    assert sorted(set(net.differences.round(9))) == [0.5, 0.51, 0.52, 0.53, 0.54]


def test_a_run_without_a_partner_is_counted_and_not_averaged():
    table = grid()
    table["mig"][0] = 1e6
    table["status"] = ["diverged", *["done"] * (len(table["mig"]) - 1)]
    four, _ = effects(table, SETTINGS, "objective.beta", "mig")
    assert len(four.differences) == 19
    assert four.unpaired == 1
    assert four.mean == pytest.approx(0.2)


def test_collapsed_models_stay_in_and_are_counted():
    table = grid()
    table["kl"] = [0.0, *[9.0] * (len(table["mig"]) - 1)]
    four, sixteen = effects(table, SETTINGS, "objective.beta", "mig")
    assert (len(four.differences), four.flawed, sixteen.flawed) == (20, 1, 0)


def test_a_setting_that_another_decides_has_no_pairs():
    table = {**grid(), "batch": [8 * beta for beta in grid()["objective.beta"]]}
    assert pooled_settings(table, SETTINGS) == ["objective.beta", "net", "steps"]
    assert pooled_settings(table, [*SETTINGS, "batch"]) == ["net", "steps"]
    (empty, _) = effects(table, [*SETTINGS, "batch"], "objective.beta", "mig")
    assert np.isnan(empty.mean)
    assert np.isnan(empty.low)


def test_clusters_of_one_kind_give_students_interval_of_their_means():
    """A textbook identity: with equal clusters, it is Student's interval of the clusters' means."""
    values = np.random.default_rng(0).normal(size=(8, 3))
    rows, columns = np.repeat(np.arange(8), 3), np.tile(np.arange(3), 8)
    low, high, over = clustered_interval(values.ravel(), rows, columns, 0.95)
    assert (low, high) == pytest.approx(mean_interval(values.mean(1), 0.95))
    assert over == "configurations"
    assert clustered_interval(values.ravel(), columns, rows, 0.95) == (
        pytest.approx(low), pytest.approx(high), "seeds"
    )  # fmt: skip


def test_too_few_of_both_have_no_interval():
    rows, columns = np.repeat(np.arange(4), 4), np.tile(np.arange(4), 4)
    values = np.random.default_rng(0).normal(size=16)
    assert np.isnan(clustered_interval(values, rows, columns, 0.95)[:2]).all()


@pytest.mark.parametrize("shared", COVERAGE)
def test_the_coverage_of_pairs_is_what_a_simulation_gives(shared):
    for size, share in COVERAGE[shared].items():
        assert tool.pair_coverage(shared, *size, samples=1000) == pytest.approx(share, abs=0.035)
    assert all(share >= 0.945 for (_, n), share in COVERAGE[shared].items() if n >= 5)
