"""Runs: what they give back, what their folder holds, and what they refuse."""

import inspect
import json
from dataclasses import replace

import numpy as np
import pytest
import torch

import unknot
from unknot import schedules
from unknot.core.errors import ConfigError, DataError, ShapeError, StoreError
from unknot.core.toml import read_toml
from unknot.engine.checkpoint import read_weights
from unknot.runs import config, verbs
from unknot.runs.folder import RunFolder
from unknot.runs.loading import load_training
from unknot.runs.run import Run
from unknot.runs.training import Training
from unknot.runs.writing import save


def test_a_lone_run_has_no_member_axis_and_a_population_has(options):
    lone = unknot.train(**options, seeds=4, beta=2)
    many = unknot.train(**options, seeds=[4], beta=2)
    x = lone.dataset.batch(torch.arange(5))
    assert lone.encode(x).shape == (5, 3)
    assert many.encode(x).shape == (1, 5, 3)
    assert torch.equal(lone.encode(x), many.encode(x)[0])
    assert lone.decode(lone.encode(x)).shape == (5, 1, 8, 8)
    assert many.decode(torch.zeros(2, 3)).shape == (1, 2, 1, 8, 8)
    assert lone.codes().shape == (64, 3)
    assert many.codes(torch.tensor([3, 3])).shape == (1, 2, 3)


def test_codes_are_means_and_do_not_change_per_call(options):
    """A sample would: the defect of an embedding that differs at each call."""
    trained = unknot.train(**options)
    assert torch.equal(trained.codes(), trained.codes())
    x = trained.dataset.batch(torch.arange(64))
    torch.testing.assert_close(trained.codes(), trained.posterior(x).mean)


def test_decoded_images_are_probabilities_or_means(options):
    z = torch.full((4, 3), 30.0)
    bernoulli = unknot.train(**options).decode(z)
    assert bernoulli.min() >= 0
    assert bernoulli.max() <= 1
    gaussian = unknot.train(**options, likelihood="gaussian")
    near, far = (gaussian.decode(scale * z).abs().max() for scale in (1, 1_000))
    assert far > 100 * near > 0, "means have no bounds: far away they grow as the code does"


def test_training_reconstructs(options):
    """A VAE is soon twice as near to its 64 images as their mean is."""
    trained = unknot.train(
        **{**options, "steps": 600, "lr": 1e-3, "net": "ozcan_mlp"}, objective="vae"
    )
    x = trained.dataset.batch(torch.arange(64))
    error = (trained.decode(trained.encode(x)) - x).abs().mean()
    guess = (x.mean(0) - x).abs().mean()
    assert error < 0.5 * guess


def test_scores_find_a_representation_for_each_member(options):
    trained = unknot.train(**options, seeds=[0, 1])
    first, second = trained.representations()
    index = torch.tensor([5, 60, 5])
    torch.testing.assert_close(first.codes(index), trained.codes(index)[0])
    torch.testing.assert_close(second.codes(index), trained.codes(index)[1])


def test_a_saved_run_loads_the_same(options, tmp_path):
    trained = unknot.train(**options, seeds=[0, 1], beta=3)
    path = trained.save(tmp_path / "run")
    loaded = unknot.load(path)
    assert loaded.spec == trained.spec
    assert torch.equal(loaded.codes(), trained.codes())
    with pytest.raises(StoreError, match="already holds a run"):
        trained.save(path)


def test_weights_that_are_read_are_not_drawn_first(options, tmp_path, monkeypatch):
    """Of many models that took longer than all the rest of reading them."""
    trained = unknot.train(**options, seeds=[0, 1], out=tmp_path / "run")
    monkeypatch.setattr("unknot.nets.parts.weights.draw_weights", lambda *_: pytest.fail("drawn"))
    assert torch.equal(verbs.load(tmp_path / "run").codes(), trained.codes())


