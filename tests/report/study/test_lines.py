"""Lines over a setting, and halves of violins: which points are where, and what is said of them."""

import itertools

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import same_color
from report.study.test_figures import boxes, overlaps
from report.study_pages import rows, write

from unknot.analysis import Results
from unknot.core.errors import ConfigError
from unknot.report.study import figures
from unknot.report.study.blocks import Part
from unknot.report.study.figures.swept_value import distinct_texts

MODELS = ("beta_vae", "ada_gvae")
BETAS = (0.000316, 0.001, 0.00316, 0.01, 0.0316, 0.1, 0.316, 1.0)


def derived(data="dsprites", pixels=4096):
    """E1 of Michlo: 16 betas, none of them twice; scores are numbers of their own."""
    grid = itertools.product(MODELS, (9, 25), enumerate(BETAS))
    return [
        {"data": data, "objective": o, "objective.beta": b * pixels / z, "net.latents": z,
         "seed": 0, "mig": 100 * MODELS.index(o) + z + k / 10}
        for o, z, (k, b) in grid
    ]  # fmt: skip


def crossed(seeds=3):
    """E2 of Michlo, smaller: spacing and beta."""
    grid = itertools.product(MODELS, (1.3653333, 4.3144533), range(8, 0, -1), range(seeds))
    return [
        {"data": "xysquares", "data.spacing": n, "objective": o, "objective.beta": b,
         "seed": s, "mig": 1 - n / 10 + b / 100 + s / 1000}
        for o, b, n, s in grid
    ]  # fmt: skip


def names(drawn):
    (legend,) = drawn.figure.legends
    return [text.get_text() for text in legend.get_texts()]


def ticks(axes):
    return [label for label in axes.get_xticklabels() if label.get_text()]


def test_models_of_two_sizes_are_two_lines_at_their_betas():
    drawn = figures.swept_value.draw(Results(derived()), ["mig"])
    (axes,) = drawn.figure.axes
    assert names(drawn) == [f"{o}, latents {z}" for o in MODELS for z in (9, 25)]
    for line, (o, z) in zip(axes.lines, itertools.product(MODELS, (9, 25)), strict=True):
        assert line.get_xdata() == pytest.approx([b * 4096 / z for b in BETAS])
        assert line.get_ydata() == pytest.approx(
            [100 * MODELS.index(o) + z + k / 10 for k in range(8)]
        )
    assert axes.get_xscale() == "log"
    assert axes.get_xlabel() == "beta"
    low, high = axes.get_ylim()
    assert low < 9, "all points are in the picture"
    assert high > 125
    assert drawn.figure.get_suptitle() == "Scores over strength"


def test_one_look_for_a_model_and_another_for_its_size():
    axes = figures.swept_value.draw(Results(derived()), ["mig"]).figure.axes[0]
    colors = [line.get_color() for line in axes.lines]
    assert same_color(colors[0], colors[1])
    assert not same_color(colors[0], colors[2])
    dashes = [line.get_linestyle() for line in axes.lines]
    assert dashes == ["-", "--", "-", "--"]


def test_lines_that_are_more_than_models_have_the_colours():
    table = [
        {"objective": o, "objective.beta": b, "net.latents": z, "seed": 0, "mig": b + z}
        for o in MODELS for z in (4, 6, 9) for b in (1, 2, 4, 8)
    ]  # fmt: skip
    axes = figures.swept_value.draw(Results(table), ["mig"]).figure.axes[0]
    assert len({line.get_color() for line in axes.lines}) == 3
    assert [line.get_linestyle() for line in axes.lines] == ["-"] * 3 + ["--"] * 3


def test_the_axis_is_the_spacing_and_says_so():
    drawn = figures.swept_value.draw(Results(crossed()), ["mig"])
    (axes,) = drawn.figure.axes
    assert drawn.figure.get_suptitle() == "Scores over spacing"
    assert axes.get_xlabel() == "spacing"
    assert [label.get_text() for label in ticks(axes)] == list("12345678")
    assert names(drawn)[:2] == ["beta_vae, beta 1.37", "beta_vae, beta 4.31"]
    assert axes.lines[1].get_ydata() == pytest.approx(
        [1 - n / 10 + 0.043144533 + 0.001 for n in range(1, 9)]
    )
    assert {(r["axis"], r["swept_value"]) for r in drawn.rows} == {
        ("data.spacing", float(n)) for n in range(1, 9)
    }


