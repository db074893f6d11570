"""A study from Python: the plan of the shell, and a table of what came of it."""

import gc
import signal
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import nn

import unknot
from unknot import Hyper, Term, nets, objectives
from unknot.api import study as api_study
from unknot.core.errors import ConfigError, DataError, StoreError, UnknotError
from unknot.engine.device import cores
from unknot.losses import kl_normal, reconstruction
from unknot.nets.parts import given_modules
from unknot.studies.execute import driver
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


def test_a_table_of_a_step_without_scores_is_refused(study):
    with pytest.raises(ConfigError, match="no scores of step 6; without step= there are those"):
        study.table(step=6)


def test_best_is_the_run_with_the_best_value(study):
    table = study.table()
    sound = table[(table["kl"].isna() | (table["kl"] > 0.05)) & (table["contrast"] > 0.01)]
    table = table if sound.empty else sound
    lowest = table.loc[table["recon"].idxmin()]
    best = study.best("recon", device="cpu")
    assert best.spec.ids() == [lowest["id"]]
    assert np.isclose(float(best.curves["recon"].iloc[-1]), lowest["recon"])
    alone = unknot.train(
        best.spec.data.settings.path, best.spec.objective.settings, **OPTIONS,
        seeds=best.spec.seeds, device="cpu",
    )  # fmt: skip
    assert torch.equal(alone.codes(), best.codes())
    with pytest.raises(ConfigError, match="did you mean 'recon'"):
        study.best("recn")
    for column in ("status", "id", "objective"):  # the last word by the alphabet is no best
        with pytest.raises(ConfigError, match="neither a score nor a logged value"):
            study.best(column)


def test_a_study_is_not_written_over_by_what_is_made_of_it(study):
    before = {path: path.stat().st_mtime_ns for path in study.path.iterdir()}
    for out in (study.path, ""):
        with pytest.raises(UnknotError):
            study.report(out)
    with pytest.raises(ConfigError, match=r"ends in \.zip"):
        study.archive(study.path / "study.db")
    assert {path: path.stat().st_mtime_ns for path in study.path.iterdir()} == before


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
    assert study.effect("weight", "active_units").equals(effect), "the last name is enough"
    with pytest.raises(ConfigError, match="no setting"):
        study.effect("seed", "active_units")


def test_it_resumes_and_is_opened_again(study):
    before = study.table()
    again = study.run(device="cpu").table()
    assert before.equals(again)
    assert len(unknot.Study.open(study.path)) == 4
    with pytest.raises(StoreError):
        unknot.Study.open(study.path / "nowhere")


class Halting(nn.Module):
    """Presses Ctrl-C at its 30th call."""

    calls = 0
    armed = False

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 64)

    def forward(self, z):
        Halting.calls += 1
        if Halting.armed and Halting.calls == 30:
            signal.raise_signal(signal.SIGINT)
        return self.layer(z).unflatten(1, (1, 8, 8))


def make_modules():
    return nn.Sequential(nn.Flatten(), nn.Dropout(0.2), nn.Linear(64, 6)), Halting()


def study_of_modules(images, out, **settings):
    mine = {"net": make_modules, "grid": {"objective.beta": [1, 4]}, "seeds": 2}
    return unknot.study(
        "modules", data=images, metrics=["active_units"], out=out, **OPTIONS | mine | settings
    )


@pytest.fixture(scope="module")
def of_modules(images, tmp_path_factory):
    return study_of_modules(images, tmp_path_factory.mktemp("s") / "m").run(device="cpu")


def test_modules_of_ones_own_make_a_study(of_modules, images, capsys):
    """Each run is the one that the modules give alone; one line says where it trains."""
    of_modules.run(device="cpu")
    assert capsys.readouterr().err.count("can only train in this process") == 1
    table = of_modules.table()
    assert (table["status"] == "done").all()
    assert table["active_units"].notna().all()
    for _, row in table.iterrows():
        alone = unknot.train(
            images, "beta_vae", make_modules, beta=row["objective.beta"], seeds=[row["seed"]],
            device="cpu", **{name: OPTIONS[name] for name in ("steps", "batch", "log_every")},
        )  # fmt: skip
        assert alone.spec.ids() == [row["id"]]
        assert torch.equal(alone.codes()[0], of_modules.load(row["id"], device="cpu").codes())
    assert of_modules.best("recon").traverse().figure is not None
    assert of_modules.records.store.facts()["threads"] == str(cores())  # nobody else has any


def test_the_card_has_all_scores_also_where_they_do_not_differ(images, tmp_path):
    made = unknot.study(
        "one", data=images, seeds=1, metrics=["active_units"], out=tmp_path / "x",
        objective=Own(), **OPTIONS,
    )  # fmt: skip
    card = made.run(device="cpu")._repr_html_()
    assert "<th>active_units</th>" in card
    assert "<th>recon</th>" not in card  # of one run nothing differs


