"""Figures that explain methods, of formulas and toy models: a catalogue, one file each.

A file has a function ``draw()`` that gives a `DataFigure` with its title and caption. The first
line of the file says what it shows. Nothing else has to be told about a new file.
"""

import importlib
import pkgutil
from types import ModuleType

from unknot.core.errors import ConfigError
from unknot.core.registry import nearest

NAMES = tuple(file.name for file in pkgutil.iter_modules(__path__))


def figure_module(name: str) -> ModuleType:
    """The file of a figure, by its name."""
    if name not in NAMES:
        raise ConfigError(f"There is no figure '{name}'{nearest(name, list(NAMES))}")
    return importlib.import_module(f"{__name__}.{name}")
