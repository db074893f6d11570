"""The page of a study's settings: a block for each configuration, and a copy of the study file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unknot.core.border import parse_json
from unknot.core.files import write_whole
from unknot.core.places import without_folders
from unknot.core.text import cell_text
from unknot.core.toml import edit_toml, parse_toml, read_text, to_toml
from unknot.report.html import render
from unknot.studies.export import setting_value, varying_settings
from unknot.studies.results import read_values, with_values
from unknot.studies.study import Study, flat

SPECS = "specs.html"
STUDY_FILE = "study.toml"


@dataclass(frozen=True)
class SettingsBlock:
    """What runs share, and the runs."""

    title: str
    """What sets it apart from the others; empty where there are none."""
    toml: str
    """A file for `unknot train` that gives all its runs."""
    runs: list[tuple[str, int]]
    """Ids and seeds."""


def settings_blocks(study: Study) -> list[SettingsBlock]:
    """Each configuration of a study once, in the order of the plan."""
    values = read_values(study.store.facts())
    specs: dict[int, dict[str, Any]] = {}
    runs: dict[int, list[tuple[str, int]]] = {}
    for run in study.store.runs():
        if run.current:
            if run.configuration not in specs:
                table = with_values(parse_json(run.spec), values.get(run.id, {}))
                specs[run.configuration] = without_folders(table)
            runs.setdefault(run.configuration, []).append((run.id, run.seed))
    paths = {number: flat(spec) for number, spec in specs.items()}
    apart = varying_settings([*paths.values()])
    labels = {
        number: [(path, value) for path in apart if (value := setting_value(row, path)) is not None]
        for number, row in paths.items()
    }
    return [
        SettingsBlock(
            ", ".join(f"{path} {cell_text(value)}" for path, value in labels[number]),
            to_toml({**spec, "seeds": [seed for _, seed in runs[number]]}),
            runs[number],
        )
        for number, spec in specs.items()
    ]


def shared_text(study: Study) -> str:
    """The study file as a page for others has it: without the folders of this machine."""
    file = study.path / STUDY_FILE
    text = read_text(file)
    return edit_toml(text, without_folders(parse_toml(text, str(file))))


def write_specs(study: Study, folder: Path) -> list[Path]:
    """Write the page of settings, with an anchor for each run's id, and a copy of the study file.

    One file for all runs: there may be ten thousand, and they share few settings.
    """
    page = render("study/specs.html", title=study.name, settings=settings_blocks(study))
    write_whole(folder / SPECS, page.encode())
    write_whole(folder / STUDY_FILE, shared_text(study).encode())
    return [folder / SPECS, folder / STUDY_FILE]
