"""The full settings of a study's runs: one page beside its own, a block for each setting."""

import json
from dataclasses import dataclass
from pathlib import Path

from unknot.core.errors import DataError
from unknot.core.files import write_whole
from unknot.core.text import cell_text
from unknot.core.toml import to_toml
from unknot.report.html import render
from unknot.study.export import varied
from unknot.study.study import Study, flat

PAGE = "specs.html"
FILE = "study.toml"


@dataclass(frozen=True)
class Setting:
    """What runs share, and the runs."""

    title: str
    """What sets it apart from the others; empty where there are none."""
    toml: str
    """A file for `unknot train` that gives all its runs."""
    runs: list[tuple[str, int]]
    """Ids and seeds."""


def settings(study: Study) -> list[Setting]:
    """Each setting of a study once, in the order of the plan."""
    specs: dict[int, str] = {}
    runs: dict[int, list[tuple[str, int]]] = {}
    for run in study.store.runs():
        if run.wanted:
            specs[run.setting] = run.spec
            runs.setdefault(run.setting, []).append((run.id, run.seed))
    tables = {number: json.loads(spec) for number, spec in specs.items()}
    paths = {number: flat(table) for number, table in tables.items()}
    telling = varied([*paths.values()])
    return [
        Setting(
            ", ".join(f"{p} {cell_text(paths[number][p])}" for p in telling if p in paths[number]),
            to_toml({**table, "seeds": [seed for _, seed in runs[number]]}),
            runs[number],
        )
        for number, table in tables.items()
    ]


def study_file(study: Study) -> str:
    """The text of the study file."""
    file = study.path / FILE
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(f"Cannot read {file}: {error}.") from error


def write_specs(study: Study, folder: Path) -> list[Path]:
    """Write the page, with an anchor for each run's id, and a copy of the study file.

    One file for all runs: there may be ten thousand, and they share few settings.
    """
    page = render("study_specs.html", title=study.name, settings=settings(study))
    write_whole(folder / PAGE, page.encode())
    write_whole(folder / FILE, study_file(study).encode())
    return [folder / PAGE, folder / FILE]
