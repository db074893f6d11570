"""``unknot explore``: one file in which people move the latents of a model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unknot.cli.options import (
    DataPlace,
    Device,
    Member,
    output_file,
    output_folder,
    parse_folder,
    parse_path,
)

if TYPE_CHECKING:
    from unknot.report.explorer.forms import Form


def explore(
    run: Annotated[Path, typer.Argument(help="Run folder, or study folder.", parser=parse_folder)],
    other: Annotated[
        Path | None,
        typer.Argument(
            help="Another run on the same data, to compare under the same sliders.",
            parser=parse_folder,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Output file; of a study, a folder.",
            show_default="RUN/explorer.html, or STUDY/report",
            parser=parse_path,
        ),
    ] = None,
    member: Member = 0,
    no_images: Annotated[
        bool, typer.Option("--no-images", help="Leave images of the data and their codes out.")
    ] = False,
    frames: Annotated[
        bool,
        typer.Option("--frames", help="Put decoded pictures into the file instead of weights."),
    ] = False,
    int8: Annotated[
        bool,
        typer.Option(
            "--int8", help="Store weights in 8 bits where pixels change by 3/255 at most."
        ),
    ] = False,
    device: Device = "auto",
    data: DataPlace = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Write an explorer: one HTML file with a slider for each latent, to open or to send.

    The file needs no server and fetches nothing: the decoder's weights are in it, and the browser
    computes the pictures. Nets of other layers than linear ones, convolutions and activations get
    pictures that are decoded beforehand, as with --frames.

    Of a study it writes a file for each objective, with the best model beside the median one, and
    `unknot report` links to them.

    Examples:
    `unknot explore runs/faces --out faces.html`

    `unknot explore runs/vae runs/ada_gvae --out both.html`

    `unknot explore studies/betas`
    """
    from unknot.cli.screen import say, stderr
    from unknot.core.errors import ConfigError
    from unknot.report.explorer.model import explorer_model
    from unknot.report.explorer.page import explorer
    from unknot.runs.verbs import load

    if frames and int8:
        raise ConfigError("--frames stores no weights that --int8 could shorten; use one of them.")
    form: "Form | None" = "frames" if frames else "int8" if int8 else None
    if (run / "study.db").exists():
        if member or data is not None:
            raise ConfigError(f"{run} is a study; --member and --data are for a run.")
        _explore_study(run, other, out, images=not no_images, form=form, device=device)
        return
    path = output_file(out or run / "explorer.html", ".html", force=force)
    folders = [run] if other is None else [run, other]
    with stderr.status("measuring latents"):
        models = [explorer_model(load(f, device=device, data=data), member) for f in folders]
        page = explorer(models, images=not no_images, form=form)
    page.write(path, new=not force)
    if page.reason:
        say(f"Pictures are decoded beforehand: {page.reason}.")
    say(f"{page.contents}")
    say("Open ", (str(path), "bold"), f" ({path.stat().st_size / 1e6:.1f} MB).")


def _explore_study(
    study: Path,
    other: Path | None,
    out: Path | None,
    *,
    images: bool,
    form: "Form | None",
    device: str,
) -> None:
    """Write the explorers of a study into the folder of its report."""
    from unknot.cli.screen import say, stderr
    from unknot.core.errors import ConfigError
    from unknot.report.explorer.study import write_explorers

    if other is not None:
        raise ConfigError(
            f"{study} is a study, whose models are compared already; leave out {other}."
        )
    if out is not None and out.suffix == ".html":
        raise ConfigError(f"A study gets a folder of explorers; name one with --out, not {out}.")
    folder = output_folder(out or study / "report")
    with stderr.status("measuring latents"):
        files = write_explorers(study, folder, images=images, form=form, device=device)
    for file in files:
        say(f"{file} ({file.stat().st_size / 1e6:.1f} MB)")
