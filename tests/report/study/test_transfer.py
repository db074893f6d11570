"""Settings from dataset to dataset: which points are where, what is the same setting, what is said

Numbers of the published runs are those of the notes on Hartmann 2021, section 4.1.
"""

import itertools

import numpy as np
import pytest
from analysis.tables import configurations
from metrics import study2019
from report.study.test_figures import boxes, overlaps
from report.study_pages import rows, study, write

from unknot.analysis import Results, published
from unknot.core.errors import ConfigError, DataError
from unknot.report.study import figures
from unknot.report.study.figures.transfer import MOST_PAIRS, dataset_pairs

LEVELS = {"dsprites": (0.1, 0.2, 0.4, 0.8), "cars3d": (0.2, 0.1, 0.3, 0.4)}


def on(data, levels, objectives=("vae", "tc"), **more):
    """Two strengths of each objective; two seeds, a tenth off their mean to either side."""
    grid = zip(itertools.product(objectives, (1, 4)), levels, strict=True)
    return [
        {"data": data, "objective": o, "objective.beta": b, "seed": s, "mig": level + off, **more}
        for (o, b), level in grid
        for s, off in enumerate((-0.01, 0.01))
    ]


def both():
    return [row for data, levels in LEVELS.items() for row in on(data, levels)]


def points(axes):
    """By objective, in the order of the legend."""
    own = [line for line in axes.lines if line.get_linestyle() == "None"]
    return [(line.get_xdata().tolist(), line.get_ydata().tolist()) for line in own]


def note(drawn):
    (legend,) = drawn.figure.legends
    return legend.get_title().get_text()


def test_points_are_means_of_settings_on_either_dataset():
    drawn = figures.transfer.draw(Results(both()), "mig")
    (axes,) = drawn.figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("dsprites", "cars3d")
    vae, tc, rings = points(axes)
    assert (*vae, *tc) == tuple(
        pytest.approx(v) for v in ([0.1, 0.2], [0.2, 0.1], [0.4, 0.8], [0.3, 0.4])
    )
    assert rings == ([pytest.approx(0.8)], [pytest.approx(0.4)]), "it is the best on both"
    # Of four ranks two neighbours are exchanged: 1 - 6 * 2 / (4 * 15).
    assert [row["spearman"] for row in drawn.rows] == pytest.approx([0.8] * 4)
    assert axes.get_title(loc="left") == "Spearman’s (0.80)"
    assert "In brackets: p above 0.05." in note(drawn)
    assert [(r["objective"], r["swept_value"], r["first_n"]) for r in drawn.rows] == [
        ("vae", 1, 2), ("vae", 4, 2), ("tc", 1, 2), ("tc", 4, 2),
    ]  # fmt: skip


def test_the_diagonal_is_where_both_are_equal():
    axes = figures.transfer.draw(Results(both()), "mig").figure.axes[0]
    (line,) = (line for line in axes.lines if line.get_linestyle() == "-")
    assert tuple(line.get_xdata()) == tuple(line.get_ydata()) == axes.get_xlim()
    assert axes.get_xlim() == axes.get_ylim()
    low, high = axes.get_xlim()
    assert low < 0.1
    assert high > 0.8


def test_levels_far_apart_have_axes_of_their_own():
    table = [*on("dsprites", LEVELS["dsprites"]), *on("cars3d", [50.1, 50.2, 50.3, 50.5])]
    drawn = figures.transfer.draw(Results(table), "mig")
    (axes,) = drawn.figure.axes
    assert axes.get_xlim()[1] < 1
    assert axes.get_ylim()[0] > 50
    assert not any(line.get_linestyle() == "-" for line in axes.lines)
    assert "each axis has its own scale" in note(drawn)
    assert "Grey line:" not in note(drawn)


def test_the_best_of_each_dataset_is_named():
    table = [*on("a", (0.1, 0.2, 0.9, 0.3)), *on("b", (0.8, 0.3, 0.2, 0.3))]
    (axes,) = figures.transfer.draw(Results(table), "mig").figure.axes
    assert [text.get_text() for text in axes.texts] == ["beta 1", "beta 1"]
    assert points(axes)[-1] == (pytest.approx([0.9, 0.1]), pytest.approx([0.2, 0.8]))
    renamed = [{n.replace("mig", "recon"): v for n, v in row.items()} for row in table]
    (axes,) = figures.transfer.draw(Results(renamed, lower=["recon"]), "recon").figure.axes
    assert points(axes)[-1] == (pytest.approx([0.1, 0.9]), pytest.approx([0.8, 0.2])), "less"
    tied = [*on("a", (1, 1, 0.9, 0.3)), *on("b", (0.8, 0.3, 0.2, 0.3))]
    (axes,) = figures.transfer.draw(Results(tied), "mig").figure.axes
    assert points(axes)[-1] == (pytest.approx([1]), pytest.approx([0.8])), "no best one of a tie"


@pytest.mark.parametrize("other", [LEVELS["cars3d"], (50.1, 50.2, 50.3, 50.5)])
def test_words_lie_within_the_picture_and_names_within_their_panel(other):
    drawn = figures.transfer.draw(
        Results([*on("dsprites", LEVELS["dsprites"]), *on("cars3d", other)]), "mig"
    )
    (axes,), (legend,) = drawn.figure.axes, drawn.figure.legends
    (words,) = boxes(drawn.figure, [legend.get_title()])
    assert words.x1 < drawn.figure.bbox.x1
    (name,) = boxes(drawn.figure, axes.texts)
    assert axes.bbox.x0 < name.x0
    assert name.x1 < axes.bbox.x1