def test_a_run_of_tf32_is_read_on_a_cpu_in_float32(options, tmp_path):
    trained = unknot.train(**options)
    training = trained.training
    training.specs = (replace(trained.spec, precision="tf32"),)  # as a GPU would have done
    trained.save(tmp_path / "run")
    loaded = unknot.load(tmp_path / "run", device="cpu")
    assert loaded.spec.precision == "tf32"
    assert torch.equal(loaded.codes(), trained.codes())
    with pytest.raises(ConfigError, match="GPUs only"):
        unknot.train(**options, precision="tf32")


def test_a_folder_holds_the_whole_run(options, tmp_path):
    out = tmp_path / "deep" / "run"
    trained = unknot.train(**options, seeds=[0, 1], out=out)
    assert config.spec(read_toml(out / "run.toml")) == trained.spec
    status = json.loads((out / "status.json").read_text())
    assert (status["status"], status["step"]) == ("done", 30)
    assert [m["seed"] for m in status["members"]] == [0, 1]
    assert status["versions"]["torch"] == torch.__version__
    lines = (out / "curves.csv").read_text().splitlines()
    assert lines[0] == "step,seed,loss,recon,recon.weight,kl,kl.weight"
    assert [line.split(",")[:2] for line in lines[1:]] == [
        [step, seed] for step in ("1", "30") for seed in ("0", "1")
    ]
    loaded = unknot.load(out)
    assert torch.equal(loaded.codes(), trained.codes())
    assert torch.equal(loaded.training.curves["loss"], trained.training.curves["loss"])
    assert list(loaded.training.curves.values) == list(trained.training.curves.values)


def test_the_logged_loss_is_the_weighted_sum_of_its_terms(options):
    curves = unknot.train(**options, beta=3).training.curves
    torch.testing.assert_close(curves["loss"], curves["recon"] + 3 * curves["kl"])
    assert torch.equal(curves["kl.weight"], torch.full_like(curves["kl"], 3))


def test_a_status_of_another_shape_is_damaged(options, tmp_path):
    unknot.train(**options, out=tmp_path / "run")
    wrong = ('{"members": [1]}', '{"members": 3}', '{"members": [{}]}', '{"format": 2}', "[]", "{")
    for text in wrong:
        (tmp_path / "run" / "status.json").write_text(text)
        with pytest.raises(StoreError, match="damaged"):
            unknot.load(tmp_path / "run")


def test_an_occupied_folder_is_left_alone(options, tmp_path):
    out = tmp_path / "run"
    unknot.train(**options, out=out)
    before = {p: p.read_bytes() for p in out.rglob("*") if p.is_file()}
    with pytest.raises(StoreError, match="already holds a run"):
        unknot.train(**options, out=out)
    assert {p: p.read_bytes() for p in out.rglob("*") if p.is_file()} == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("dear diary")
    with pytest.raises(StoreError, match="not an empty folder"):
        unknot.train(**options, out=tmp_path / "mine")
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="is a file, not a folder"):
        unknot.train(**options, out=tmp_path / "file")


