"""Runs that meet a condition, the smallest loss of a run, and the runs of other studies."""

import pytest
from report import small_study
from report.study_pages import rows, study, write

from unknot.analysis import Results
from unknot.core.csv_files import csv_text
from unknot.core.errors import ConfigError, DataError
from unknot.report.study import source as study_source
from unknot.report.study.baselines import baselines
from unknot.report.study.run_columns import runs_where

RUNS = Results(
    [
        {"objective": "vae", "seed": i, "mig": mig, "recon": recon}
        for i, (mig, recon) in enumerate([(0.1, 10.0), (0.2, 50.0), (0.3, None), (0.4, 80.0)])
    ],
    ["mig"],
)


@pytest.mark.parametrize(
    ("conditions", "seeds"),
    [
        (["recon<50"], [0]),
        (["recon <= 50"], [0, 1]),
        (["recon>=50", "mig<0.35"], [1]),
        (["recon>5"], [0, 1, 3]),
        ([], [0, 1, 2, 3]),
    ],
)
def test_runs_that_meet_all_conditions(conditions, seeds):
    kept, notes = runs_where(RUNS, conditions)
    assert kept.table["seed"] == seeds
    assert kept.scores == ["mig"]
    assert notes == (
        [f"Only runs with {' and '.join(conditions)} are shown: {len(seeds)} of 4."]
        if conditions
        else []
    )


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("recn<50", ConfigError, "did you mean 'recon'"),
        ("objective<50", ConfigError, "no column of numbers"),
        ("recon=50", ConfigError, "looks like recon<50"),
        ("recon<much", ConfigError, "got 'recon<much'"),
        ("recon<0", DataError, r"None of 4 runs has recon<0: recon is 10 to 80\."),
    ],
)
def test_conditions_that_say_nothing(text, error, said):
    with pytest.raises(error, match=said) as raised:
        runs_where(RUNS, [text])
    assert "\n" not in str(raised.value)


def test_the_page_says_how_many_runs_are_shown(tmp_path):
    table = study(3)
    few = sum(row["recon"] < 25 for row in table)
    page, out = write(table, tmp_path, conditions=["recon<25"])
    assert f"Only runs with recon<25 are shown: {few} of {len(table)}." in page.text
    assert len(rows(out, "runs")) == few


def test_the_smallest_reconstruction_loss_of_a_run(tmp_path, tiny):
    made = small_study.train(
        tmp_path / "study", tiny, seeds="[0, 1]", metrics="[]", grids=small_study.TWO_STRENGTHS
    )
    results = study_source.read(made.path, ["recon", "recon.lowest"]).results
    for run, lowest in zip(results.table["id"], results.table["recon.lowest"], strict=True):
        assert lowest == pytest.approx(float(made.curves(run)["recon"].min()))
    assert results.unranked.keys() >= {"recon", "recon.lowest"}
    limit = sorted(results.table["recon.lowest"])[1]
    few = study_source.read(made.path, conditions=[f"recon.lowest<={limit!r}"]).results
    assert sorted(few.table["recon.lowest"])[-1] == limit
    assert len(few.table["id"]) == 2


def write_table(file, table):
    file.write_text(csv_text(table))
    return file


def test_lines_at_the_runs_of_another_table(tmp_path):
    ours = write_table(tmp_path / "ours.csv", study(3))
    other = write_table(
        tmp_path / "other.csv",
        [
            *({**row, "data": "cars3d", "mig": 9.0} for row in study(3)),
            *({"data": "dsprites", "objective": "vae", "seed": i, "mig": 0.5 + i, "sap": 0.1}
              for i in range(3)),
        ],
    )  # fmt: skip
    source = study_source.read(ours, ["mig"], [f"{other}:vae"])
    (line,) = baselines(source.results, source.baselines, source.others)
    assert (line.name, dict(line.values)) == ("vae of other", {"mig": 1.5})
    every = study_source.read(ours, ["mig"], [str(other)])
    (line,) = baselines(every.results, every.baselines, every.others)
    assert line.name == "vae of other", "runs on another dataset are no baseline"
    page, _ = write(study(3), tmp_path, baselines=[f"{other}:vae"])
    assert "vae of other" in page.text


def test_an_objective_comes_before_a_folder_of_its_name(tmp_path, monkeypatch):
    ours = write_table(tmp_path / "ours.csv", study(3))
    (tmp_path / "beta_vae").mkdir()
    monkeypatch.chdir(tmp_path)
    source = study_source.read(ours, ["mig"], ["beta_vae"])
    assert not source.others
    (line,) = baselines(source.results, source.baselines, source.others)
    assert line.name == "beta_vae"


def test_other_runs_that_are_not_there(tmp_path):
    ours = write_table(tmp_path / "ours.csv", study(3))
    with pytest.raises(ConfigError, match="no objective or configuration 'vea'"):
        study_source.read(ours, ["mig"], [f"{ours}:vea"])
    with pytest.raises(ConfigError, match="no objective or configuration 'nowhere:vae'"):
        study_source.read(ours, ["mig"], ["nowhere:vae"])


def test_scores_of_another_protocol_are_no_baseline(tmp_path, tiny):
    small = {"seeds": "[0]", "steps": 10, "grids": small_study.ANOTHER}
    ours = small_study.train(tmp_path / "ours", tiny, **small)
    metrics = '["mig"]\n        protocol = "study2019"'
    other = small_study.train(tmp_path / "other", tiny, metrics=metrics, **small)
    with pytest.raises(ConfigError, match="protocol study2019, and these runs by unknot"):
        study_source.read(ours.path, ["mig"], [str(other.path)])
