"""``unknot study list``: the presets."""

from pathlib import Path
from typing import Any

from unknot.cli.options import Json


def list_(json: Json = False) -> None:
    """List presets: published studies that `plan` and `run` accept by name.

    Example: `unknot study list`
    """
    from unknot.cli.screen import print_json, print_table, say
    from unknot.studies.file import presets
    from unknot.studies.file.study_file import read_study

    rows: list[dict[str, Any]] = []
    for name in presets.names():
        row: dict[str, Any] = {"name": name}
        for key, quick in (("runs", False), ("quick", True)):
            sweep = read_study(Path(name), quick=quick).sweep
            row[key] = len(sweep.settings) * len(sweep.seeds)
        rows.append({**row, "about": presets.summary(name)})
    if json:
        print_json(rows)
        return
    print_table(rows)
    say("\nRun one: unknot study run NAME, or its short version (column quick) with --quick.")
    say(f"The study files are in {presets.FOLDER}; copy one to change it.")
