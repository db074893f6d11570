"""What a row types or calls, for the tests and for the measurement of an earlier version."""

import sys

import numpy as np
import torch

import unknot
from unknot.cli.main import main


def words_of(row, folder, run):
    """Of a row, with the paths of the folder of files and of the finished run."""
    return [word.replace("{d}", str(folder)).replace("{run}", str(run)) for word in row.words]


def type_words(words):
    """Run a command in this process; its exit code.

    Raises what is behind a bug of ours, as it was raised.
    """
    before = sys.argv
    sys.argv = ["unknot", *words]
    try:
        main()
    except SystemExit as end:
        if end.code == 70:
            raise end.__cause__ from None
        return end.code or 0
    finally:
        sys.argv = before
    return 0


def evaluate(row, run):
    """What a row calls."""
    rng = np.random.default_rng(0)
    names = {"unknot": unknot, "np": np, "torch": torch, "run": run}
    names |= {"codes": rng.normal(size=(64, 3)), "factors": rng.integers(0, 4, (64, 2))}
    return eval(row.code, names)
