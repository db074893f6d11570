"""Pages of odd tables: one run, runs that all collapsed, long names, tiny and huge values, many.

No text of their figures covers another or is cut off, and matplotlib has nothing to say.
"""

import itertools
import warnings

import numpy as np
import pytest
from report.study_pages import write
from report.text_boxes import text_faults

from unknot.analysis import Results
from unknot.report import style
from unknot.report.study.figures import cumulative, spread, swept_value

LONG = "a_name_of_eighty_letters_that_somebody_gave_to_it_and_that_no_figure_has_room_for"
ANOTHER = "one_more_of_eighty_letters_which_is_as_long_as_the_first_and_begins_in_another_way"


def table(objectives, betas, seeds, *, data="dsprites", scale=1.0, score="mig"):
    draws = np.random.default_rng(0)
    return [
        {
            "data": data, "objective": name, "objective.beta": beta, "seed": seed,
            score: scale * (0.2 + 0.05 * np.log1p(beta) + 0.03 * draws.normal()),
            "recon": scale * (30 + draws.normal()), "kl": scale * (5 + draws.random()),
        }
        for name, beta, seed in itertools.product(objectives, betas, range(seeds))
    ]  # fmt: skip


def collapsed():
    return [{**row, "mig": 0.0, "kl": 0.0, "recon": 300.0} for row in table(["vae"], [1, 4], 4)]


def mixed():
    powers = np.random.default_rng(1).uniform(-12, 12, (2, 8))
    rows = table(["beta_vae", "vae"], [1], 4)
    return [
        {**row, "mig": 10.0**a, "recon": 10.0**b}
        for row, (a, b) in zip(rows, powers.T, strict=True)
    ]


def infinite():
    rows = table(["beta_vae", "vae"], [1, 4], 4)
    return [{**row, "mig": np.inf if row["seed"] == 0 else row["mig"]} for row in rows]


TABLES = {
    "one run": lambda: table(["vae"], [1], 1),
    "collapsed": collapsed,
    "long names": lambda: table([LONG, ANOTHER], [1, 4], 5, data=LONG, score=ANOTHER),
    "huge": lambda: table(["beta_vae", "vae"], [1, 1e12], 5, scale=1e12),
    "tiny": lambda: table(["beta_vae", "vae"], [1e-12, 1], 5, scale=1e-12),
    "mixed": mixed,
    "infinite": infinite,
    "symbols": lambda: table(["$\\frac{", "<b>a_b%&#^~</b>"], [1, 4], 4, data="$x_{"),
    "zero and below": lambda: table(["beta_vae"], [-0.5, 0, 1e-9, 4], 4),
}


@pytest.mark.parametrize("name", TABLES)
def test_texts_stand_apart_and_nothing_is_warned_of(monkeypatch, tmp_path, name):
    faults, arrange = {}, style.arrange

    def look(figure):
        first = figure.get_layout_engine() is not None
        arrange(figure)
        if first and (found := text_faults(figure)):
            faults[figure.get_suptitle()] = found

    monkeypatch.setattr(style, "arrange", look)
    monkeypatch.setitem(style.STYLE, "savefig.dpi", 100)  # laid out for where it is looked at
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page, _ = write(TABLES[name](), tmp_path)
    assert page.images or name == "one run"
    assert not faults


@pytest.mark.slow
def test_a_page_of_two_thousand_runs(tmp_path):
    objectives = ["beta_vae", "dip_vae_i", "dip_vae_ii", "beta_tcvae", "factor_vae"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page, _ = write(table(objectives, [1, 2, 4, 8, 16, 32, 64, 128], 50), tmp_path)
    assert "2,000 runs" in page.text


def test_scores_of_far_apart_sizes_have_a_logarithmic_axis():
    """Between 1e-12 and 1e12 a plain axis would show all but the largest at 0."""
    rows = [
        {"objective": name, "objective.beta": beta, "seed": seed, "mig": 10.0 ** (8 * seed - 12),
         "sap": 0.1 * seed + 0.1, "recon": 50.0 + beta + seed}
        for name in ("beta_vae", "dip_vae_i") for beta in (1, 4, 16) for seed in range(4)
    ]  # fmt: skip
    results = Results(rows, ["mig", "sap"])
    for draw, side in ((spread.draw, "x"), (cumulative.draw, "x"), (swept_value.draw, "y")):
        figure = draw(results).figure
        scales = [getattr(axes, f"get_{side}scale")() for axes in figure.axes[:2]]
        assert scales == ["log", "linear"]
        assert text_faults(figure) == []
