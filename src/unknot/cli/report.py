"""``unknot report``: a study, or any table of runs, as one page."""

from pathlib import Path
from typing import Annotated

import typer


def report(
    study: Annotated[
        Path,
        typer.Argument(
            help="A study's folder, a CSV table with a row for each run, or published runs of the "
            "2019 study: a file or a folder of them."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder to write [STUDY/report, or reports/TABLE].")
    ] = None,
    published: Annotated[
        Path | None, typer.Option(help="Published runs, or any table, to hold these against.")
    ] = None,
    metrics: Annotated[
        str | None, typer.Option(help="Scores that get figures, with commas between.")
    ] = None,
    device: Annotated[str, typer.Option(help="For pictures of models: cpu, cuda or auto.")] = "cpu",
) -> None:
    """Write one page that shows and explains a study, and all its figures as files.

    The page opens from the disk and needs no network. Figures are PNG and SVG, each with its
    numbers as CSV.

    Examples:
    `unknot report studies/betas`

    `unknot report studies/betas --published dsprites_full.csv --metrics mig,sap`

    `unknot report scores.csv --out page`
    """
    import torch

    from unknot.cli.distances import check_folder
    from unknot.cli.screen import beside, say
    from unknot.report import study_page, study_source

    # A bootstrap is thousands of small tensors: threads that wait for each other make it slower.
    torch.set_num_threads(1)
    in_study = study.is_dir() and (study / "study.db").exists()
    folder = check_folder(out or (study / "report" if in_study else Path("reports") / study.stem))
    scores = [name.strip() for name in metrics.split(",") if name.strip()] if metrics else None
    source = study_source.read(study, scores)
    theirs = study_source.read(published) if published else None
    with beside.status("drawing") as status:
        files = study_page.write_report(
            source, folder, published=theirs, device=device, say=lambda what: status.update(what)
        )
    say(f"{len(files):,} files in {folder}. Open {files[0]}")
