"""A study from Python: the plan of the shell, and a table of what came of it."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

import unknot
from unknot import Hyper, Term, nets, objectives
from unknot.core.errors import ConfigError, StoreError
from unknot.losses import kl_normal, reconstruction
from unknot.studies.file.study_file import StudyFile
from unknot.studies.plan import plan


@dataclass(frozen=True)
class Own:
    """A beta-VAE of the user's."""

    weight: Hyper = 1.0

    def terms(self, net, step):
        q = net.encode(step.x)
        decoded = net.decode(step.sample(q))
        return {
            "recon": Term(reconstruction("bernoulli", decoded, step.x)),
            "kl": Term(kl_normal(q).sum(-1), self.weight),
        }


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """64 images of a grid of two factors."""
    path = tmp_path_factory.mktemp("data") / "images.npz"
    a, b = np.divmod(np.arange(64), 8)
    pixels = np.zeros((64, 8, 8), np.uint8)
    pixels[np.arange(64), a, b] = 255
    np.savez(path, images=pixels, factors=np.stack([a, b], 1))
    return str(path)


OPTIONS = {"steps": 12, "batch": 8, "log_every": 6, "net": nets.Linear(latents=3)}


@pytest.fixture(scope="module")
def study(images, tmp_path_factory):
    """Four runs of a user's class: in this process, which is quick."""
    made = unknot.study(
        "own classes", data=images, objective=Own(), grid={"objective.weight": [1, 8]},
        seeds=2, metrics=["active_units", "mig", "mig@study2019"],
        out=tmp_path_factory.mktemp("s") / "x", **OPTIONS,
    )  # fmt: skip
    assert "not started" in repr(made)
    return made.run(device="cpu")


def test_the_plan_is_that_of_a_study_file(images):
    made = unknot.study(
        "same", data=images, objective=[objectives.BetaVAE(), "vae"], seeds=[3, 5],
        metrics=["mig@study2019"], **{**OPTIONS, "net": "linear"},
    )  # fmt: skip
    text = f"""
        name = "same"
        seeds = [3, 5]
        metrics = ["mig"]
        protocol = "study2019"
        [train]
        data = {{name = "{images}"}}
        net = "linear"
        steps = 12
        batch = 8
        [[grid]]
        objective.name = "beta_vae"
        [[grid]]
        objective.name = "vae"
    """
    expected = plan(StudyFile.parse(text))
    assert [run.id for run in made.plan().runs] == [run.id for run in expected.runs]
    assert made.plan().sweep.protocol == expected.sweep.protocol
    assert made.path.as_posix() == "studies/same"
    assert not made.path.exists()
    assert [*plan(StudyFile.parse(made.file.text)).runs] == [*made.plan().runs]


def test_its_table_has_a_row_for_each_run(study):
    table = study.table()
    assert len(table) == len(study) == 4
    assert (table["status"] == "done").all()
    assert {"objective.weight", "active_units", "mig", "mig@study2019", "recon"} <= {*table.columns}
    assert "4 done" in repr(study)
    assert "own classes" in study._repr_html_()


def test_best_is_the_run_with_the_best_value(study):
    table = study.table()
    sound = table[(table["kl"].isna() | (table["kl"] > 0.05)) & (table["contrast"] > 0.01)]
    table = table if sound.empty else sound
    lowest = table.loc[table["recon"].idxmin()]
    best = study.best("recon", device="cpu")
    assert best.spec.ids() == [lowest["id"]]
    assert np.isclose(float(best.curves["recon"][-1]), lowest["recon"])
    alone = unknot.train(
        best.spec.data.settings.path, best.spec.objective.settings, **OPTIONS,
        seeds=best.spec.seeds, device="cpu",
    )  # fmt: skip
    assert torch.equal(alone.codes(), best.codes())
    with pytest.raises(ConfigError, match="did you mean 'recon'"):
        study.best("recn")


def test_an_effect_is_pooled_over_all_else(study):
    effect, table = study.effect("objective.weight", "active_units"), study.table()
    for _, row in effect.iterrows():
        group = table[table["objective.weight"] == row["objective.weight"]]["active_units"]
        assert row["runs"] == 2
        assert row["mean"] == pytest.approx(group.mean())
    wide = table.pivot(index="seed", columns="objective.weight", values="active_units")
    low, high = sorted(wide.columns)
    assert effect["pairs"].tolist()[1:] == [2]
    assert effect["difference"].tolist()[1:] == [pytest.approx((wide[high] - wide[low]).mean())]
    assert effect["low"].isna().all(), "two seeds have no interval"
    with pytest.raises(ConfigError, match="no setting"):
        study.effect("seed", "active_units")


def test_it_resumes_and_is_opened_again(study):
    before = study.table()
    again = study.run(device="cpu").table()
    assert before.equals(again)
    assert len(unknot.Study.open(study.path)) == 4
    with pytest.raises(StoreError):
        unknot.Study.open(study.path / "nowhere")


def test_what_a_study_cannot_have_is_refused():
    with pytest.raises(ConfigError, match="from files"):
        unknot.study("x", data=np.zeros((9, 8, 8), np.uint8))
    with pytest.raises(ConfigError, match="study2019"):
        unknot.study("x", data="xysquares", metrics=["mig", "dci@study2109"])
    with pytest.raises(ConfigError, match="did you mean"):
        unknot.study("x", data="xysquares", grid={"objective.bta": [1]})
