"""Accuracy by number of labels: which points are where, what they are means of, what is left out"""

import itertools

import numpy as np
import pytest
from analysis.tables import configurations, summaries
from report.study.test_figures import boxes, overlaps
from report.study_pages import rows, write

from unknot.analysis import Results
from unknot.core.errors import ConfigError, DataError
from unknot.report.study import figures
from unknot.report.study.figures.labels import learners

LABELS = (10, 100, 1_000, 10_000)


def value(k, strength, place, seed):
    """Linear is the second learner."""
    return 0.1 * (place + 1) + 0.01 * strength + 0.001 * seed**2 - 0.05 * k


def scored(objectives=("vae", "tc"), strengths=(1, 2), seeds=3, suffix="", data="dsprites"):
    grid = itertools.product(objectives, strengths, range(seeds))
    return [
        {"data": data, "objective": o, "objective.beta": b, "seed": s, "status": "done",
         "efficiency": 0.5, "mig": 0.1 * b + 0.01 * s,
         **{f"efficiency.{name}_{n}{suffix}": value(k, b, i, s)
            for k, name in enumerate(("boosting", "linear")) for i, n in enumerate(LABELS)},
         f"efficiency.chance{suffix}": 0.118}
        for o, b, s in grid
    ]  # fmt: skip


def names(drawn):
    (legend,) = drawn.figure.legends
    return [text.get_text() for text in legend.get_texts()]


def test_few_settings_have_a_line_each():
    drawn = figures.labels.draw(Results(scored()))
    assert [axes.get_title(loc="left") for axes in drawn.figure.axes] == [
        "boosted trees", "logistic regression",
    ]  # fmt: skip
    assert names(drawn) == ["vae beta 1", "vae beta 2", "tc beta 1", "tc beta 2"]
    squares = np.mean([0, 1, 4])
    for k, axes in enumerate(drawn.figure.axes):
        *curves, chance = axes.lines
        assert axes.get_xscale() == "log"
        for line, (_, b) in zip(curves, itertools.product("vt", (1, 2)), strict=True):
            assert line.get_xdata().tolist() == list(LABELS)
            known = [0.1 * i + 0.1 + 0.01 * b + 0.001 * squares - 0.05 * k for i in range(4)]
            assert line.get_ydata() == pytest.approx(known)
        assert chance.get_ydata() == pytest.approx([0.118, 0.118])
    (legend,) = drawn.figure.legends
    assert legend.get_title().get_text() == "Dotted: the commonest value of each factor, 0.118."


def test_intervals_are_those_of_the_page():
    table = scored(seeds=5)
    drawn = figures.labels.draw(Results(table))
    known = {(s.score, s.label): s for s in summaries(table)}
    assert len(drawn.rows) == 2 * 4 * 4
    for row in drawn.rows:
        own = known[row["score"], row["line"]]
        assert (row["n"], row["settings"]) == (5, 1)
        assert (row["mean"], row["low"], row["high"]) == pytest.approx(
            (own.mean, own.mean_low, own.mean_high)
        )
        assert row["low"] < row["mean"] < row["high"]


def test_many_settings_are_lines_of_their_objectives():
    """Of strengths 1 to 5 the mean is 3, and each weighs the same though one lacks two seeds."""
    table = scored(strengths=(1, 2, 3, 4, 5), seeds=1)
    table += [{**row, "seed": s} for row in table if row["objective.beta"] == 5 for s in (1, 2)]
    drawn = figures.labels.draw(Results(table))
    assert names(drawn) == ["vae", "tc"]
    line = drawn.figure.axes[0].lines[0]
    assert line.get_ydata() == pytest.approx([0.1 * i + 0.13 for i in range(4)])
    first = drawn.rows[0]
    assert (first["settings"], first["n"], first["labels"]) == (5, 7, 10)
    (legend,) = drawn.figure.legends
    assert (
        "the mean over all configurations of an objective, 10 in all."
        in legend.get_title().get_text()
    )


def test_one_seed_has_no_interval():
    drawn = figures.labels.draw(Results(scored(seeds=1)))
    assert drawn.figure.get_suptitle() == "Accuracy by number of labels"
    assert all(np.isnan(row["low"]) and np.isnan(row["high"]) for row in drawn.rows)


def test_diverged_runs_and_numbers_that_are_missing_are_left_out():
    table = scored()
    table[0] |= {"status": "diverged", "efficiency.linear_10": 1e6}
    for row in table:
        if row["objective"] == "tc":
            row["efficiency.linear_1000"] = None
    drawn = figures.labels.draw(Results(table))
    lines = drawn.figure.axes[1].lines
    assert lines[0].get_ydata()[0] == pytest.approx(value(1, 1, 0, 0) + 0.001 * (1 + 4) / 2)
    assert lines[2].get_xdata().tolist() == [10, 100, 10_000], "the rest is joined"
    assert not any(np.isnan(row["mean"]) for row in drawn.rows)
    own = [r for r in drawn.rows if (r["learner"], r["line"]) == ("linear", "vae beta 1")]
    assert [row["n"] for row in own] == [2] * 4


def test_panels_have_one_scale_and_titles_that_fit():
    table = [
        {**row, **{n.replace("linear", "linear_cv"): v for n, v in row.items()}}
        for row in scored(suffix="@study2019")
    ]
    drawn = figures.labels.draw(Results(table))
    first, *others = drawn.figure.axes
    assert all(axes.get_ylim() == first.get_ylim() for axes in others)
    titles = [axes._left_title for axes in drawn.figure.axes]
    inside = drawn.figure.bbox
    assert all(box.x1 < inside.x1 for box in boxes(drawn.figure, titles))
    assert not overlaps(boxes(drawn.figure, [*titles, drawn.figure._suptitle]))
    assert titles[2].get_text() == "logistic regression, cross-validated\n(study2019)"


def test_which_columns_are_accuracies():
    row = {"objective": "vae", "efficiency.linear": 0.4, "efficiency.linear_10": 0.2,
           "efficiency.linear_cv_100@a": 0.4, "efficiency.linear_cv_20@a": 0.3,
           "efficiency.linear_cv_20": 0.3}  # fmt: skip
    (found,) = learners(configurations([row]))
    assert (found.name, found.protocol) == ("linear_cv", "@a")
    assert list(found.columns) == [20, 100]
    with pytest.raises(DataError, match="the table has none"):
        figures.labels.draw(Results([{"objective": "vae", "efficiency": 0.5}]))
    with pytest.raises(ConfigError, match="runs of one dataset"):
        figures.labels.draw(Results([*scored(), *scored(data="cars3d")]))


def test_a_page_has_the_section_where_there_are_accuracies(tmp_path):
    page, out = write(scored(), tmp_path, ["mig"])
    assert "How many labels it takes" in page.text
    assert "could not be drawn" not in page.text
    assert [float(r["mean"]) for r in rows(out, "labels")[:2]] == pytest.approx(
        [0.11 + 0.005 / 3, 0.21 + 0.005 / 3]
    )
    without = [{n: v for n, v in row.items() if "_" not in n} for row in scored()]
    (tmp_path / "without").mkdir()
    page, out = write(without, tmp_path / "without", ["mig"])
    assert "How many labels" not in page.text
    assert not (out / "figures" / "labels.csv").exists()