def test_a_study_of_modules_that_was_stopped_goes_on_to_the_bit(of_modules, images, tmp_path):
    stopped = study_of_modules(images, tmp_path / "s")
    Halting.calls, Halting.armed = 0, True
    try:
        stopped.run(device="cpu")
    finally:
        Halting.armed = False
    assert stopped.status()["runs"].get("done", 0) < 4
    assert [*(tmp_path / "s").glob("populations/*/checkpoints/step-*")]
    stopped.run(device="cpu")
    for name in stopped.table()["id"]:
        ours, theirs = (study.load(name, device="cpu") for study in (stopped, of_modules))
        assert torch.equal(ours.codes(), theirs.codes())


def test_the_bar_of_a_study_in_this_process_moves_while_it_trains(images, tmp_path, monkeypatch):
    steps = []

    @contextmanager
    def bar(*_, **__):
        yield lambda now: steps.append((now.step, now.steps))

    monkeypatch.setattr(api_study, "bar", bar)
    study_of_modules(images, tmp_path / "m", grid={}, seeds=1).run(device="cpu")
    assert (6, 12) in steps
    assert steps[-1] == (12, 12)


def test_another_process_needs_the_modules_again(images, tmp_path, monkeypatch):
    planned = study_of_modules(images, tmp_path / "m", grid={}, seeds=1)
    monkeypatch.setattr(driver, "_perform", lambda *_: None)
    planned.run(device="cpu")
    monkeypatch.undo()
    monkeypatch.setattr(given_modules, "_pairs", {})
    opened = unknot.Study.open(planned.path)
    with pytest.raises(ConfigError, match=r"net=\(encoder, decoder\)"):
        opened.run(device="cpu")
    with pytest.raises(ConfigError, match=r"net=\(encoder, decoder\)"):
        driver.run(planned.path, device="cpu")  # as from the shell: no run is tried
    assert opened.table()["status"].tolist() == ["waiting"]
    file = StudyFile.parse((planned.path / "study.toml").read_text())
    with pytest.raises(ConfigError, match=r"net=\(encoder, decoder\)"):
        driver.run(tmp_path / "copy", file, device="cpu")
    assert not (tmp_path / "copy").exists()
    with pytest.raises(ConfigError, match="not those of the study"):
        unknot.load(planned.path, net=(nn.Flatten(), nn.Linear(3, 64)))
    again = unknot.load(planned.path, net=make_modules).run(device="cpu")
    assert again.table()["status"].tolist() == ["done"]
    assert len(again.best("recon", device="cpu").codes()) == 64


def test_a_study_of_ones_own_classes_that_is_opened_runs_in_this_process(
    images, tmp_path, monkeypatch
):
    """Workers would not know the class."""
    made = unknot.study("x", data=images, objective=Own(), seeds=1, out=tmp_path / "x", **OPTIONS)
    monkeypatch.setattr(driver, "_perform", lambda *_: None)
    made.run(device="cpu")
    monkeypatch.undo()
    assert made.table()["status"].tolist() == ["waiting"]
    opened = unknot.Study.open(made.path).run(device="cpu")
    assert opened.table()["status"].tolist() == ["done"]


@pytest.fixture
def pixels():
    """64 images of two factors, and their labels."""
    a, b = np.divmod(np.arange(64), 8)
    pixels = np.zeros((64, 8, 8), np.uint8)
    pixels[np.arange(64), a, b] = 255
    return pixels, {"a": a, "b": b}


class Items(torch.utils.data.Dataset):
    """A dataset as people write them for PyTorch's loaders."""

    def __init__(self, pixels):
        self.pixels = pixels

    def __len__(self):
        return len(self.pixels)

    def __getitem__(self, row):
        return torch.from_numpy(self.pixels[row])[None] / 255, row


def test_images_in_memory_make_a_study(pixels, tmp_path, capsys):
    """Each run is the one that the images give alone, and opens with its images."""
    images = unknot.dataset(pixels[0], labels=pixels[1])
    made = unknot.study(
        "m", data=images, metrics=["mig"], grid={"beta": [1, 4]}, seeds=1, out=tmp_path / "m",
        **OPTIONS,
    )  # fmt: skip
    table = made.run(device="cpu").table()
    assert "can only train in this process" in capsys.readouterr().err
    assert (table["status"] == "done").all()
    assert table["mig"].notna().all()
    for _, row in table.iterrows():
        alone = unknot.train(
            images, "beta_vae", beta=row["objective.beta"], seeds=[row["seed"]], device="cpu",
            **OPTIONS,
        )  # fmt: skip
        run = made.load(row["id"], device="cpu")
        assert alone.spec.ids() == run.spec.ids()
        assert torch.equal(alone.codes()[0], run.codes())


