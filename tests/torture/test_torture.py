"""A short torture in every run of the suite; `make torture MINUTES=60` is the long one."""

import itertools
import random
import signal

import pytest
from torture import disks, drivers, flips, kills, verbs
from torture.kinds import kinds
from torture.tally import Tally
from torture.world import STAGES, World

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return World(tmp_path_factory.mktemp("torture"))


def test_nothing_is_lost(world):
    rng, tally = random.Random(7), Tally()
    for nth in range(1, world.run_writes + 1):  # every write of a run; the stage takes turns
        tally.add("run killed at a write", kills.killed_run, world, STAGES[nth % 3], nth)
    for nth in (1, 2, 8):
        tally.add("study killed at a write", kills.killed_study, world, "written", nth)
    for name in flips.final_files(world.run):
        where = (world, name, rng.randrange(flips.RANGES), rng.randrange(99))
        tally.add("bit of a run flipped", flips.flipped_run, *where)
    names = {name.split("/")[-1]: name for name in flips.final_files(world.study)}
    for name in names.values():  # of one population
        where = (world, name, rng.randrange(flips.RANGES), rng.randrange(99))
        tally.add("bit of a study flipped", flips.flipped_study, *where)
    tally.add("stopped by a signal", drivers.stopped, world, signal.SIGTERM, 1.0)
    if disks.can_mount(world.folder):
        tally.add("study on a full disk", disks.full_study, world, 0.6)
        tally.add("evaluation on a full disk", disks.full_evaluation, world, 4096)
        for nth, name in enumerate(verbs.VERBS):
            tally.add(
                "verb on a full disk", verbs.full_disk, world, name, 4096 * (1 + 6 * (nth % 2))
            )
        tally.add("archive without room", verbs.full_scratch, world, 8192)
    else:
        tally.add("files cut off by a limit", disks.cut_study, world, 9_000)
    for name in ("merged", "model", "codes.npz"):
        tally.add("a verb twice at once", verbs.two_at_once, world, name)
    tally.add("read-only folder", disks.read_only, world)
    print(f"\n{tally}")
    assert not tally.lost, str(tally)


def test_every_kind_of_the_long_torture_has_cases(world, tmp_path):
    world.folder = tmp_path
    for kind in kinds(world, random.Random(0)):
        assert len([*itertools.islice(kind.cases, 3)]) == 3