def test_objectives_that_share_an_axis_have_a_row_of_values_each():
    table = [
        {"objective": o, f"objective.{name}": v, "seed": 0, "mig": 0.1 * i}
        for o, name, values in (("a", "beta", (1, 4, 16)), ("b", "gamma", (0.5, 2.0)))
        for i, v in enumerate(values)
    ]
    drawn = figures.swept_value.draw(Results(table), ["mig"])
    (axes,) = drawn.figure.axes
    assert [label.get_text() for label in ticks(axes)] == ["1\n0.5", "4\n2", "16\n"]
    assert axes.get_xlabel() == "beta\ngamma"
    assert names(drawn) == ["a", "b"]
    more = [{**row, "objective": f"{row['objective']}{n}", "objective.beta": n + row["mig"]}
            for row in table for n in range(3)]  # fmt: skip
    axes = figures.swept_value.draw(Results(more), ["mig"]).figure.axes[0]
    assert axes.get_xlabel() in ("beta", "strength, smallest first")


@pytest.mark.parametrize("seeds", [1, 3, 5, 10])
def test_few_seeds_are_dots_and_five_have_intervals(seeds):
    axes = figures.swept_value.draw(Results(crossed(seeds)), ["mig"]).figure.axes[0]
    runs = [c for c in axes.collections if isinstance(c, PathCollection)]
    assert sum(len(dots.get_offsets()) for dots in runs) == (32 * seeds if 1 < seeds < 10 else 0)
    lines = [c.get_segments() for c in axes.collections if isinstance(c, LineCollection)]
    assert sum(len(bar) > 0 for line in lines for bar in line) == (32 if seeds >= 5 else 0)
    title = axes.figure.get_suptitle()
    assert title.endswith("mean and 95% interval") == (seeds >= 5)


@pytest.mark.parametrize("scores", [1, 3])
@pytest.mark.parametrize(
    "values",
    [
        [0.000123456 * 3**k for k in range(16)],
        [1000.0 * k for k in range(1, 13)],
        [0.0, 0.25, 0.5, 0.75, 1.0],
    ],
)
def test_ticks_do_not_overlap(values, scores):
    shown = [f"score{i}" for i in range(scores)]
    table = [
        {"objective": "vae", "objective.beta": b, "seed": 0, **dict.fromkeys(shown, b)}
        for b in values
    ]
    other = [{**r, "objective": "tc", "objective.beta": 3 * r["objective.beta"]} for r in table]
    for given in (table, [*table, *other]):
        figure = figures.swept_value.draw(Results(given), shown).figure
        for axes in figure.axes:
            figure.draw_without_rendering()
            assert len(ticks(axes)) >= 3
            assert not overlaps(boxes(figure, ticks(axes)))


def test_numbers_of_an_axis_have_three_digits_or_as_many_as_tell_them_apart():
    assert distinct_texts([0.0517734, 999.96, 1234.5, True]) == ["0.0518", "1,000", "1,234", "yes"]
    assert distinct_texts([0.03161, 0.03162]) == ["0.03161", "0.03162"]
    assert distinct_texts([2.0, 2.0]) == ["2", "2"]


def test_a_page_says_what_its_lines_go_over(tmp_path):
    page, out = write(crossed(), tmp_path)
    assert "What spacing does" in page.text
    assert "from the smallest to the largest spacing." in page.text
    assert "regularisation" not in page.text
    assert len(rows(out, "swept-value")) == 2 * 2 * 8


def test_a_page_of_too_many_lines_has_none(tmp_path):
    table = [
        {"objective": f"o{o}", "steps": s, "batch": b, "seed": 0, "mig": o + s + b}
        for o in range(6) for s in (1, 2, 3, 4) for b in (1, 2, 3)
    ]  # fmt: skip
    _, out = write(table, tmp_path)
    assert not (out / "figures" / "swept-value.png").exists()


