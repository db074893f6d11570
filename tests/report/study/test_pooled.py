"""Scores pooled over datasets and over each other."""

import numpy as np
import pytest
from report.study_pages import study
from report.text_boxes import text_faults

from unknot.analysis import Results
from unknot.core.errors import DataError
from unknot.report.study.blocks import Part
from unknot.report.study.figures import pooled


@pytest.fixture(scope="module")
def results():
    table = [*study(12), *study(12, data="cars3d", shift=0.1)]
    return Results(table, ["mig", "dci.disentanglement", "kl"], losses=["kl", "recon"])


def means(axes):
    """The crosses of a panel, by the height of their rows."""
    crosses = [line for line in axes.lines if line.get_marker() == "x"]
    return [float(x) for line in crosses for x in line.get_xdata()]


def values(results, objective, *scores, data=None):
    table = results.table
    rows = [
        i
        for i, name in enumerate(table["objective"])
        if name == objective
        and table["status"][i] == "done"
        and table["data"][i] in (data or table["data"])
    ]
    return [table[score][i] for score in scores for i in rows]


def test_datasets_are_pooled_and_losses_are_not(results):
    drawn = pooled.draw(results)
    titles = [axes.get_title(loc="left") or axes.get_title() for axes in drawn.figure.axes]
    assert titles == ["mig", "dci.disentanglement"]
    expected = [np.mean(values(results, name, "mig")) for name in ("beta_vae", "dip_vae_i")]
    assert means(drawn.figure.axes[0]) == pytest.approx(expected)
    assert "Datasets: dsprites, cars3d." in drawn.figure.get_supxlabel()
    assert "Not shown: 2 diverged." in drawn.figure.get_supxlabel()
    assert len(drawn.rows) == 2 * 2 * 72
    assert not text_faults(drawn.figure)


def test_scores_are_pooled_for_each_dataset(results):
    drawn = pooled.draw_scores(results)
    scores = "mig", "dci.disentanglement"
    for axes, data in zip(drawn.figure.axes, ("dsprites", "cars3d"), strict=True):
        expected = [
            np.mean(values(results, name, *scores, data=[data]))
            for name in ("beta_vae", "dip_vae_i")
        ]
        assert means(axes) == pytest.approx(expected)
    assert not text_faults(drawn.figure)


def test_what_may_be_pooled():
    rows = [{"objective": name, "data": data, "seed": seed, "kl": 1.0 + seed, "mig": 0.1 * seed}
            for name in ("a", "b") for data in ("x", "y") for seed in range(3)]  # fmt: skip

    def names(results):
        return [figure.name for figure in pooled.over_datasets(Part(results))]

    assert names(Results(rows, ["mig"])) == ["datasets-pooled"]
    assert names(Results(rows, ["kl"], losses=["kl"])) == []
    assert names(Results([row for row in rows if row["objective"] == "a"], ["mig"])) == []
    with pytest.raises(DataError, match="no other scores"):
        pooled.draw(Results(rows, ["kl"], losses=["kl"]))
