"""Populations go to simulated workers as to real ones; times by hand."""

import pytest

from unknot.studies.execute import simulation
from unknot.studies.execute.simulation import Job, Schedule, simulate


def job(name, kind="x", first=0, again=0, rest=1, scores=0):
    return Job(name, kind, float(first), float(again), float(rest), float(scores))


def test_each_job_goes_to_the_first_idle_worker_in_their_order():
    """3 and 4 begin at 0; 5 begins at 3 and ends at 8; 6 begins at 4 and ends at 10."""
    done = simulate([job(str(n), rest=n) for n in (3, 4, 5, 6)], 2)
    assert done == Schedule(10.0, (10.0, 8.0), 0.0, 0.0)
    # The longest last, which is what a study does not avoid.
    assert simulate([job(str(n), rest=n) for n in (1, 1, 1, 9)], 2).seconds == 10.0


def test_a_worker_compiles_a_kind_once():
    """One worker: 7 + 1 for a, 2 + 1 for the next of its kind, 7 + 1 for b, 2 + 1 for a again."""
    jobs = [job(str(n), kind, first=7, again=2) for n, kind in enumerate("aaba")]
    assert simulate(jobs, 1) == Schedule(22.0, (22.0,), 18.0, 0.0)
    # Two: a and a compile side by side; then b at one of them, and a again at the other.
    assert simulate(jobs, 2) == Schedule(16.0, (16.0, 11.0), 23.0, 0.0)


@pytest.mark.parametrize("workers", [1, 3, 50])
def test_all_work_is_done_and_no_worker_is_there_for_nothing(workers):
    jobs = [job(str(n), rest=1 + n % 4) for n in range(10)]
    done = simulate(jobs, workers, start=5.0)
    assert sum(done.busy) == sum(each.training for each in jobs)
    assert len(done.busy) == min(workers, 10)
    assert done.seconds >= 5 + max(4, sum(done.busy) / workers)
    assert simulate([], workers).seconds == 0


def test_scores_are_computed_beside_the_training_of_others():
    """Training ends at 10, 20 and 30; the scores of the last are all that is left then."""
    short = [job(str(n), rest=10, scores=4) for n in range(3)]
    assert simulate(short, 1, overlap=True) == Schedule(34.0, (30.0,), 0.0, 4.0)
    assert simulate(short, 1) == Schedule(42.0, (42.0,), 0.0, 12.0)
    # Scores that take longer than training: they begin at 10 and never wait.
    long = [job(str(n), rest=10, scores=25) for n in range(3)]
    assert simulate(long, 1, overlap=True).seconds == 10 + 3 * 25
    assert simulate(long, 1, overlap=True).scores == 10 + 3 * 25 - 30
    # Where each worker has one population, there is nothing to compute beside.
    assert simulate(long, 3, overlap=True) == simulate(long, 3)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_never_more_are_trained_or_scored_than_there_are_workers(workers, monkeypatch):
    seen = []
    give = simulation._Waiting.give

    def noted(worker, task):
        give(worker, task)
        busy = [w.task.train_only for w in worker.pool.alive if w.task is not None]
        seen.append((busy.count(True), busy.count(False)))

    monkeypatch.setattr(simulation._Waiting, "give", noted)
    jobs = [job(str(n), rest=1 + n % 4, scores=n % 5) for n in range(20)]
    done = simulate(jobs, workers, overlap=True)
    assert max(training for training, _ in seen) == workers
    assert max(scoring for _, scoring in seen) == workers
    assert len(seen) == 40  # each is trained once and scored once
    assert done.seconds < simulate(jobs, workers).seconds
