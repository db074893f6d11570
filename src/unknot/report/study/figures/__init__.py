"""Figures of a study's page: a catalogue, one file each.

A file has a function ``applies(part)`` that gives the figures of its kind which the results have
something to show for, as `Figure`, without drawing any. Where it has ``over_datasets(part)``, that
does the same for all datasets together. ``draw`` draws one from `Results`, with its title and
caption. Nothing else has to be told about a new file.
"""

import importlib
import pkgutil

FILES = [
    importlib.import_module(f"{__name__}.{file.name}") for file in pkgutil.iter_modules(__path__)
]
