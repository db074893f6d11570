"""Figures of a study: what is drawn where, which numbers come with it, and that it can be read."""

import csv
import io
import itertools
import math

import numpy as np
import pytest
from analysis.tables import shares, summaries
from matplotlib.text import Text
from report import study_pages

from unknot.analysis import Results
from unknot.analysis.comparison import compare
from unknot.core.errors import ConfigError, DataError
from unknot.report.labels import place_labels
from unknot.report.study import figures
from unknot.report.study.blocks import Part
from unknot.report.study.boxes import density
from unknot.report.study.style import DataFigure, looks, panels
from unknot.report.style import INK, RULE, png

OBJECTIVES = {"beta_vae": "beta", "factor_vae": "gamma", "dip_vae_i": "lambda_od",
              "dip_vae_ii": "lambda_od", "beta_tcvae": "beta", "annealed_vae": "c"}  # fmt: skip
STRENGTHS = (1.0, 2.0, 4.0, 8.0, 16.0, 100.0)


def study(seeds=12, **given):
    """36 settings, the last run diverged."""
    return study_pages.study(seeds, objectives=OBJECTIVES, strengths=STRENGTHS, **given)


@pytest.fixture(scope="module")
def table():
    return study()


def words(axes):
    return [text.get_text() for text in axes.texts]


def boxes(figure, texts):
    """Where words lie once the figure is drawn, in pixels; without the lines to their points."""
    figure.draw_without_rendering()
    return [Text.get_window_extent(text) for text in texts if text.get_text()]


def overlaps(found):
    """Pairs that share more than a rounding of a pixel."""
    return [
        (a, b)
        for a, b in itertools.combinations(found, 2)
        if min(a.x1, b.x1) - max(a.x0, b.x0) > 0.5 and min(a.y1, b.y1) - max(a.y0, b.y0) > 0.5
    ]


# Spread


@pytest.mark.parametrize("kind", ["box", "violin"])
def test_a_row_for_each_setting_in_which_no_words_overlap(table, kind):
    drawn = figures.spread.draw(Results(table), ["mig", "recon"], kind=kind)
    left, right = drawn.figure.axes
    names = [label.get_text() for label in left.get_yticklabels()]
    assert len(names) == 36 + 6
    assert names[:2] == ["beta 1", "beta 2"]
    assert names[36:] == list(OBJECTIVES)
    assert not overlaps(boxes(drawn.figure, left.get_yticklabels()))
    inside = drawn.figure.bbox
    for box in boxes(drawn.figure, left.get_yticklabels()):
        assert box.x0 >= inside.x0, "no name is cut off at the left"
    assert words(left) == words(right) == ["−1"]
    assert len(drawn.rows) == 2 * 36 * 12


def test_diverged_runs_move_no_axis_and_are_counted(table):
    drawn = figures.spread.draw(Results(table), ["mig"])
    (axes,) = drawn.figure.axes
    assert axes.get_xlim()[1] < 1
    assert "1 diverged" in drawn.figure.get_supxlabel()
    (row,) = (r for r in drawn.rows if r["status"] == "diverged")
    assert row["value"] == 1e6


def test_boxes_from_their_quartiles():
    values = [0.0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 40]
    rows = [{"objective": "vae", "seed": i, "mig": v} for i, v in enumerate(values)]
    (axes,) = figures.spread.draw(Results(rows), ["mig"]).figure.axes
    (box,) = axes.patches
    q1, middle, q3 = np.quantile(values, (0.25, 0.5, 0.75))
    assert (box.get_x(), box.get_x() + box.get_width()) == pytest.approx((q1, q3))
    whisker, median = axes.collections
    assert [p[0] for p in whisker.get_segments()[0]] == [0, 10]
    assert median.get_segments()[0][0][0] == middle
    beyond, mean = axes.lines
    assert beyond.get_xdata().tolist() == [40]
    assert mean.get_xdata() == pytest.approx([np.mean(values)])


def test_few_runs_are_dots():
    rows = [{"objective": "vae", "seed": i, "mig": i / 10} for i in range(5)]
    (axes,) = figures.spread.draw(Results(rows), ["mig"]).figure.axes
    assert not axes.patches
    assert axes.lines[0].get_xdata() == pytest.approx([0, 0.1, 0.2, 0.3, 0.4])


