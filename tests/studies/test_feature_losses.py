"""Studies whose runs compare features of a frozen module: an axis, and their models elsewhere."""

import shutil

import pytest
from studies.bars import run_inline

import unknot
from unknot.core.errors import ConfigError
from unknot.losses import features as frozen
from unknot.report.data import distances
from unknot.runs import config, verbs
from unknot.studies.execute import driver
from unknot.studies.file.study_file import StudyFile
from unknot.studies.study import Study

SMALL = {
    "data": {"name": "xysquares"},
    "net": {"name": "mlp", "latents": 2, "hidden": [8]},
    "batch": 4,
    "steps": 2,
}
FEATURES = "{{kind = 'features', path = '{path}', layers = [1]}}"


def study_text(path):
    return f"""
        name = "likelihoods"
        seeds = [0, 1]
        metrics = ["recon"]
        [train]
        data.name = "xysquares"
        net = {{name = "mlp", latents = 2, hidden = [8]}}
        batch = 4
        steps = 2
        objective.name = "beta_vae"
        [[grid]]
        objective.likelihood = ["bernoulli", {FEATURES.format(path=path)}]
    """


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A study of a pixel loss beside a feature loss; the run that the module is of is gone."""
    folder = tmp_path_factory.mktemp("features")
    verbs.train(config.spec(SMALL), out=folder / "source", device="cpu")
    study = StudyFile.parse(study_text(folder / "source"))
    driver.run(folder / "study", study, device="cpu", workers=1)
    shutil.rmtree(folder / "source")
    return folder / "study"


def test_likelihoods_are_an_axis(made):
    rows = Study.open(made).table()
    kinds = {row.get("objective.likelihood.kind", row.get("objective.likelihood")) for row in rows}
    assert kinds == {"bernoulli", "features"}
    assert [row["status"] for row in rows] == ["done"] * 4
    assert all(row["recon"] > 0 for row in rows)


def test_a_model_that_is_taken_out_compares_features_without_the_source(made, tmp_path):
    rows = Study.open(made).table()
    (one, *_) = [row["id"] for row in rows if row.get("objective.likelihood.kind") == "features"]
    Study.open(made).run(one).save(tmp_path / "one")
    frozen._known.clear()
    run = unknot.load(tmp_path / "one")
    assert "images" in distances.run_sources(run, 0)


def test_a_source_that_is_not_there_is_refused_in_one_line(tmp_path):
    with pytest.raises(ConfigError, match="holds no run") as refusal:
        run_inline(tmp_path / "study", study_text(tmp_path / "nothing"))
    assert "\n" not in str(refusal.value)
    assert not (tmp_path / "study").exists()
