"""Scores beside losses: their correlations, and a point for each run."""

import numpy as np
import pytest
from report.study_pages import study
from report.text_boxes import text_faults
from scipy import stats

from unknot.analysis import Results
from unknot.report.study.blocks import Part
from unknot.report.study.figures import score_losses, trade_off_runs


@pytest.fixture(scope="module")
def table():
    return study(6)


def names(file, results):
    return [figure.name for figure in file.applies(Part(results))]


def test_correlations_of_scores_and_losses_for_all_and_for_each_objective(table):
    drawn = score_losses.draw(Results(table, ["mig", "dci.disentanglement"]))
    titles = [axes.get_title(loc="left") for axes in drawn.figure.axes]
    assert titles == ["all runs", "beta_vae", "dip_vae_i"]
    rows = {(row["runs"], row["score"], row["loss"]): row for row in drawn.rows}
    assert len(rows) == 3 * 2 * 2
    own = [row for row in table if row["objective"] == "beta_vae"]
    expected = stats.spearmanr([row["mig"] for row in own], [row["kl"] for row in own])
    found = rows["beta_vae", "mig", "kl"]
    assert (found["spearman"], found["p"]) == pytest.approx(tuple(expected))
    assert found["n"] == 18
    assert rows["all runs", "mig", "kl"]["n"] == 35, "one diverged"
    text = drawn.figure.axes[1].texts[1].get_text()
    assert text == f"{round(100 * found['spearman'])}".replace("-", "−")
    assert not text_faults(drawn.figure)


def test_a_correlation_of_three_runs_is_not_drawn(table):
    few = [dict(row) for row in table if row["objective"] == "beta_vae" or row["seed"] < 1]
    drawn = score_losses.draw(Results(few, ["mig", "dci.disentanglement"]))
    assert [axes.get_title(loc="left") for axes in drawn.figure.axes] == ["all runs", "beta_vae"]
    for row in few:
        if row["objective"] == "dip_vae_i" or row["seed"] > 0:
            row["kl"] = None
    drawn = score_losses.draw(Results(few, ["mig", "dci.disentanglement"]), losses=["recon", "kl"])
    assert {text.get_text() for text in drawn.figure.axes[1].texts[1::2]} == {"–"}


def test_where_there_is_no_map(table):
    assert names(score_losses, Results(table, ["mig", "dci.disentanglement"])) == ["score-losses"]
    assert names(score_losses, Results(table, ["mig"])) == []
    alone = [{k: v for k, v in row.items() if k != "kl"} for row in table]
    assert names(score_losses, Results(alone, ["mig", "dci.disentanglement"])) == []
    flat = [{**row, "kl": 1.0, "status": "done"} for row in table]
    assert names(score_losses, Results(flat, ["mig", "dci.disentanglement"])) == []


def points(axes):
    return sorted(tuple(p) for line in axes.lines for p in line.get_xydata().tolist())


def test_each_run_is_a_point_and_diverged_ones_are_none(table):
    drawn = trade_off_runs.draw(Results(table, ["mig", "dci.disentanglement"]))
    done = [row for row in table if row["status"] == "done"]
    for axes, score in zip(drawn.figure.axes, ("mig", "dci.disentanglement"), strict=True):
        assert points(axes) == sorted((row["recon"], row[score]) for row in done)
        assert len(axes.lines) == 2
    assert len(drawn.rows) == 2 * len(table)
    assert not text_faults(drawn.figure)


def test_configurations_of_a_lone_objective_have_colours(table):
    results = Results(table, ["mig"]).only("objective", ["beta_vae"])
    drawn = trade_off_runs.draw(results)
    (axes,) = drawn.figure.axes
    assert len({line.get_color() for line in axes.lines}) == 3
    labels = [text.get_text() for text in drawn.figure.legends[0].get_texts()]
    assert labels == ["beta 1", "beta 4", "beta 16"]
    lowest = min(np.array(axes.lines[0].get_xdata()))
    assert lowest == min(row["recon"] for row in table if row["objective"] == "beta_vae")


def test_one_seed_each_is_the_trade_off_itself(table):
    one = [row for row in table if row["seed"] == 0]
    assert names(trade_off_runs, Results(one, ["mig"])) == []
    assert names(trade_off_runs, Results(table, ["mig"])) == ["trade-off-runs"]
    assert names(trade_off_runs, Results(table, ["kl"])) == []
