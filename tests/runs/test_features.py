"""Feature losses of runs: in files, in folders, in populations, resumed, without their source."""

import shutil
import tomllib
from dataclasses import replace

import pytest
import torch
from torch import nn

import unknot
from unknot.core.errors import ConfigError, DamageError, ShapeError
from unknot.core.toml import to_toml
from unknot.losses import features as frozen
from unknot.runs import config, verbs
from unknot.runs.evaluate import evaluate
from unknot.runs.folder import RunFolder
from unknot.runs.selection import write_members
from unknot.runs.training import Training
from unknot.runs.writing import complete

SMALL = {
    "data": {"name": "xysquares"},
    "net": {"name": "mlp", "latents": 2, "hidden": [8]},
    "batch": 4,
}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A run whose encoder others are trained with."""
    path = tmp_path_factory.mktemp("source") / "run"
    verbs.train(config.spec({**SMALL, "steps": 2}), out=path, device="cpu")
    return path


@pytest.fixture(autouse=True)
def forgetful(monkeypatch):
    """As a process that has read nothing yet."""
    monkeypatch.setattr(frozen, "_known", {})
    monkeypatch.setattr(frozen, "_placed", {})


def forget():
    frozen._known.clear()
    frozen._placed.clear()


def spec(source, *, steps=4, seeds=0, data=None, **settings):
    likelihood = {"kind": "features", "path": str(source), "layers": [1], **settings}
    return config.spec(
        {
            **SMALL,
            **({"data": data} if data else {}),
            "objective": {"name": "vae", "likelihood": likelihood},
            "steps": steps,
            "seeds": seeds,
            "checkpoint_every": 2,
            "log_every": 1,
        }
    )


def test_a_file_names_the_run_and_the_hash(source, tmp_path):
    one = spec(source)
    again = config.spec(tomllib.loads(to_toml(one.table())))
    assert (again, again.ids()) == (one, one.ids())
    assert again.objective.settings.likelihood.sha256
    moved = shutil.copytree(source, tmp_path / "elsewhere")
    assert spec(moved).ids() == one.ids(), "where the run lies takes no part"
    other = tmp_path / "other"
    verbs.train(config.spec({**SMALL, "steps": 3}), out=other, device="cpu")
    assert spec(other).ids() != one.ids()
    assert spec(source, layers=[1, 2]).ids() != one.ids()


def test_a_relative_path_is_found_from_anywhere(source, monkeypatch):
    monkeypatch.chdir(source.parent)
    assert spec(source.name) == spec(source)


def test_its_loss_is_that_of_the_encoder(source, tmp_path):
    run = unknot.load(source)
    x, y = run.dataset.batch(torch.arange(3)), run.dataset.batch(torch.arange(3, 6))
    loss = unknot.features(source, layers=[1])
    first = run.encoder[:3]
    assert isinstance(first[-1], nn.ReLU)
    expected = (first(x) - first(y)).square().sum(-1)
    torch.testing.assert_close(loss.mapped_error(x, y), expected)


def test_a_population_is_as_its_members_alone(source):
    together = verbs.train(spec(source, seeds=[3, 5]), device="cpu")
    for place, seed in enumerate((3, 5)):
        alone = verbs.train(spec(source, seeds=seed), device="cpu")
        for name, value in alone.training.weights().items():
            assert torch.equal(together.training.weights()[name][place], value[0]), name


def test_a_stopped_run_resumes_bit_for_bit_without_the_other(source, tmp_path):
    """The source is gone, and the process is another one."""
    moved = shutil.copytree(source, tmp_path / "moved")
    whole = verbs.train(spec(moved), device="cpu")
    folder = RunFolder(tmp_path / "run")
    verbs.train(
        spec(moved),
        out=folder.path,
        device="cpu",
        callback=lambda so_far, _: so_far.training.step >= 2,
    )
    assert folder.record()["status"] == "stopped"
    shutil.rmtree(moved)
    forget()
    resumed = verbs.resume(folder.path, device="cpu")
    assert resumed.status == "done"
    for name, value in whole.training.weights().items():
        assert torch.equal(resumed.training.weights()[name], value), name
    forget()
    loaded = verbs.load(folder.path, device="cpu")
    ((record, *_),) = evaluate(loaded, metrics=["recon"])
    assert record.values["recon"] > 0
    assert "features.safetensors" in folder.record()["files"]


def test_it_says_its_scale_and_has_no_elbo(source, tmp_path):
    from unknot.report.run.describe import term

    run = verbs.train(spec(source), device="cpu")
    assert "Squared distance in the features of a frozen module" in term("recon", run)
    assert "no ELBO" in term("recon", run)
    assert "nats" not in term("recon", run)
    with pytest.raises(ConfigError, match="elbo needs a density of pixels, in nats"):
        list(evaluate(run, metrics=["elbo"]))
    beside = verbs.train(spec(source, pixel_weight=1.0), device="cpu")
    assert "Squared error per image" in term("recon", beside)


def test_members_taken_out_of_a_population_have_it(source, tmp_path):
    whole, out = RunFolder(tmp_path / "run"), tmp_path / "one"
    training = Training.start([spec(source, seeds=[0, 1])], "cpu")
    complete(whole, training, watch=lambda _: None, stop=lambda: False)
    out.mkdir()
    write_members(whole, [1], out)
    name = "features.safetensors"
    assert (out / name).read_bytes() == (whole.path / name).read_bytes()


def test_a_damaged_file_is_told(source, tmp_path):
    folder = RunFolder(tmp_path / "run")
    verbs.train(spec(source), out=folder.path, device="cpu")
    file = folder.path / "features.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    forget()
    assert folder.damage() == {"features.safetensors": "is not what was written"}
    with pytest.raises(DamageError, match="not the module that was used"):
        verbs.load(folder.path, device="cpu")


def test_modules_of_python_are_given_again(tmp_path):
    module = nn.Sequential(nn.Flatten(), nn.Linear(3 * 64 * 64, 3), nn.Tanh())
    objective = unknot.objectives.VAE(likelihood=unknot.features(module))
    kept = {"net": "linear", "batch": 4, "device": "cpu", "progress": False}
    run = unknot.train("xysquares", objective, steps=4, out=tmp_path / "run", **kept)
    assert "path" not in run.spec.table()["objective"]["likelihood"]
    forget()
    loaded = unknot.load(tmp_path / "run")
    assert loaded.encode(loaded.dataset.batch(torch.arange(2))).shape == (2, 10)
    with pytest.raises(ConfigError, match=r"give it again: unknot\.features\(module\)"):
        loaded.score("recon")
    unknot.features(module)
    assert loaded.score("recon")


def test_runs_that_give_no_features(source, tmp_path):
    with pytest.raises(ConfigError, match=r"is none: .* holds no run"):
        spec(tmp_path)
    several = tmp_path / "several"
    verbs.train(config.spec({**SMALL, "steps": 1, "seeds": [0, 1]}), out=several, device="cpu")
    with pytest.raises(ConfigError, match="has 2 models; say whose features are meant"):
        spec(several)
    assert spec(several, member=1).ids() != spec(several, member=0).ids()
    with pytest.raises(ConfigError, match="must be a whole number from 0 to 1; got 2"):
        spec(several, member=2)
    (several / "weights.safetensors").unlink()
    with pytest.raises(ConfigError, match="is none: "):
        spec(several, member=0)


def test_a_run_that_changed_is_refused(source, tmp_path):
    path = tmp_path / "run"
    shutil.copytree(source, path)
    one = spec(path)
    shutil.rmtree(path)
    verbs.train(config.spec({**SMALL, "steps": 3}), out=path, device="cpu")
    forget()
    with pytest.raises(ConfigError, match="is not the one that these settings name: its SHA-256"):
        verbs.train(one, out=tmp_path / "out", device="cpu")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("data", "error", "said"),
    [
        ({"name": "dsprites"}, ShapeError, r"takes images \(3, 64, 64\) .*dataset has \(1, 64"),
        (
            {"name": "xysquares", "standardize": True},
            ConfigError,
            "trained on images that are not standardised; these are standardised by mean",
        ),
    ],
)
def test_data_that_does_not_fit(source, tmp_path, data, error, said):
    with pytest.raises(error, match=said):
        verbs.train(spec(source, data=data), out=tmp_path / "run", device="cpu")
    assert not (tmp_path / "run").exists()


def test_an_encoder_without_layers(tmp_path):
    linear = {**SMALL, "net": {"name": "linear", "latents": 2}, "steps": 1}
    verbs.train(config.spec(linear), out=tmp_path / "linear", device="cpu")
    one = spec(tmp_path / "linear")
    with pytest.raises(ShapeError, match="has no layer to compare"):
        verbs.train(one, device="cpu")


def test_the_weights_of_another_step_give_the_same_features(source, tmp_path):
    """What is kept is the module, whichever weights of the run are read."""
    one = replace(spec(source), score_at=(2,))
    verbs.train(one, out=tmp_path / "run", device="cpu")
    forget()
    early = verbs.load(tmp_path / "run", device="cpu", step=2)
    assert frozen.is_known(early.spec.objective.settings.likelihood.sha256)