def test_objectives_as_one_box_each(table):
    (axes,) = figures.spread.draw(Results(table), ["mig"], by="objective").figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == list(OBJECTIVES)
    assert len(axes.patches) == 6


def grid_of_settings():
    """Configurations that differ in four settings."""
    choices = itertools.product((0.0316, 1.0), ("conv64", "conv64_wide"), (9, 25), (1e-3, 1e-4))
    return [
        {"objective": "ada_gvae", "objective.beta": beta, "net": net, "net.latents": latents,
         "optim.lr": lr, "seed": seed, "id": f"run-{seed}", "mig": 0.1 * seed}
        for beta, net, latents, lr in choices for seed in range(2)
    ]  # fmt: skip


def test_rows_with_long_names_have_values_and_differ():
    drawn = figures.spread.draw(Results(grid_of_settings(), ["mig"]))
    labels = [label.get_text() for label in drawn.figure.axes[0].get_yticklabels()]
    assert labels[:2] == ["0.0316 · conv64 · 9 · 0.001", "0.0316 · conv64 · 9 · 0.0001"]
    assert labels[-1] == "ada_gvae: beta · net · net.latents · optim.lr"
    assert len({*labels}) == 17, "none is cut off so that it looks like another"
    halves = figures.split_settings.draw(Results(grid_of_settings(), ["mig"]), "mig", "net")
    labels = [label.get_text() for label in halves.figure.axes[0].get_yticklabels()]
    assert len({*labels}) == 9


def test_densities():
    grid, wide = density(np.random.default_rng(0).normal(size=4000))
    assert wide.max() == 1
    assert wide == pytest.approx(np.exp(-(grid**2) / 2), abs=0.08)
    grid, wide = density(np.full(20, 0.6))
    assert (grid.tolist(), wide.tolist()) == ([0.6, 0.6], [1, 1])


def test_split_violins_back_to_back(table):
    drawn = figures.split_settings.draw(
        Results([*table, *study(data="cars3d", shift=0.1)]), "mig", "data"
    )
    (axes,) = drawn.figure.axes
    halves = [c for c in axes.collections if hasattr(c, "get_paths") and len(c.get_paths()) == 1]
    first = halves[0].get_paths()[0].vertices
    assert first[:, 1].max() == pytest.approx(1), "above the line of the first setting, y is down"
    assert first[:, 1].min() < 1
    assert {row["data"] for row in drawn.rows} == {"dsprites", "cars3d"}
    assert len(drawn.rows) == 2 * 36 * 12
    with pytest.raises(ConfigError, match="'data' has 1 values: dsprites"):
        figures.split_settings.draw(Results(table), "mig", "data")


def test_shares_of_runs_up_to_a_score():
    rows = [{"objective": "vae", "seed": i, "mig": v} for i, v in enumerate([0.3, 0.1, 0.2])]
    rows += [{"objective": "vae", "seed": 3, "status": "diverged"}]
    drawn = figures.cumulative.draw(Results(rows), ["mig"])
    (line,) = drawn.figure.axes[0].lines
    assert line.get_xdata().tolist() == [0.1, 0.1, 0.2, 0.3]
    assert line.get_ydata().tolist() == [0.25, 0.5, 0.75, 1]
    assert [(r["value"], r["share"]) for r in drawn.rows] == [(0.1, 0.5), (0.2, 0.75), (0.3, 1)]
    assert "below all others: 1 diverged" in drawn.figure.legends[0].get_title().get_text()


# Strength


def test_lines_over_strength_with_their_intervals(table):
    drawn = figures.swept_value.draw(Results(table), ["mig", "recon"])
    found = summaries(table, ["mig"])
    axes = drawn.figure.axes[0]
    assert len(axes.lines) == 6
    assert axes.lines[0].get_ydata() == pytest.approx([s.mean for s in found[:6]])
    ends = [segment[:, 1].tolist() for segment in axes.collections[0].get_segments()]
    assert ends == [pytest.approx([s.mean_low, s.mean_high]) for s in found[:6]]
    (legend,) = drawn.figure.legends
    assert legend.get_texts()[0].get_text() == "beta_vae: beta 1, 2, 4, 8, 16, 100"
    assert len(drawn.rows) == 72


