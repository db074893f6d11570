"""``unknot study merge``: several studies as one."""

from pathlib import Path
from typing import Annotated

import typer

from unknot.cli.options import parse_folder, parse_path


def merge(
    studies: Annotated[
        list[Path], typer.Argument(help="Study folders, two or more.", parser=parse_folder)
    ],
    out: Annotated[
        Path, typer.Option(help="Folder of the merged study; it must not exist.", parser=parse_path)
    ],
) -> None:
    """Merge studies that were run on machines without a common disk.

    Their files may differ in the seeds, in the grids or in one axis of [across]. A run that is in
    several studies must have the same results in all. The studies themselves are not changed.

    Example: `unknot study merge studies/seeds-0-4 studies/seeds-5-9 --out studies/betas`
    """
    from unknot.cli.screen import say
    from unknot.cli.study.status import print_status
    from unknot.studies.merge import merge as merge_studies
    from unknot.studies.study import Study

    merge_studies(studies, out)
    print_status(Study.open(out), False)
    say(f"Done: {out}. Next: unknot report {out}")
