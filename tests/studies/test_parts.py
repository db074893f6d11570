"""Scores of a part of the data in a study: from its file to its table and page."""

import pytest

import unknot
from unknot.core.errors import ConfigError
from unknot.runs.metric_names import by_place, split_part
from unknot.studies.file.study_file import StudyFile
from unknot.studies.plan import plan

TEXT = """
name = "held out"
seeds = [0, 1]
metrics = ["mig", "mig@test", "readout@test", "readout@train", "recon@test", "sap@carbonneau@test"]

[train]
data = "soft_squares"
net.name = "linear"
steps = 3
split = { kind = "combinations", factors = ["x", "y"], validation = 0.0, test = 0.2 }

[[grid]]
objective.name = "beta_vae"
objective.beta = [1, 4]
"""


def test_names_of_parts():
    assert split_part("mig@study2019") == ("mig@study2019", None)
    assert by_place(["mig@test", "mig"], "unknot") == {
        ("unknot", "test"): ["mig"],
        ("unknot", None): ["mig"],
    }
    with pytest.raises(ConfigError, match="protocol 'tests'"):
        plan(StudyFile.parse(TEXT.replace('"mig@test"', '"mig@tests"')))


def test_a_part_needs_a_split():
    without = "\n".join(line for line in TEXT.splitlines() if not line.startswith("split"))
    with pytest.raises(ConfigError, match=r"^In grid 1: mig@test is of a part .* no split"):
        plan(StudyFile.parse(without))


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    file = folder / "study.toml"
    file.write_text(TEXT)
    from unknot.studies.execute.driver import run

    run(folder / "study", StudyFile.parse(TEXT), workers=1)
    return unknot.Study.open(folder / "study")


def test_each_part_has_its_columns(study):
    table = study.table()
    names = ["mig", "mig@test", "readout@test", "readout.r2@train", "recon@test", "recon.mse@test"]
    assert {*names, "sap@carbonneau@test"} <= {*table.columns}
    assert table[names].notna().all(axis=None)
    assert (table["mig"] != table["mig@test"]).any()


def test_they_are_the_scores_of_the_runs(study):
    row = study.table().iloc[0]
    (record,) = study.load(row["id"]).score("readout", part="test")
    assert row["readout@test"] == record.values["readout"]
    (error,) = study.load(row["id"]).score("recon", part="test")
    assert row["recon@test"] == pytest.approx(error.values["recon"], rel=1e-6)


def test_their_direction_is_that_of_the_metric(study):
    assert unknot.metrics.lower_is_better("recon@test")
    assert not unknot.metrics.lower_is_better("readout@test")
    page = study.report()
    assert "readout@test" in page.read_text(encoding="utf-8")
