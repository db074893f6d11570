"""Populations go to simulated workers as to real ones; times by hand."""

import pytest

from unknot.studies.execute.simulation import Job, Schedule, simulate


def job(name, kind="x", first=0, again=0, rest=1):
    return Job(name, kind, float(first), float(again), float(rest))


def test_each_job_goes_to_the_first_idle_worker_in_their_order():
    """3 and 4 begin at 0; 5 begins at 3 and ends at 8; 6 begins at 4 and ends at 10."""
    done = simulate([job(str(n), rest=n) for n in (3, 4, 5, 6)], 2)
    assert done == Schedule(10.0, (10.0, 8.0), 0.0)
    # The longest last, which is what a study does not avoid.
    assert simulate([job(str(n), rest=n) for n in (1, 1, 1, 9)], 2).seconds == 10.0


def test_a_worker_compiles_a_kind_once():
    """One worker: 7 + 1 for a, 2 + 1 for the next of its kind, 7 + 1 for b, 2 + 1 for a again."""
    jobs = [job(str(n), kind, first=7, again=2) for n, kind in enumerate("aaba")]
    assert simulate(jobs, 1) == Schedule(22.0, (22.0,), 18.0)
    # Two: a and a compile side by side; then b at one of them, and a again at the other.
    assert simulate(jobs, 2) == Schedule(16.0, (16.0, 11.0), 23.0)


@pytest.mark.parametrize("workers", [1, 3, 50])
def test_all_work_is_done_and_no_worker_is_there_for_nothing(workers):
    jobs = [job(str(n), rest=1 + n % 4) for n in range(10)]
    done = simulate(jobs, workers, start=5.0)
    assert sum(done.busy) == sum(each.rest for each in jobs)
    assert len(done.busy) == min(workers, 10)
    assert done.seconds >= 5 + max(4, sum(done.busy) / workers)
    assert simulate([], workers).seconds == 0