# Halves


def test_two_objectives_back_to_back_on_each_dataset():
    both = [*derived(), *derived("xysquares", 12288)]
    drawn = figures.split_pooled.draw(Results(both), ["mig"])
    (axes,) = drawn.figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["dsprites", "xysquares"]
    halves = [c.get_paths()[0].vertices[:, 1] for c in axes.collections[::2]]
    at = (0, 0, 1, 1)
    above = [v.min() < place for v, place in zip(halves, at, strict=True)]
    below = [v.max() > place for v, place in zip(halves, at, strict=True)]
    assert above == [True, False] * 2
    assert below == [False, True] * 2
    crosses = [line.get_xdata()[0] for line in axes.lines]
    assert crosses == pytest.approx([17.35, 117.35] * 2)
    assert [row["data"] for row in drawn.rows] == ["dsprites"] * 32 + ["xysquares"] * 32
    assert names(drawn) == list(MODELS)
    three = [*both, {**both[0], "objective": "ae"}]
    with pytest.raises(
        ConfigError, match="two halves; 'objective' has 3 values: beta_vae, ada_gvae, ae"
    ):
        figures.split_pooled.draw(Results(three), ["mig"])


def test_two_values_of_any_setting_back_to_back_pooled_over_the_others():
    """Also of the objective and the data; a loss is no panel where the objective differs."""
    rows = [
        {"objective": "vae", "objective.likelihood": name, "data": "xysquares", "data.spacing": n,
         "net.latents": z, "seed": s, "mig": 10 * (name == "mse") + n + s / 10, "recon": 1.0 * z}
        for name in ("mse", "overlap") for n in (1, 2) for z in (6, 10) for s in range(3)
    ]  # fmt: skip
    part = Part(Results(rows, ["mig"], losses=["recon"]))
    figures_of_part = {f.name: f for f in figures.split_pooled.applies(part)}
    assert set(figures_of_part) == {
        "split-all-objective-likelihood", "split-all-data-spacing", "split-all-net-latents",
    }  # fmt: skip
    likelihood = figures_of_part["split-all-objective-likelihood"].draw()
    assert names(likelihood) == ["mse", "overlap"]
    assert [axes.get_title(loc="left") or axes.get_title() for axes in likelihood.figure.axes] == [
        "mig"
    ]
    crosses = [line.get_xdata()[0] for line in likelihood.figure.axes[0].lines
               if line.get_marker() == "x"]  # fmt: skip
    assert crosses == pytest.approx([11.6, 1.6])
    assert {row["objective.likelihood"] for row in likelihood.rows} == {"mse", "overlap"}
    spacing = figures_of_part["split-all-data-spacing"].draw()
    assert len(spacing.figure.axes) == 2, "reconstruction is the same function"


def test_a_page_of_two_objectives_has_them_once(tmp_path):
    """And none by size: where no setting has both sizes there is nothing to be back to back."""
    _, out = write(derived(), tmp_path)
    drawn = {path.stem for path in (out / "figures").glob("*.png")}
    assert {name for name in drawn if name.startswith(("split", "spread"))} == {
        "spread", "split-objective",
    }  # fmt: skip
    values = [float(row["value"]) for row in rows(out, "split-objective")]
    assert np.allclose(sorted(values), sorted(r["mig"] for r in derived()))


def test_a_trade_off_joins_what_a_line_would():
    table = [{**row, "recon": 10 - row["objective.beta"]} for row in derived()]
    (axes,) = figures.trade_off.draw(Results(table), "mig").figure.axes
    joined = [line for line in axes.lines if line.get_linestyle() not in ("None", "none")]
    sizes = sorted(len(line.get_xdata()) for line in joined)
    assert sizes.count(len(BETAS)) == 4, "models of 9 and of 25 latents are lines of their own"
    assert sizes.count(2 * len(BETAS)) == 0
