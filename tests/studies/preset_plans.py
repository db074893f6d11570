"""Plans of presets, and the objectives in them."""

import functools
from pathlib import Path

from unknot.studies.file.study_file import read_study
from unknot.studies.plan import plan


@functools.cache
def preset(name, *, quick=False):
    return plan(read_study(Path(name), quick=quick))


def settings_of(name, **wanted):
    """Objectives of the settings whose objective has these values."""
    specs = [spec.objective.settings for spec in preset(name).configurations]
    return [s for s in specs if all(getattr(s, k, None) == v for k, v in wanted.items())]
