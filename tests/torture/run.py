"""The long torture: trials at random for some minutes, then one table: tried, held, lost.

PYTHONPATH=tests python tests/torture/run.py --minutes 60 --seed 1
"""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from torture import trials
from torture.tally import Tally


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng, tally = random.Random(options.seed), Tally()
    until = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory() as folder:
        world = trials.World(Path(folder))
        while time.monotonic() < until:
            stage, place, bit = rng.choice(trials.STAGES), rng.random(), rng.randrange(8)
            run_file, study_file = (
                rng.choice(trials.final_files(path)) for path in (world.run, world.study)
            )
            trial = rng.choices(
                [
                    ("run killed at a write", trials.killed_run, stage, rng.randint(1, 9)),
                    ("study killed at a write", trials.killed_study, stage, rng.randint(1, 24)),
                    ("byte of a run flipped", trials.flipped_run, run_file, place, bit),
                    ("byte of a study flipped", trials.flipped_study, study_file, place, bit),
                    ("processes killed by chance", trials.random_kills, rng),
                    ("two drivers", trials.two_drivers),
                    ("Ctrl-C at start-up", trials.interrupted, rng.uniform(0.1, 4)),
                    ("read-only folder", trials.read_only),
                ],
                weights=[4, 3, 12, 8, 1, 1, 1, 0.5],
            )[0]
            tally.add(trial[0], trial[1], world, *trial[2:])
        print(tally)
    return 1 if tally.lost else 0


if __name__ == "__main__":
    sys.exit(main())
