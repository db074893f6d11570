"""Validation curves, early stopping, best steps and weights of chosen steps."""

import csv
import io

import pytest
import torch

import unknot
from unknot.core.errors import ConfigError, StoreError
from unknot.losses import reconstruction
from unknot.runs import config
from unknot.runs.folder import RunFolder
from unknot.runs.stopping import Best, Stop

SPLIT = {"kind": "rows", "validation": 0.25, "test": 0.0}


@pytest.fixture
def settings(options):
    return {**options, "split": SPLIT, "validate_every": 10, "log_every": 10, "lr": 1e-2}


def test_validation_is_the_loss_of_validation_rows(settings):
    """Of an autoencoder, whose loss has no noise: the error of its reconstructions."""
    run = unknot.train(**{**settings, "objective": "ae", "likelihood": "gaussian"})
    rows = run.rows("validation")
    assert len(rows) == 16
    assert run.training.validation.steps == [10, 20, 30]
    x = run.dataset.batch(rows)
    decoded = run.training.population.decode(run.training.population.encode(x).mean)
    expected = reconstruction("gaussian", decoded, x.expand_as(decoded))
    torch.testing.assert_close(run.training.validation["validation.recon"][-1].float(), expected)
    assert (
        run.training.validation["validation.recon"][-1]
        < run.training.validation["validation.recon"][0]
    )


def test_looking_changes_nothing_and_is_no_part_of_the_id(settings):
    looked = unknot.train(**settings, keep="best", score_every=7)
    blind = unknot.train(**{**settings, "validate_every": None})
    assert looked.spec.ids() == blind.spec.ids()
    assert torch.equal(looked.codes(), blind.codes())
    stops = unknot.train(**settings, stop={"patience": 50})
    assert stops.spec.ids() != blind.spec.ids()
    assert torch.equal(stops.codes(), blind.codes())


def test_a_run_stops_early_and_says_so(settings, tmp_path):
    stop = {"metric": "validation.loss", "patience": 2, "better": "higher"}
    run = unknot.train(**{**settings, "steps": 90}, stop=stop, out=tmp_path / "run")
    assert (run.status, run.step) == ("done", 30)
    record = RunFolder(tmp_path / "run").record()
    assert record["members"][0]["stopped_at"] == 30
    assert record["members"][0]["last"]["validation.loss"] is not None
    assert unknot.load(tmp_path / "run", device="cpu").step == 30
    assert unknot.resume(tmp_path / "run", device="cpu").step == 30  # there is nothing left
    rows = [*csv.DictReader(io.StringIO((tmp_path / "run" / "curves.csv").read_text()))]
    assert [row["step"] for row in rows] == ["1", "10", "20", "30"]
    assert [bool(row["validation.loss"]) for row in rows] == [False, True, True, True]


def test_the_best_step_is_kept_beside_the_last(settings, tmp_path):
    """By the worst loss, which is the first that is looked at."""
    stop = {"metric": "validation.loss", "patience": 99, "better": "higher"}
    out = tmp_path / "run"
    run = unknot.train(**settings, stop=stop, keep="best", score_at=[10], out=out)
    best = unknot.load(out, device="cpu", step="best")
    tenth = unknot.load(out, device="cpu", step=10)
    assert best.training.weight_steps == {0: 10}
    assert torch.equal(best.codes(), tenth.codes())
    assert not torch.equal(best.codes(), run.codes())
    short = unknot.train(**{**settings, "steps": 10})
    assert torch.equal(tenth.codes(), short.codes())
    (score,) = tenth.score("mig")
    assert score.step == 10
    assert run.score("mig")[0].step is None
    with pytest.raises(StoreError, match="no weights of step 11; there are those of 10"):
        unknot.load(out, device="cpu", step=11)


def test_the_best_of_values_by_hand():
    best = Best(Stop(metric="loss", patience=2, least=0.5))
    losses = torch.tensor([[5.0, 1.0], [4.6, torch.nan], [4.4, 0.2], [4.3, 0.1], [4.2, 0.0]])
    improved = [best.look(step, {"loss": row}) for step, row in enumerate(losses)]
    assert improved == [[0, 1], [], [0, 1], [], []]
    assert best.values == {0: pytest.approx(4.4), 1: pytest.approx(0.2)}
    assert best.steps == {0: 2, 1: 2}
    assert best.patient == [0, 1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"split": None}, "held out for validation"),
        ({"validate_every": None, "stop": {}}, "logged at validation steps alone"),
        ({"validate_every": None, "keep": "best"}, "logged at validation steps alone"),
        ({"stop": {"patience": 0}}, "patience of 1 or more"),
        ({"stop": {"metric": "validation.los"}}, "did you mean 'validation.loss'"),
        ({"keep": "recom"}, "did you mean 'recon'"),
        ({"score_at": [31]}, "steps from 1 to 30"),
        ({"score_every": 0}, "score_every must be 1 or more"),
    ],
)
def test_what_cannot_be_looked_at_is_refused(settings, change, message):
    with pytest.raises(ConfigError, match=message):
        unknot.train(**{**settings, **change})


def test_options_survive_a_file(settings):
    run = unknot.train(
        **{**settings, "steps": 1}, stop={"patience": 3}, keep="best", score_at=[1], score_every=9
    )
    assert config.spec(run.spec.table()) == run.spec


def test_a_metric_decides_who_stops_and_which_step_is_best(options, tmp_path):
    """The best step and the end are those that scores of the kept weights give."""
    settings = {**options, "steps": 60, "score_every": 6, "log_every": 30, "lr": 1e-2}
    rule = {"metric": "mig", "patience": 2}
    run = unknot.train(**settings, stop=rule, keep="best", seeds=[0, 1, 2], out=tmp_path / "run")
    for i, entry in enumerate(RunFolder(tmp_path / "run").record()["members"]):
        end = entry.get("stopped_at", 60)
        steps = [*range(6, end, 6)]
        scores = [
            unknot.load(tmp_path / "run", step=step, device="cpu")[i].score("mig")[0].values["mig"]
            for step in steps
        ]
        scores.append(run[i].score("mig")[0].values["mig"])
        best = max(range(len(scores)), key=lambda j: scores[j])  # the first of them
        assert entry["best_at"] == [*steps, end][best]
        if "stopped_at" in entry:
            assert end == entry["best_at"] + 12
    alone = unknot.train(**settings, stop=rule, seeds=1)
    assert alone.step == run.training.stopped_early.get(1, 60)
    assert torch.equal(alone.codes(), run[1].codes())
    assert alone.spec.ids() != unknot.train(**{**settings, "steps": 1}).spec.ids()


def test_a_metric_needs_steps_at_which_it_is_scored(options):
    with pytest.raises(ConfigError, match="score_every=N"):
        unknot.train(**options, stop={"metric": "mig"})
    with pytest.raises(ConfigError, match="did you mean 'dci"):
        unknot.train(**options, keep="dci.disentanglemnt", score_every=10)
    assert Stop.create("gaussian_tc").better == Stop.create("validation.loss").better == "lower"
    assert Stop.create("dci.disentanglement@study2019").better == "higher"