def test_lines_of_datasets_stand_at_their_strengths(table):
    both = [*table, *study(data="cars3d")]
    beta = [row for row in both if row["objective"] == "beta_vae"]
    axes = figures.swept_value.draw(Results(beta), ["mig"], lines="data").figure.axes[0]
    ticks = [label.get_text() for label in axes.get_xticklabels()]
    assert ticks == ["1", "2", "4", "8", "16", "100"]
    assert axes.get_xlabel() == "beta"
    with pytest.raises(ConfigError, match="needs one data; got cars3d, dsprites"):
        figures.swept_value.draw(Results(both), ["mig"])


def test_the_trade_off_has_its_front_and_words_that_do_not_overlap(table):
    drawn = figures.trade_off.draw(Results(table), "mig")
    (axes,) = drawn.figure.axes
    assert not overlaps(boxes(drawn.figure, axes.texts))
    on = [(r["recon"], r["mig"]) for r in drawn.rows if r["on_front"]]
    rings = axes.lines[-1]
    assert sorted(zip(rings.get_xdata(), rings.get_ydata(), strict=True)) == sorted(on)
    assert axes.get_xscale() == "log"
    assert max(r["mig"] for r in drawn.rows) < 1


def test_rate_and_distortion_with_lines_of_equal_elbo(table):
    nats = [{**row, "data": "cars3d", "objective.likelihood": "bernoulli"} for row in table]
    drawn = figures.rate_distortion.draw(Results(nats), likelihood="bernoulli")
    (axes,) = drawn.figure.axes
    grey = [line for line in axes.lines if line.get_color() == RULE]
    assert len(grey) >= 3
    names = [text for text in words(axes) if text.startswith("ELBO")]
    for line, name in zip(grey, names, strict=True):
        total = float(name.removeprefix("ELBO −").replace(",", ""))
        assert np.add(line.get_xdata(), line.get_ydata()) == pytest.approx(total)
    assert "1 runs that diverged" in drawn.figure.legends[0].get_title().get_text()
    assert sum(not row["shown"] for row in drawn.rows) == 1


def test_a_squared_error_has_no_elbo_and_a_plane_of_its_own(table):
    kinds = {"beta_vae": "bernoulli", "dip_vae_i": "sigmoid_gaussian"}
    rows = [
        {**row, "objective.likelihood": kinds[row["objective"]]}
        for row in table
        if row["objective"] in kinds
    ]
    planes = {f.name: f.draw() for f in figures.rate_distortion.applies(Part(Results(rows)))}
    nats = planes["rate-distortion-bernoulli"]
    squares = planes["rate-distortion-sigmoid_gaussian"]
    assert {row["objective"] for row in nats.rows} == {"beta_vae"}
    assert {row["objective"] for row in squares.rows} == {"dip_vae_i"}
    (axes,) = squares.figure.axes
    assert not [text for text in words(axes) if "ELBO" in text]
    assert "nats" not in squares.figure.get_suptitle() + axes.get_ylabel()
    assert "no ELBO" in squares.figure.legends[0].get_title().get_text()


def test_black_and_white_images_bound_rate_and_distortion_by_their_entropy(table):
    rows = [
        {**row, "objective.likelihood": "bernoulli", "data.standardize": False} for row in table
    ]
    (axes,) = figures.rate_distortion.draw(Results(rows), likelihood="bernoulli").figure.axes
    black = next(line for line in axes.lines if line.get_color() == INK)
    assert black.get_xdata() == pytest.approx([0, np.log(737_280)])
    assert black.get_ydata() == pytest.approx([np.log(737_280), 0])
    # Another choice of images has another entropy.
    rows = [{**row, "data.limit": 100} for row in rows]
    (axes,) = figures.rate_distortion.draw(Results(rows), likelihood="bernoulli").figure.axes
    assert not [line for line in axes.lines if line.get_color() == INK]


# Tables


def test_the_correlation_map_has_each_number():
    a = np.arange(20.0)
    rows = {
        "objective": ["vae"] * 20,
        "up": a,
        "down": -(a**3),
        "noise": np.random.default_rng(0).normal(size=20),
    }
    drawn = figures.correlations.draw(Results(rows))
    (axes,) = drawn.figure.axes
    assert words(axes)[:2] == ["100", "−100"]
    assert words(axes)[2].startswith("(")
    by = {(r["first"], r["second"]): r for r in drawn.rows}
    assert by["up", "down"]["spearman"] == -1
    assert by["up", "down"]["pearson"] > -1
    assert by["up", "noise"]["spearman_p"] > 0.05
    assert not overlaps(boxes(drawn.figure, axes.texts))


