"""``unknot report``: a study, or any table of runs, as one HTML page."""

from pathlib import Path
from typing import Annotated, Any

import typer

from unknot.cli.options import output_folder, parse_folder, parse_path, split_names

MAIN = {"report": "index.html", "paper": "main.tex"}
"""The files that show the others."""


def report(
    study: Annotated[
        Path,
        typer.Argument(
            help="Study folder, CSV table with one row per run, or the published runs of Locatello "
            "et al. 2019 (a file, or a folder of files).",
            parser=parse_folder,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Output folder.",
            show_default="STUDY/report, or reports/TABLE; with --paper STUDY/paper, or "
            "papers/TABLE",
            parser=parse_path,
        ),
    ] = None,
    paper: Annotated[
        bool,
        typer.Option(
            "--paper",
            help="Write a folder for a paper instead of the page: LaTeX tables, PDF figures at "
            "column width, BibTeX, and a paragraph on methods.",
        ),
    ] = False,
    published: Annotated[
        Path | None,
        typer.Option(
            help="Published runs, or any CSV table of runs, to compare with; study2019_results for "
            "those of `unknot data get study2019_results`; kumar2018, mushom2020 or ozcan2024 for "
            "the means that these documents print.",
            parser=parse_path,
        ),
    ] = None,
    metrics: Annotated[
        str | None, typer.Option(help="Metrics to show in figures, separated by commas.")
    ] = None,
    baseline: Annotated[
        list[str] | None,
        typer.Option(
            help="Draw a line in the figures at the mean of an objective or of a configuration, "
            "also of another study or table (studies/other:vae), or at a value such as mig=0.1. "
            "Repeatable.",
            show_default="the baseline in the study file",
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            help="Show only runs with a number in a range, such as recon<50 in quotes. "
            "recon.lowest is the smallest reconstruction loss that a run of a study logged. "
            "Repeatable.",
        ),
    ] = None,
    device: Annotated[
        str,
        typer.Option(
            help="Device that encodes and decodes the images of models: cpu, cuda or auto."
        ),
    ] = "cpu",
) -> None:
    """Write a report of a study: one HTML page, and every figure as a file.

    The page works offline. Figures are saved as PNG and SVG, with their data as CSV.

    Examples:
    `unknot report studies/betas`

    `unknot report studies/betas --published dsprites_full.csv --metrics mig,sap`

    `unknot report studies/betas --published study2019_results`

    `unknot report studies/mushom --published mushom2020`

    `unknot report scores.csv --out page --baseline vae --baseline mig=0.1`

    `unknot report studies/losses --where "recon<50" --baseline studies/betas:vae`

    `unknot report studies/betas --paper`
    """
    from unknot.cli.screen import say
    from unknot.core.errors import ConfigError, StoreError

    if paper and (baseline or published):
        name = "--baseline" if baseline else "--published"
        raise ConfigError(f"--paper takes no {name}; leave it out, or write the page instead.")
    if device != "cpu":  # a table needs no torch
        from unknot.engine.device import runtime

        runtime(device)  # or it would be said in the page alone
    if (study / "run.toml").is_file():
        raise StoreError(
            f"{study} holds a run; a report is of a study. See the run with `unknot show {study}`."
        )
    in_study = study.is_dir() and (study / "study.db").exists()
    kind = "paper" if paper else "report"
    folder = output_folder(
        out or (study / kind if in_study else Path(f"{kind}s") / study.stem),
        page=MAIN[kind] if out else "",
    )
    options: dict[str, Any] = {"scores": split_names(metrics), "conditions": where or []}
    if not paper:
        options |= {"published": _by_name(published), "baselines": baseline or [], "device": device}
    files = write(_by_name(study) or study, folder, paper=paper, **options)
    say(f"{len(files):,} files in {folder}. Open {files[0]}")


def _by_name(path: Path | None) -> Path | None:
    """Where the tables of the 2019 study lie, if that is what is named and no file is called so."""
    if path is None or str(path) != "study2019_results" or path.exists():
        return path
    from unknot.data.parts.collections import Study2019Results

    return Study2019Results().folder()


def write(study: Path, folder: Path, *, paper: bool = False, **options: Any) -> list[Path]:
    """Write the page of what is at a path, or its folder for a paper; say what is being drawn."""
    from unknot.cli.screen import stderr
    from unknot.report.study import page as study_page
    from unknot.report.study.paper import folder as study_paper

    with stderr.status("drawing") as status:
        moves = stderr.is_terminal
        tell = (lambda text: status.update(stderr.render_str(text))) if moves else stderr.print
        make = study_paper.paper if paper else study_page.report
        return make(study, folder, say=tell, warn=stderr.print, **options)