def test_bad_settings_leave_no_folder(options, tmp_path):
    with pytest.raises(ConfigError):
        unknot.train(**options, out=tmp_path / "run", bta=3)
    with pytest.raises(ConfigError):
        unknot.train(**{**options, "device": "gpu"}, out=tmp_path / "run")
    with pytest.raises(ShapeError):
        unknot.train(**{**options, "net": "conv64"}, out=tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_a_saved_run_keeps_its_curves_and_divergence(options, tmp_path):
    wild = unknot.train(**{**options, "lr": 1e25, "steps": 300}, likelihood="gaussian")
    loaded = unknot.load(wild.save(tmp_path / "wild"))
    assert (loaded.status, loaded.step, loaded.diverged) == ("diverged", wild.step, {0: wild.step})
    assert loaded.training.curves.steps == wild.training.curves.steps
    assert unknot.resume(tmp_path / "wild").step == wild.step  # nothing more is trained


def test_standardised_images_need_another_likelihood_than_bernoulli():
    options = {"data": "xysquares", "net": "linear", "steps": 2, "device": "cpu", "batch": 2}
    with pytest.raises(ConfigError, match=r"objective\.likelihood=gaussian"):
        unknot.train(**options, data_settings={"standardize": True})
    done = unknot.train(**options, data_settings={"standardize": True}, likelihood="gaussian")
    assert done.status == "done"


def test_settings_that_train_does_not_know_are_matched_with_its_own(options):
    for wrong, right in [("bta", "beta"), ("step", "steps"), ("seed", "seeds")]:
        settings = {k: v for k, v in options.items() if k != right}
        with pytest.raises(ConfigError, match=f"no setting '{wrong}'; did you mean '{right}'"):
            unknot.train(**settings, **{wrong: 3})


def test_settings_of_an_objective_that_are_called_as_those_of_train_are(options):
    options = {key: value for key, value in options.items() if key != "objective"}
    flow = unknot.train(**options, objective="flow_vae", objective_settings={"steps": 1})
    assert flow.spec.objective.settings.steps == 1
    assert flow.spec.steps == options["steps"] != 1
    settings = {"precision": "sum", "beta": 3.0}
    ada = unknot.train(**options, objective="ada_mlvae", objective_settings=settings)
    assert (ada.spec.objective.settings.precision, ada.spec.precision) == ("sum", "float32")
    assert ada.spec.objective.settings.beta == 3.0


def test_settings_given_twice_or_to_the_wrong_one_of_two_are_told_where_they_belong(options):
    with pytest.raises(ConfigError, match=r"^'beta' is given twice"):
        unknot.train(**options, beta=3.0, objective_settings={"beta": 3.0})
    options = {key: value for key, value in options.items() if key != "objective"}
    train = inspect.unwrap(unknot.train)  # as users have it, without checks of types
    with pytest.raises(ConfigError, match=r"use objective_settings=\{'precision': \.\.\.\}\.$"):
        train(**options, objective="ada_mlvae", precision="sum")
    with pytest.raises(ConfigError) as refused:
        train(**options, objective="beta_vae", precision="sum")
    assert "objective_settings" not in str(refused.value)


def test_schedules_and_arrays_of_seeds_are_welcome(options):
    lr, beta = schedules.cosine(1e-3, 1e-5, 30.0), schedules.linear(0.0, 2.0, 30.0)
    trained = unknot.train(**options, lr=lr, beta=beta, seeds=np.arange(2), order_seed=1)
    assert trained.spec.seeds == (0, 1)
    assert (trained.spec.optim.lr, trained.spec.objective.settings.beta) == (lr, beta)
    assert trained.spec.order_seed == 1


def test_missing_and_foreign_files(options, tmp_path):
    with pytest.raises(StoreError, match="holds no run"):
        unknot.load(tmp_path)
    with pytest.raises(StoreError, match="holds no run"):
        unknot.resume(tmp_path / "nowhere")
    RunFolder(tmp_path / "run").claim(unknot.train(**options).spec)
    with pytest.raises(StoreError, match="not finished"):
        unknot.load(tmp_path / "run")
    (tmp_path / "run" / "weights.safetensors").write_bytes(b"short")  # before its status came
    with pytest.raises(StoreError, match="not finished"):
        unknot.load(tmp_path / "run")


def test_images_with_nan_are_refused(options, tmp_path):
    path = tmp_path / "nan.npz"
    images = np.zeros((4, 8, 8), np.float32)
    images[2, 3, 3] = np.nan
    np.savez(path, images=images)
    with pytest.raises(DataError, match="NaN or infinite"):
        unknot.train(**{**options, "data_settings": {"path": str(path)}})


def test_wrong_shapes_are_said(options):
    trained = unknot.train(**options)
    with pytest.raises(ShapeError, match=r"Expected images \[n, 1, 8, 8\]"):
        trained.encode(torch.zeros(2, 1, 9, 9))
    with pytest.raises(ShapeError, match=r"Expected codes \[n, 3\]"):
        trained.decode(torch.zeros(2, 4))


def test_divergence_is_data(options, tmp_path):
    """A learning rate no one would choose breaks one member; its neighbour trains as if alone."""
    spec = config.spec(
        {
            "data": {"name": "arrays", **options["data_settings"]},
            "net": {"name": "linear", "latents": 3},
            "objective": {"name": "vae", "likelihood": "gaussian"},
            "steps": 60,
            "batch": 8,
            "log_every": 10,
            "seeds": [0, 1],
        }
    )
    from unknot.core.optim import Adam
    from unknot.engine.population import populate

    members = [
        replace(m, optim=Adam(lr=lr)) for m, lr in zip(spec.members(), (1e-3, 1e25), strict=True)
    ]

    def trained(members):
        training = Training.start([spec], "cpu")
        training.population = populate(training.context, members)
        training.run()
        return training

    wild = trained(members)
    assert (wild.status, wild.step) == ("done", 60)
    assert list(wild.diverged) == [1]
    assert wild.diverged[1] in (10, 20)
    assert wild.curves["loss"][:, 0].isfinite().all()
    alone = trained(members[:1])
    for name, value in alone.population.state().items():
        assert torch.equal(value[0], wild.population.state()[name][0])
    folder = RunFolder(tmp_path / "wild")
    save(folder, wild)
    members = folder.record()["members"]
    assert [m["diverged_at"] for m in members] == [None, wild.diverged[1]]
    assert [m["status"] for m in members] == ["done", "diverged"]


def test_when_all_diverge_training_stops(options):
    trained = unknot.train(**{**options, "steps": 100_000, "lr": 1e25}, likelihood="gaussian")
    assert trained.status == "diverged"
    assert trained.training.curves.steps[-1] <= 200


def test_watchers_hear_of_every_few_steps(options):
    heard = []
    unknot.train(**options, watch=heard.append)
    assert [p.step for p in heard] == [1, 11, 21, 30]
    assert [p.values is not None for p in heard] == [True, False, False, True]


def test_a_member_is_the_run_that_it_would_be_alone(options, tmp_path):
    """Taken from memory, and from the disk without the others."""
    many = unknot.train(**options, seeds=[3, 1], out=tmp_path / "run")
    alone = unknot.train(**options, seeds=1)
    folder = RunFolder(tmp_path / "run")
    loaded = load_training(folder, device="cpu", member=1)
    for training in (many.training.member(1), loaded):
        member = Run(training)
        assert (member.spec, member.status) == (alone.spec, "done")
        assert torch.equal(member.codes(), alone.codes())
        assert torch.equal(member.training.curves["loss"], alone.training.curves["loss"])


def test_a_plan_of_other_runs_is_refused(options, tmp_path):
    trained = unknot.train(**options, out=tmp_path / "run")
    other = unknot.train(**options, seeds=1).spec
    folder = RunFolder(tmp_path / "run")
    assert load_training(folder, [trained.spec], "cpu").ids == trained.spec.ids()
    with pytest.raises(StoreError, match="other runs than the plan says"):
        load_training(folder, [other], "cpu")


def test_a_later_format_is_refused(options, tmp_path):
    unknot.train(**options, out=tmp_path / "run")
    file = tmp_path / "run" / "status.json"
    file.write_text(file.read_text().replace('"format": 2', '"format": 3'))
    with pytest.raises(StoreError, match="has format 3; this version reads format 2"):
        unknot.load(tmp_path / "run")


def test_weights_are_plain_safetensors(options, tmp_path):
    """One tensor per parameter of the net, members first, named as PyTorch names them."""
    unknot.train(**options, seeds=[0, 1, 2], out=tmp_path / "run")
    weights = read_weights(tmp_path / "run" / "weights.safetensors")
    net = unknot.load(tmp_path / "run").spec.net.settings
    for part in ("encoder", "decoder"):
        for name, parameter in getattr(net, part)((1, 8, 8)).named_parameters():
            assert weights.pop(f"{part}.{name}").shape == (3, *parameter.shape)
    assert weights == {}
