"""Plans: which runs there are, what they are called, and who trains beside whom."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unknot.core.errors import ConfigError
from unknot.engine.context import Context
from unknot.engine.population import populate
from unknot.metrics import facts
from unknot.runs import config
from unknot.runs.context import training_context
from unknot.studies import budget
from unknot.studies import estimate as estimates
from unknot.studies.estimate import Pace, estimate
from unknot.studies.execute.machine import machine
from unknot.studies.file.study_file import StudyFile
from unknot.studies.plan import Planned, configuration_table, even_parts, group_of, plan, shards


def planned(**table):
    return plan(StudyFile(table))


def test_runs_are_settings_by_seeds_and_have_the_ids_of_lone_runs():
    found = planned(seeds=[3, 1], grid=[{"objective": {"beta": [1, 4]}}])
    assert [(run.configuration, run.seed) for run in found.runs] == [(0, 3), (0, 1), (1, 3), (1, 1)]
    for run in found.runs:
        table = {**configuration_table(found.configurations[run.configuration]), "seeds": run.seed}
        assert config.spec(table).ids() == [run.id]
    assert found.steps == 4 * 20_000


def test_ids_do_not_change_with_the_version_of_python_or_the_way_a_number_is_written():
    """Frozen from the first version: another value means that studies cannot be continued."""
    (run,) = planned(grid=[{"objective": {"beta": 4}}]).runs
    (same,) = planned(train={"log_every": 7, "objective": {"name": "beta_vae", "beta": 4.0}}).runs
    assert run.id == same.id == "3befda6b6ece"


def test_a_setting_asked_for_twice_counts_once():
    found = planned(grid=[{"objective": {"beta": [1, 4]}}, {"objective": {"beta": [4.0, 2]}}])
    assert (len(found.runs), found.doubles) == (3, 1)
    assert len({run.id for run in found.runs}) == 3


def test_what_may_differ_inside_a_population_is_put_together_and_nothing_else():
    found = planned(
        seeds=[0, 1],
        grid=[
            {"objective": {"beta": [1, 4]}, "optim": {"lr": [1e-3, 1e-4]}, "order_seed": [1, 2]},
            {"objective": {"name": "dip_vae_i", "lambda_od": [1, 2]}},
            {"objective": {"likelihood": "gaussian"}},
            {"batch": [8, 16]},
            {"net": {"latents": 3}},
            {"steps": 5},
        ],
    )
    groups = shards(found, members=1_000)
    sizes = [len(shard.runs) for shard in groups]
    # The batch of 8 and of 16 are alone; a batch of 64 with beta 4 is in the first.
    assert sizes == [16, 4, 2, 2, 2, 2, 2]
    for shard in groups:
        members = [m for run in shard.runs for m in _members(found, run)]
        assert len({member.group for member in members}) == 1


def _members(found, run):
    return replace(found.configurations[run.configuration], seeds=run.seed).members()


def test_a_planned_population_is_one_that_the_engine_takes(tiny):
    """The planner's idea of equal shapes must not be wider than the engine's."""
    base = {"data": {"name": "arrays", "path": str(tiny)}, "net": {"name": "linear", "latents": 2}}
    found = planned(
        train={**base, "batch": 8}, grid=[{"objective": {"beta": [1, 2]}, "optim": {"lr": [1, 2]}}]
    )
    (shard,) = shards(found, members=10)
    context = training_context(found.configurations[0], "cpu")
    assert isinstance(context, Context)
    assert populate(context, [m for run in shard.runs for m in _members(found, run)]).members == 4


def test_a_schedule_and_a_number_do_not_share_a_population():
    beta = {"kind": "linear", "start": 0, "end": 4, "steps": 10}
    found = planned(grid=[{"objective": {"beta": [4, beta]}}])
    assert len(shards(found, members=9)) == 2


@given(st.integers(1, 60), st.integers(1, 20))
def test_parts_are_even_and_hold_each_run_once(runs, members):
    listed = [Planned(str(i), 0, i) for i in range(runs)]
    parts = even_parts(listed, members)
    assert [run for part in parts for run in part] == listed
    sizes = [len(part) for part in parts]
    assert max(sizes) <= members
    assert max(sizes) - min(sizes) <= 1
    assert len(parts) == -(-runs // members)


def test_runs_that_are_there_keep_their_populations_and_names_are_functions_of_members():
    old = planned(seeds=[0, 1], grid=[{"objective": {"beta": [1, 4]}}])
    new = planned(seeds=[0, 1, 2], grid=[{"objective": {"beta": [1, 4, 8]}}])
    added = shards(new, members=3, without={run.id for run in old.runs})
    assert [(run.configuration, run.seed) for shard in added for run in shard.runs] == [
        *[(0, 2), (1, 2), (2, 0)],
        *[(2, 1), (2, 2)],
    ]
    again = shards(new, members=3, without={run.id for run in old.runs})
    assert [shard.key for shard in added] == [shard.key for shard in again]
    assert len({shard.key for shard in added}) == 2


def test_ten_thousand_runs_are_planned_from_their_settings_not_one_by_one(monkeypatch):
    built = []
    real = config.spec
    monkeypatch.setattr(config, "spec", lambda *given: built.append(1) or real(*given))
    found = planned(seeds="0..999", grid=[{"objective": {"beta": [*range(1, 11)]}}])
    assert (len(found.runs), len(built)) == (10_000, 10)
    assert len(shards(found, members=16)) == 625


def test_what_settings_share_is_checked_once(monkeypatch):
    checked = []
    real = config.build
    monkeypatch.setattr(config, "build", lambda kind, *a: checked.append(kind) or real(kind, *a))
    axes = {"objective": {"beta": [1, 2, 3]}, "optim": {"lr": [0.1, 0.2]}, "batch": [4, 8]}
    found = planned(grid=[axes])
    # A net, a dataset, three objectives, two optimisers, for twelve runs.
    assert len(checked) == 1 + 1 + 3 + 2
    alone = [
        config.spec({**table, "seeds": [*found.sweep.seeds]}) for table in found.sweep.settings
    ]
    assert alone == [*found.configurations]
    # A truth value is no number, though Python calls it equal to one.
    with pytest.raises(ConfigError, match="beta"):
        planned(grid=[{"objective": {"beta": [1, True]}}])


def test_machines_share_their_cores_out(monkeypatch):
    monkeypatch.setattr("unknot.studies.execute.machine.cores", lambda: 8)
    spread = [(m.workers, m.threads) for m in (machine(n, device="cpu") for n in (1, 2, 3, 8, 99))]
    assert spread == [(1, 8), (2, 4), (3, 2), (8, 1), (8, 1)]
    assert machine(99, device="cpu", workers=4).threads == 2
    assert machine(99, device="cpu", workers=30).threads == 1
    begun = machine(1, device="cpu", threads=1)  # goes on with the threads it began with
    assert (begun.workers, begun.threads) == (8, 1)
    with pytest.raises(ConfigError, match="workers must be a whole number from 1 to 1,024; got 0"):
        machine(9, workers=0)


def paced(start=0.0, step=0.0, image=0.0, images=40):
    return Pace(float(start), step, image, images, factors=True)


def test_an_estimate_is_steps_and_starts_of_populations_as_workers_take_them(tiny, monkeypatch):
    base = {"data": {"name": "arrays", "path": str(tiny)}, "net": {"name": "linear", "latents": 2}}
    found = planned(
        train={**base, "batch": 8, "steps": 300},
        metrics=[],
        grid=[{"objective": {"beta": [1, 2]}}, {"objective": {"name": "dip_vae_i"}}],
    )
    here = machine(3, device="cpu", workers=2, threads=1)
    monkeypatch.setattr(estimates, "PATIENCE", 0.01)
    said = estimate(found, shards(found, members=2), here)
    assert (said.measured, said.kinds, said.scores) == (2, 2, 0)
    assert 0 < said.seconds < 600
    assert "on this machine" in said.text
    for workers, seconds in ((2, 7 + 300 * 2.0), (1, 5 + 2 * 300 * 0.5 + 7 + 300 * 2.0)):
        paces = iter([paced(5, 0.5), paced(7, 2.0)])
        monkeypatch.setattr(estimates, "measure", lambda *_, paces=paces: next(paces))
        here = machine(3, device="cpu", workers=workers, threads=1)
        assert estimate(found, shards(found, members=2), here).seconds == seconds


def test_an_estimate_counts_scores_and_images_encoded_for_them(monkeypatch):
    """Two models, scored at step 5 and the end, with ten latents and as many rows as costs have."""
    found = planned(seeds=[0, 1], metrics=["mig"], train={"steps": 10, "score_every": 5})
    pace = paced(image=1e-3, images=10_000)
    monkeypatch.setattr(estimates, "measure", lambda *_: pace)
    said = estimate(found, shards(found, members=2), machine(1, device="cpu", workers=1, threads=1))
    assert said.seconds == pytest.approx(2 * 2 * (facts("mig").cost + 10))
    assert said.scores == 1
    assert "100 % are scores" in said.text
    monkeypatch.setattr(estimates, "scoring_processes", lambda: 8)
    gpu = replace(machine(1, device="cpu", workers=1, threads=1), device="cuda")
    busy = 1 + (budget.BUSY - 1) * 2 / 8
    once = budget.SCORERS + 2 * (10 + busy * facts("mig").cost / 2)
    assert estimate(found, shards(found, members=2), gpu).seconds == pytest.approx(2 * once)


def test_kinds_that_there_was_no_time_for_count_as_the_others_do(monkeypatch):
    found = planned(metrics=[], grid=[{"steps": [10, 20, 30]}])
    monkeypatch.setattr(estimates, "MEASURING", -1.0)
    here = machine(3, device="cpu", workers=1, threads=1)
    assert estimate(found, shards(found, members=2), here).measured == 0
    times = iter([0.0, 0.0, 1.0, 2.0])  # began, then before each kind
    monkeypatch.setattr(estimates.time, "monotonic", lambda: next(times))
    monkeypatch.setattr(estimates, "MEASURING", 0.5)
    monkeypatch.setattr(estimates, "measure", lambda specs, device: paced(step=0.25))
    said = estimate(found, shards(found, members=2), here)
    assert (said.seconds, said.measured, said.kinds) == (0.25 * 60, 1, 3)


def test_an_estimate_of_what_cannot_begin_says_why():
    missing = {"name": "arrays", "path": "/nowhere/x.npz"}
    found = planned(train={"data": missing})
    said = estimate(found, shards(found, members=1), machine(1, device="cpu"))
    assert "unknown" in said.text
    assert "/nowhere/x.npz" in said.text


def test_groups_are_texts_that_other_processes_make_the_same():
    (spec,) = planned().configurations
    text = group_of(spec)
    assert "conv64" in text
    assert "seeds" not in text
    assert " at 0x" not in text, "no address of this process"
    assert text == group_of(replace(spec, seeds=(4, 5), order_seed=3))
    for other in ({"steps": 7}, {"batch": 3}, {"precision": "bf16"}):
        assert text != group_of(replace(spec, **other))