def test_bars_of_shares_add_up(table):
    drawn = figures.shares.draw(Results(table))
    (axes,) = drawn.figure.axes
    widths = [patch.get_width() for patch in axes.patches]
    for row, found in zip(drawn.rows, shares(table), strict=True):
        own = [widths.pop(0) for _ in range(3)]
        assert sum(own) == pytest.approx(1)
        assert own == pytest.approx(list(found.shares.values()))
        assert row["seed"] == found.shares["seed"]
    notes = drawn.figure.legends[0].get_title().get_text()
    assert notes == "1 runs that diverged were left out"
    with pytest.raises(DataError, match="No score varies"):
        figures.shares.draw(Results([{"objective": "vae", "mig": 1.0}] * 2))


def test_ours_beside_published_with_baselines(table):
    ours = [{**row, "mig": row["mig"] + 1, "steps": 10} for row in table if row["seed"] < 3]
    theirs = [{**row, "steps": 99} for row in table]
    found = compare(summaries(ours, ["mig", "recon"]), summaries(theirs, ["mig", "recon"]))
    drawn = figures.published.draw(found, baselines={"VAE": {"mig": 0.3}})
    left, right = drawn.figure.axes
    dashed = [line for line in left.lines if line.get_linestyle() == "--"]
    assert [line.get_xdata()[0] for line in dashed] == [0.3]
    assert not any(line.get_linestyle() == "--" for line in right.lines)
    own = [row for row in drawn.rows if row["score"] == "mig"]
    ticks = sum(row["ours_n"] + row["published_n"] for row in own)
    assert sum(len(c.get_segments()) for c in left.collections) == ticks + 2 * len(own)
    assert len(words(left)) == sum(r["flagged"] for r in drawn.rows if r["score"] == "mig") == 36
    notes = drawn.figure.legends[0].get_title().get_text()
    assert "Runs per configuration: ours 3, published 11 to 12." in notes
    assert "Not the same: steps 10, not 99." in notes
    assert len(drawn.rows) == 72
    assert not overlaps(boxes(drawn.figure, left.get_yticklabels()))
    with pytest.raises(DataError, match="No configuration is in both"):
        figures.published.draw(compare([], summaries(theirs, ["mig"])))


# All of them


def test_words_find_room_or_are_left_out():
    figure, (axes,) = panels(1, size=(3.0, 3.0), head=0.0, title="")
    points = [(0.5 + i / 500, 0.5) for i in range(60)]
    axes.plot(*np.transpose(points), ".")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    without = place_labels(figure, axes, points, ["100"] * 60, ["#000000"] * 60)
    assert 0 < len(without) < 60
    assert len(axes.texts) == 60 - len(without)
    assert not overlaps(boxes(figure, axes.texts))


def test_looks_differ_in_more_than_colour():
    found = list(looks(map(str, range(14))).values())
    assert len({(look.color, look.marker) for look in found}) == 14
    assert len({look.marker for look in found[:7]}) == len({look.color for look in found[:7]}) == 7


def test_numbers_as_csv(tmp_path):
    rows = [{"a": 1.5, "b": math.nan}, {"a": None, "c": "x,y"}]
    drawn = DataFigure(panels(1, size=(1.0, 1.0), head=0.0, title="")[0], rows)
    read = list(csv.DictReader(io.StringIO(drawn.csv)))
    assert read == [{"a": "1.5", "b": "", "c": ""}, {"a": "", "b": "", "c": "x,y"}]
    paths = drawn.save(tmp_path, "figure")
    assert [path.name for path in paths] == ["figure.png", "figure.svg", "figure.csv"]
    assert paths[0].read_bytes()[:4] == b"\x89PNG"
    assert b"<svg" in paths[1].read_bytes()[:600]


def test_the_same_bytes_at_every_call():
    rows = study(3)
    one, again = (figures.trade_off.draw(Results(rows), "mig") for _ in range(2))
    assert png(one.figure) == png(again.figure)
    assert one.svg == again.svg
    assert one.csv == again.csv