def test_arrays_tensors_and_datasets_of_pytorch_may_be_an_axis(pixels, tmp_path):
    sources = [pixels[0], torch.from_numpy(pixels[0][:32]), Items(pixels[0][:16])]
    made = unknot.study("m", grid={"data": sources}, seeds=1, out=tmp_path / "m", **OPTIONS)
    assert (made.run(device="cpu").table()["status"] == "done").all()
    runs = [made.load(name, device="cpu") for name in made.table()["id"]]
    assert sorted(len(run.dataset) for run in runs) == [16, 32, 64]


def test_who_has_not_the_images_of_a_study_needs_them_again(pixels, tmp_path, monkeypatch):
    made = unknot.study("m", data=pixels[0], seeds=1, out=tmp_path / "m", **OPTIONS)
    monkeypatch.setattr(driver, "_perform", lambda *_: None)
    made.run(device="cpu")
    monkeypatch.undo()
    path = made.path
    del made  # nobody holds the images any more
    gc.collect()
    for again in (unknot.Study.open(path).run, lambda **_: driver.run(path, device="cpu")):
        with pytest.raises(DataError, match="given in Python and is not stored"):
            again(device="cpu")
    with pytest.raises(DataError, match="not those of the study"):
        unknot.load(path, data=pixels[0][:32])
    opened = unknot.load(path, data=pixels[0]).run(device="cpu")
    assert opened.table()["status"].tolist() == ["done"]
    assert opened.best("recon", device="cpu").has_data
    del opened
    gc.collect()
    without = unknot.load(path).best("recon", device="cpu")
    assert not without.has_data
    assert without.encode(pixels[0]).shape == (64, 3)


def test_objects_in_a_grid_are_what_they_are(images):
    """A net in a grid keeps its class, and not its settings alone; so do modules."""
    encoder, decoder = make_modules()
    made = unknot.study(
        "x", data=images, seeds=1, steps=9,
        grid={"net": [nets.Linear(latents=3), nets.Conv(latents=4), "mlp", (encoder, decoder)]},
    )  # fmt: skip
    chosen = [(c.net.name, c.net.settings.latents) for c in made.plan().configurations]
    assert chosen == [("linear", 3), ("conv", 4), ("mlp", 10), ("modules", 3)]
    made = unknot.study(
        "x", seeds=1, steps=9,
        grid={
            "data": [unknot.data.XYSquares(spacing=4), images],
            "objective": ["vae", objectives.DIPVAEI(lambda_od=3.0), Own(weight=2)],
        },
    )  # fmt: skip
    plans = [(c.data.name, c.objective.name) for c in made.plan().configurations]
    names = ["vae", "dip_vae_i", f"{__name__}:Own"]
    assert plans == [(data, name) for name in names for data in ("xysquares", "images")]
    assert made.plan().configurations[-1].objective.settings == Own(weight=2)
    sampled = unknot.study(
        "x", data=images, objective="tvae", seeds=1, sampler=unknot.samplers.Triplets(), steps=9
    )
    assert sampled.plan().configurations[0].sampler.name == "triplets"


def test_settings_go_by_their_last_names_as_in_train(images):
    by_name = unknot.study(
        "x", data=images, objective=["beta_vae", "beta_tcvae"], grid={"beta": [1, 4]}, lr=1e-3,
        latents=5, net="linear", seeds=np.int64(3), steps=9,
    )  # fmt: skip
    by_path = unknot.study(
        "x", data=images, objective=["beta_vae", "beta_tcvae"], net=nets.Linear(latents=5),
        grid={"objective.beta": [1, 4]}, optimizer=unknot.Adam(lr=1e-3), seeds=[0, 1, 2], steps=9,
    )  # fmt: skip
    assert [run.id for run in by_name.plan().runs] == [run.id for run in by_path.plan().runs]
    assert len(by_name) == 12
    adamw = unknot.study("x", data=images, optimizer="adamw", lr=2e-4, seeds=1, steps=9)
    assert adamw.plan().configurations[0].optim == unknot.AdamW(lr=2e-4)
    with pytest.raises(ConfigError, match="have no latents"):
        unknot.study("x", data=images, net=make_modules, latents=5)
    with pytest.raises(ConfigError, match="did you mean 'beta'"):
        unknot.study("x", data=images, bta=5)


def test_modules_are_questioned_as_in_train(images):
    encoder, decoder = make_modules()
    with pytest.warns(UserWarning, match="begin with the weights of these modules"):
        unknot.study("x", data=images, net=(encoder, decoder), seeds=2, steps=9)
    with pytest.warns(UserWarning, match="logits") as caught:
        unknot.study(
            "x", data=images, net=(encoder, nn.Sequential(decoder, nn.Sigmoid())), seeds=1, steps=9
        )
    assert caught[0].filename == __file__  # the line of the user's call


def test_what_a_study_cannot_have_is_refused():
    with pytest.raises(ConfigError, match="study2019"):
        unknot.study("x", data="xysquares", metrics=["mig", "dci@study2109"])
    with pytest.raises(ConfigError, match="did you mean"):
        unknot.study("x", data="xysquares", grid={"objective.bta": [1]})
