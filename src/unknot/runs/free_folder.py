"""A new folder for a run that names none."""

import contextlib
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def free_folder(name: str) -> Iterator[Path]:
    """The first of runs/NAME-1, runs/NAME-2, ... that is not there yet.

    It is made at once, so that nobody who starts in the same moment takes it as well, and is gone
    again if nothing was written there.
    """
    runs = Path("runs")
    first = not runs.exists()
    for n in itertools.count(1):
        path = runs / f"{name}-{n}"
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError:
            pass  # training will say that nothing can be written there
        break
    try:
        yield path
    finally:
        with contextlib.suppress(OSError):  # only those that are empty
            path.rmdir()
            if first:
                runs.rmdir()
