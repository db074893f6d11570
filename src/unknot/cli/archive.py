"""``unknot archive``: a study or a run in one file."""

from pathlib import Path
from typing import Annotated

import typer

from unknot.cli.options import output_file, parse_folder, parse_path


def archive(
    path: Annotated[Path, typer.Argument(help="Study folder, or run folder.", parser=parse_folder)],
    out: Annotated[
        Path | None,
        typer.Option(help="Output file.", show_default="NAME.zip, here", parser=parse_path),
    ] = None,
    weights: Annotated[
        str, typer.Option(help="Weights: half (16 bits), full (as trained) or none.")
    ] = "half",
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Write a study or a run as one zip file: records, curves, weights and their SHA-256.

    `unknot.load("study.zip")` reads it. Any program unpacks it to a study folder or run folder.
    Images do not travel, nor the folders they are in: of a path to data the last part is kept, and
    data of that name is looked for in the folder that one is in.

    Examples:
    `unknot archive studies/betas --out betas.zip`

    `unknot archive runs/faces --weights full`
    """
    from unknot.cli.screen import counting_bar, say
    from unknot.studies.archive.writing import write_archive

    file = output_file(out or Path(f"{path.absolute().name}.zip"), ".zip", force=force)
    with counting_bar("archive", "populations") as update:
        contents = write_archive(path, file, weights=weights, new=not force, on_population=update)
    each = f", {contents.weight_bytes / contents.models / 1e6:.1f} MB of weights each"
    text = f"{contents.models:,} model{'s' * (contents.models > 1)}, {contents.bytes / 1e6:.1f} MB"
    say((str(file), "bold"), f": {contents.kind} {contents.name}, {text}", each, ".")
    if contents.waiting:
        say(f"{contents.waiting:,} runs of the study are not trained and not in the file.")
    if contents.paths:
        named = ", ".join(contents.paths[:3]) + ", ..." * (len(contents.paths) > 3)
        say(f"Ids of runs depend on these paths, which are in the file: {named}")
