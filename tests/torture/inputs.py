"""Bad inputs and fuzzing as trials."""

import shutil
import tempfile
from pathlib import Path

from bad_inputs.checks import check_argument, check_call, check_command, check_generated
from fuzz.parsers import fuzz

CASES = 200
"""Of fuzzing in one trial."""


def bad_command(world, row):
    check_command(row, world.bad, world.single)


def bad_call(world, row):
    check_call(row, world.single)


def bad_argument(_, case, value):
    check_argument(*case, value)


def bad_setting(world, text):
    check_generated(text, world.images)


def fuzzed(parser, world, seed):
    """Inputs of a parser; how many."""
    folder = Path(tempfile.mkdtemp(dir=world.folder))
    try:
        return fuzz(parser, folder, CASES, seed=seed)
    finally:
        shutil.rmtree(folder)
