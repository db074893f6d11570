"""A short torture in every run of the suite; `make torture MINUTES=60` is the long one."""

import random

import pytest
from torture import trials
from torture.tally import Tally

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return trials.World(tmp_path_factory.mktemp("torture"))


def test_nothing_is_lost(world):
    rng, tally = random.Random(7), Tally()
    for nth in range(1, 10):  # every write of a run; the stage takes turns
        tally.add("run killed at a write", trials.killed_run, world, trials.STAGES[nth % 3], nth)
    for nth in (1, 2, 8):
        tally.add("study killed at a write", trials.killed_study, world, "written", nth)
    for name in trials.final_files(world.run):
        where = (world, name, rng.random(), rng.randrange(8))
        tally.add("byte of a run flipped", trials.flipped_run, *where)
    names = {name.split("/")[-1]: name for name in trials.final_files(world.study)}
    for name in names.values():  # of one population
        where = (world, name, rng.random(), rng.randrange(8))
        tally.add("byte of a study flipped", trials.flipped_study, *where)
    tally.add("read-only folder", trials.read_only, world)
    print(f"\n{tally}")
    assert not tally.lost, str(tally)
