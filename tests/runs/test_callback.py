"""A callback sees the model while it trains, changes nothing, and may stop it."""

import torch

import unknot


def test_a_callback_sees_the_model_and_what_was_logged(options):
    seen = []

    def look(run, logs):
        images = run.dataset.batch(torch.arange(2))
        codes = run.encode(images)
        assert run.decode(codes).shape == images.shape
        seen.append((run.step, logs["loss"], run.score("active_units")[0].values["active_units"]))

    run = unknot.train(**options, log_every=10, callback=look)
    assert [step for step, _, _ in seen] == run.training.curves.steps == [1, 10, 20, 30]
    assert [loss for _, loss, _ in seen] == run.training.curves["loss"][:, 0].tolist()
    assert torch.equal(run.codes(), unknot.train(**options, log_every=10).codes())


def test_a_population_has_one_value_per_member(options):
    lengths = []
    unknot.train(
        **{**options, "seeds": [1, 2, 3]}, callback=lambda _, logs: lengths.append(len(logs["kl"]))
    )
    assert {*lengths} == {3}


def test_true_stops_the_training_where_it_is(options, tmp_path):
    def enough(run, logs):
        return run.step >= 20 and "loss" in logs

    run = unknot.train(**options, log_every=10, callback=enough)
    assert (run.status, run.step) == ("stopped", 20)
    short = unknot.train(**{**options, "steps": 20}, log_every=10)
    assert torch.equal(run.codes(), short.codes())
    stored = unknot.train(**options, log_every=10, callback=enough, out=tmp_path / "run")
    assert stored.status == "stopped"
    resumed = unknot.resume(tmp_path / "run", device="cpu")
    assert torch.equal(resumed.codes(), unknot.train(**options, log_every=10).codes())
