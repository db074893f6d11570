"""``unknot explore``: one file in which people move the latents of a model."""

from pathlib import Path
from typing import Annotated

import typer

from unknot.cli.options import DataPlace, Device, Member, RunArgument


def explore(
    run: RunArgument,
    other: Annotated[
        Path | None,
        typer.Argument(help="Another run on the same data, to compare under the same sliders."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Output file.", show_default="RUN/explorer.html")
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

    Examples:
    `unknot explore runs/faces --out faces.html`

    `unknot explore runs/vae runs/ada_gvae --out both.html`
    """
    from unknot.cli.screen import say, stderr
    from unknot.core.errors import ConfigError, StoreError
    from unknot.report.explorer.model import explorer_model
    from unknot.report.explorer.page import check_path, explorer
    from unknot.runs.verbs import load

    if frames and int8:
        raise ConfigError("--frames stores no weights that --int8 could shorten; use one of them.")
    path = out or run / "explorer.html"
    check_path(path)
    if path.exists() and not force:
        raise StoreError(f"{path} already exists; choose another file with --out, or add --force.")
    folders = [run] if other is None else [run, other]
    with stderr.status("measuring latents"):
        models = [explorer_model(load(f, device=device, data=data), member) for f in folders]
        page = explorer(
            models, images=not no_images, form="frames" if frames else "int8" if int8 else None
        )
    page.write(path)
    if page.reason:
        say(f"Pictures are decoded beforehand: {page.reason}.")
    say(f"{page.contents}")
    say("Open ", (str(path), "bold"), f" ({path.stat().st_size / 1e6:.1f} MB).")
