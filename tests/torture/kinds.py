"""Kinds of trials, what each is given, and how much of the time it takes."""

import itertools
import signal
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from bad_inputs import CALLS, COMMANDS
from bad_inputs.arguments import VALUES, arguments
from bad_inputs.generated import SETTINGS
from fuzz.parsers import PARSERS
from torture import disks, drivers, flips, inputs, kills, verbs
from torture.world import STAGES

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Kind(NamedTuple):
    """A kind of trials."""

    name: str
    share: float
    """Of the time."""
    trial: Callable[..., int | None]
    cases: Iterator[tuple]
    """What trials are given beside the world, without end."""


def kinds(world, rng):
    """All kinds of trials that this machine can do."""

    def deal(cases):
        """All of some cases in random order, again and again."""
        deck = list(cases)
        while True:
            rng.shuffle(deck)
            yield from deck

    def draw(*makers):
        """Cases of chance."""
        while True:
            yield tuple(make() for make in makers)

    def at_writes(count):
        return deal(itertools.product(STAGES, range(1, count + 1)))

    def at_ranges(folder):
        for name, part in deal(itertools.product(flips.final_files(folder), range(flips.RANGES))):
            yield name, part, seed()

    def seed():
        return rng.randrange(1 << 32)

    def moment(most=4.0):
        return rng.uniform(0, most)

    def number():
        return rng.choice(SIGNALS)

    def room():
        return 4096 * round(4 ** rng.uniform(0, 4))

    names = [(name,) for name in verbs.VERBS]
    wrong = itertools.product(arguments(world.single), VALUES)
    share = 12 / len(PARSERS)
    fuzzing = [
        Kind(f"fuzz: {parser.name}", share, partial(inputs.fuzzed, parser), draw(seed))
        for parser in PARSERS
    ]
    small_disks = [
        Kind("study on a full disk", 5, disks.full_study, draw(lambda: rng.uniform(0.1, 1.2))),
        Kind("evaluation on a full disk", 2, disks.full_evaluation, draw(lambda: 4096)),
        Kind("verb on a full disk", 3, verbs.full_disk, ((n, room()) for (n,) in deal(names))),
        Kind("archive without room", 1, verbs.full_scratch, draw(room)),
    ]
    return [
        Kind("run killed at a write", 14, kills.killed_run, at_writes(world.run_writes)),
        Kind("study killed at a write", 14, kills.killed_study, at_writes(world.study_writes)),
        Kind("processes killed by chance", 10, drivers.random_kills, draw(seed)),
        Kind("driver killed, workers orphans", 4, drivers.orphans, draw(moment)),
        Kind("stopped by a signal", 5, drivers.stopped, draw(number, moment)),
        Kind("stopped at start-up", 5, drivers.stopped_early, draw(number, moment)),
        Kind("two drivers", 3, drivers.two_drivers, draw()),
        Kind("a verb twice at once", 3, verbs.two_at_once, deal(names)),
        Kind("bit of a run flipped", 8, flips.flipped_run, at_ranges(world.run)),
        Kind("bit of a study flipped", 10, flips.flipped_study, at_ranges(world.study)),
        *(small_disks if disks.can_mount(world.folder) else ()),
        Kind("files cut off by a limit", 4, disks.cut_study, draw(lambda: rng.randint(1, 60_000))),
        Kind("read-only folder", 1, disks.read_only, draw()),
        Kind("bad command", 5, inputs.bad_command, deal((row,) for row in COMMANDS)),
        Kind("bad call", 2, inputs.bad_call, deal((row,) for row in CALLS)),
        Kind("bad argument", 1, inputs.bad_argument, deal(wrong)),
        Kind("bad setting", 5, inputs.bad_setting, deal((text,) for text in SETTINGS)),
        *fuzzing,
    ]  # fmt: skip
