"""More steps: the run that it would have been, had so many been asked for at once."""

import pytest
import torch

import unknot
from unknot.core.errors import ConfigError, StoreError
from unknot.runs import records, verbs
from unknot.runs.folder import RunFolder
from unknot.runs.training import Progress

SPLIT = {"kind": "rows", "validation": 0.25, "test": 0.0}
EXTRAS = [
    {},
    {"ema": 0.9, "optimizer": "sgd", "lr": 1e-3, "log_every": 7},
    {
        "split": SPLIT,
        "validate_every": 7,
        "seeds": [3, 4],
        "objective": "factor_vae",
        "critic_width": 8,
    },
    {"split": SPLIT, "validate_every": 10, "keep": "best", "log_every": 10, "score_at": [20]},
]


def same(one, other):
    for ours, theirs in (
        (one.training.weights(), other.training.weights()),
        (one.training.curves.tensors(), other.training.curves.tensors()),
        (
            one.training.validation.tensors("seen"),
            other.training.validation.tensors("seen"),
        ),
        (one.training.best_weights, other.training.best_weights),
    ):
        assert ours.keys() == theirs.keys()
        for name, value in theirs.items():
            assert torch.equal(ours[name], value), name


@pytest.mark.parametrize("extra", EXTRAS, ids=str)
@pytest.mark.parametrize("place", ["memory", "folder"])
def test_more_steps_are_bit_for_bit_those_of_one_training(options, extra, place, tmp_path):
    settings = {**options, **extra}
    whole = unknot.train(**{**settings, "steps": 50})
    out = {} if place == "memory" else {"out": tmp_path / "run"}
    part = unknot.train(**settings, **out)
    before = part.codes()
    more = part.train_more(20)
    same(more, whole)
    assert more.spec.ids() == whole.spec.ids() != part.spec.ids()
    assert more.training.continues == {"ids": part.spec.ids(), "step": part.step}
    if place == "folder":
        loaded = unknot.load(tmp_path / "run", device="cpu")
        assert torch.equal(loaded.codes(), whole.codes())
        record = RunFolder(tmp_path / "run").record()
        assert record["continues"]["ids"] == part.spec.ids()
        assert not RunFolder(tmp_path / "run").damage()
        earlier = unknot.load(tmp_path / "run", device="cpu", step=part.step)
        assert torch.equal(earlier.codes(), before)


def test_old_scores_stay_with_their_step(options, tmp_path):
    part = unknot.train(**options, out=tmp_path / "run")
    old = part.score("mig")
    records.append(tmp_path / "run", old)
    more = part.train_more(20)
    kept = records.read(tmp_path / "run")
    assert [(r.id, r.step, r.values) for r in kept] == [
        (part.spec.ids()[0], None, old[0].values),
        (more.spec.ids()[0], 30, old[0].values),
    ]


@pytest.mark.parametrize("at", [31, 45])
def test_killed_on_the_way_it_resumes(options, tmp_path, at):
    settings = {**options, "checkpoint_every": 10}
    whole = unknot.train(**{**settings, "steps": 50})
    part = unknot.train(**settings, out=tmp_path / "run")

    def stop(progress: Progress):
        if progress.step >= at:
            raise MemoryError

    with pytest.raises(MemoryError):
        part.train_more(20, watch=stop)
    with pytest.raises(StoreError, match="not finished"):
        unknot.load(tmp_path / "run", device="cpu")
    resumed = verbs.resume(tmp_path / "run", device="cpu")
    same(resumed, whole)
    assert resumed.training.continues["step"] == 30


def test_a_schedule_over_the_run_is_refused_or_kept(options):
    falls = unknot.schedules.cosine(1e-3, 1e-5)
    part = unknot.train(**options, lr=falls)
    with pytest.raises(ConfigError, match=r"optim.lr changes until the last step, 30.*keep-sched"):
        part.train_more(20)
    more = part.train_more(20, keep_schedule=True)
    fixed = unknot.schedules.cosine(1e-3, 1e-5, 30)
    same(more, unknot.train(**{**options, "steps": 50}, lr=fixed))
    stays = unknot.schedules.warmup(1e-3, 10)
    same(
        unknot.train(**options, lr=stays).train_more(20),
        unknot.train(**{**options, "steps": 50}, lr=stays),
    )


def test_fewer_steps_and_looks_out_of_turn_are_refused(options):
    part = unknot.train(**options)
    with pytest.raises(ConfigError, match="1 or more; got 0"):
        part.train_more(0)
    odd = unknot.train(**options, keep="loss", log_every=7)
    with pytest.raises(ConfigError, match="are a multiple of log_every"):
        odd.train_more(5)