def test_what_goes_along_with_the_dataset_is_no_other_setting():
    """Steps and words may differ; strengths may not, even if no dataset has two of them."""
    a, b = LEVELS.values()
    table = [*on("a", a, steps=10, **{"objective.likelihood": "bernoulli"}),
             *on("b", b, steps=20, **{"objective.likelihood": "gaussian"})]  # fmt: skip
    (found,) = dataset_pairs(configurations(table), "mig")
    assert len(found.settings) == 4
    gamma = [*on("a", a, **{"objective.gamma": 1}), *on("b", b, **{"objective.gamma": 2})]
    assert dataset_pairs(configurations(gamma), "mig") == []
    more = [*on("a", a, steps=10), *on("a", b, steps=20), *on("b", b, steps=20)]
    (found,) = dataset_pairs(configurations(more), "mig")
    assert found.x == pytest.approx(found.y), "those with as many steps"


def test_settings_on_one_dataset_and_runs_that_diverged_are_left_out():
    table = both()
    table[-1] |= {"status": "diverged", "mig": 1e6}
    table[0]["mig"] = table[1]["mig"] = None
    drawn = figures.transfer.draw(Results(table), "mig")
    assert [row["first_mean"] for row in drawn.rows] == pytest.approx([0.2, 0.4, 0.8])
    assert drawn.rows[-1]["second_mean"] == pytest.approx(0.39)
    table[2]["mig"] = table[3]["mig"] = None
    with pytest.raises(DataError, match="No two datasets have 3 settings with 'mig' in common"):
        figures.transfer.draw(Results(table), "mig")
    with pytest.raises(ConfigError):
        figures.transfer.draw(Results(table), "sap")


def test_scores_that_do_not_differ_have_no_correlation():
    drawn = figures.transfer.draw(
        Results([*on("a", (0.5,) * 4), *on("b", LEVELS["cars3d"])]), "mig"
    )
    (axes,) = drawn.figure.axes
    assert axes.get_title(loc="left") == "Spearman’s none"
    assert np.isnan(drawn.rows[0]["spearman"])


def test_more_pairs_than_there_is_room_for_are_said_and_in_the_file():
    rng = np.random.default_rng(0)
    table = [row for name in "abcde" for row in on(name, rng.random(4))]
    drawn = figures.transfer.draw(Results(table), "mig")
    assert len(drawn.figure.axes) == MOST_PAIRS == 6
    named = [(axes.get_xlabel(), axes.get_ylabel()) for axes in drawn.figure.axes]
    assert named == list(itertools.combinations("abcde", 2))[:6]
    assert "6 of 10 pairs of datasets are shown; the file has the others." in note(drawn)
    assert [row["shown"] for row in drawn.rows] == [True] * 24 + [False] * 16
    words = [
        text
        for axes in drawn.figure.axes
        for text in (*axes.texts, axes._left_title, axes.xaxis.label, axes.yaxis.label)
    ]
    assert not overlaps(boxes(drawn.figure, words))


def test_a_page_of_two_datasets_has_a_figure_for_each_score(tmp_path):
    table = [*study(2), *study(2, data="cars3d", shift=0.1)]
    page, out = write(table, tmp_path, ["mig", "dci.disentanglement"])
    assert "Are configurations that are good on one dataset good on another?" in page.text
    assert "could not be drawn" not in page.text
    held = rows(out, "datasets-transfer-mig")
    assert len(held) == 6
    for row in held[:5]:
        apart = float(row["second_mean"]) - float(row["first_mean"])
        assert apart == pytest.approx(0.1)
    assert len(rows(out, "datasets-transfer-dci-disentanglement")) == 6


def test_a_page_of_two_datasets_without_a_common_setting_has_none(tmp_path):
    other = [{**row, "objective": f"{row['objective']}_2"} for row in study(2, data="cars3d")]
    page, out = write([*study(2), *other], tmp_path, ["mig"])
    assert not list((out / "figures").glob("*transfer*"))
    assert "could not be drawn" not in page.text


# Spearman's of the 36 means of MIG, dSprites and another.
KNOWN = {"color_dsprites": 0.94, "cars3d": 0.80, "noisy_dsprites": 0.75,
         "scream_dsprites": 0.59, "smallnorb": 0.03}  # fmt: skip


def published_pair(other):
    files = [study2019.FOLDER / f"{name}.csv" for name in ("dsprites_full", other)]
    if not all(file.exists() for file in files):
        pytest.skip(f"no published scores of dsprites and {other} beside the checkout")
    found = [cell for file in files for cell in configurations(published.read(file))]
    return dataset_pairs(found, "mig"), found


@pytest.mark.parametrize("other", KNOWN)
def test_published_settings_transfer_or_do_not(other):
    """To 0.01: runs that diverged are left out here and were not there."""
    (pair,), _ = published_pair(other)
    assert (pair.first, pair.second, len(pair.settings)) == ("dsprites", other, 36)
    assert pair.spearman == pytest.approx(KNOWN[other], abs=0.01)


def test_published_betas_are_in_reverse_order_on_smallnorb():
    _, found = published_pair("smallnorb")
    (pair,) = dataset_pairs([cell for cell in found if cell.objective == "beta_vae"], "mig")
    assert (len(pair.settings), pair.spearman) == (6, pytest.approx(-1))
    assert [cell.swept_value for cell, _ in pair.settings] == [1, 2, 4, 6, 8, 16]
    assert pair.x[[0, -1]] == pytest.approx([0.075, 0.263], abs=5e-4)
    assert pair.y[[0, -1]] == pytest.approx([0.250, 0.177], abs=5e-4)
