"""Configurations of a table: what differs in nothing but the seed, and what is missing."""

import itertools
import math

import pytest
from analysis.tables import configurations, run, seeds, summaries

from unknot.analysis import Results
from unknot.analysis.configurations import pick
from unknot.analysis.plain_table import columns
from unknot.core.errors import ConfigError, DataError

NAN = math.nan


def test_cells_are_what_differs_in_nothing_but_the_seed():
    rows = [
        run(objective__beta=b, seed=s, steps=100, mig=b + s, id=f"{b}{s}")
        for s, b in itertools.product((0, 1), (16, 2, 4))
    ]
    found = configurations(rows)
    assert [(c.label, c.swept_value, c.axis) for c in found] == [
        ("beta_vae beta 2", 2, "objective.beta"),
        ("beta_vae beta 4", 4, "objective.beta"),
        ("beta_vae beta 16", 16, "objective.beta"),
    ]
    assert found[0].runs["mig"] == [2, 3]
    assert found[0].settings == {"objective": "beta_vae", "objective.beta": 2, "steps": 100}


def test_an_axis_that_others_follow_is_the_strength():
    rows = [
        run("dip", objective__decay=0.0, objective__od=od, objective__d=10 * od, mig=0.1)
        for od in (5, 1)
    ]
    assert [(c.label, c.swept_value) for c in configurations(rows)] == [
        ("dip od 1", 1),
        ("dip od 5", 5),
    ]


def test_two_axes_that_cross_are_named_both():
    rows = [run(objective__a=a, objective__b=b, mig=1.0) for a in (1, 2) for b in (3, 4)]
    found = configurations(rows)
    assert [c.swept_value for c in found] == ["a 1, b 3", "a 1, b 4", "a 2, b 3", "a 2, b 4"]
    assert {c.axis for c in found} == {""}


def test_axes_of_one_dataset_and_objective_are_its_own():
    """Beta is all that differs on one dataset, though datasets differ too."""
    rows = [run(data=d, objective__beta=b, mig=1.0) for d in ("cars3d", "dsprites") for b in (1, 4)]
    rows += [run("ae", data="dsprites", mig=1.0)]
    found = [(c.data, c.label, c.swept_value) for c in configurations(rows)]
    assert found == [
        ("cars3d", "beta_vae beta 1", 1),
        ("cars3d", "beta_vae beta 4", 4),
        ("dsprites", "beta_vae beta 1", 1),
        ("dsprites", "beta_vae beta 4", 4),
        ("dsprites", "ae", ""),
    ]


def test_schedules_are_settings_of_their_own():
    table = {
        "objective.name": ["annealed_vae"] * 2,
        "objective.c": [{"kind": "linear", "end": 25.0}, {"kind": "linear", "end": 5.0}],
        "mig": [0.1, 0.2],
    }
    assert [c.label for c in configurations(table)] == ["annealed_vae c 5", "annealed_vae c 25"]
    assert configurations(table)[0].axis == "objective.c.end"


def test_settings_and_scores_are_told_apart():
    (one,) = configurations(
        [run(seed=0, seconds=3.0, steps=5, mig=0.1, dci__completeness=0.2, id="a")]
    )
    assert Results(one.runs).scores == ["mig", "dci.completeness"]


def test_what_is_missing_is_counted_by_its_reason():
    rows = [
        run(status="done", mig=0.5),
        run(status="done", mig=NAN),
        run(status="done"),
        run(status="diverged", mig=9.0),
        run(status="done", diverged=1200, mig=9.0),
        run(status="failed"),
        run(status="planned"),
        run(status="done", mig=math.inf, diverged=False),
    ]
    (one,) = configurations(rows)
    found = one.sample("mig")
    assert found.values.tolist() == [0.5]
    assert (found.runs, found.diverged, found.undefined, found.unfinished) == (8, 2, 3, 2)
    (summary,) = summaries(rows, ["mig"])
    assert summary.mean == 0.5
    assert summary.missing == "2 diverged, 3 undefined, 2 unfinished"


def test_tables_that_do_not_tell():
    with pytest.raises(ConfigError, match="no column 'objective'"):
        configurations({"mig": [0.1]})
    with pytest.raises(ConfigError, match="did you mean 'mig'"):
        summaries(seeds([0.1]), ["migs"])
    with pytest.raises(ConfigError, match="The table has no scores"):
        summaries([run(seed=0)])
    with pytest.raises(ConfigError, match=r"such as 0\.95"):
        summaries(seeds([0.1]), level=95.0)
    with pytest.raises(ConfigError, match=r"no setting .+; did you mean"):
        pick(columns(seeds([0.1], objective__beta=1)), {"objective.betas": 1})
    with pytest.raises(ConfigError, match=r"no run with objective\.beta 3"):
        pick(columns(seeds([0.1], objective__beta=1)), {"objective.beta": 3})
    with pytest.raises(DataError, match="All 2 runs of the table diverged"):
        Results([run(status="diverged", mig=1.0)] * 2).agreement()


def test_a_setting_that_is_a_table_in_some_runs_is_named_by_its_kind():
    """Michlo 2022, E3: two weights by a plain likelihood and by one with settings of its own."""
    overlap = {"kind": "overlap", "kernel": "box", "radius": 31}
    grid = itertools.product((1.0, 4.0), ("gaussian", overlap), (0, 1))
    runs = [
        {"objective": "vae", "objective.beta": beta, "objective.likelihood": loss, "seed": seed}
        for beta, loss, seed in grid
    ]
    assert [c.label for c in configurations(runs)] == [
        f"vae beta {beta}, likelihood {loss}" for beta in (1, 4) for loss in ("gaussian", "overlap")
    ]
