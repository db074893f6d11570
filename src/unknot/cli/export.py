"""``unknot export``: a model as plain PyTorch and ONNX with a model card."""

from pathlib import Path
from typing import Annotated

import typer

from unknot.cli.options import DataPlace, Device, Member, RunArgument, parse_path

License = Annotated[
    str, typer.Option(help="Licence for the model card, an identifier such as mit or cc-by-4.0.")
]


Onnx = Annotated[
    bool | None,
    typer.Option(
        "--onnx/--no-onnx",
        help="Write ONNX files.",
        show_default="if the extra onnx is installed",
    ),
]


def export(
    run: RunArgument,
    out: Annotated[
        Path | None,
        typer.Option(help="Output folder.", show_default="NAME-model, here", parser=parse_path),
    ] = None,
    member: Member = 0,
    license: License = "unknown",
    onnx: Onnx = None,
    device: Device = "auto",
    data: DataPlace = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a model that was exported there before.")
    ] = False,
) -> None:
    """Write a model for others: plain PyTorch, ONNX and a model card, in one folder.

    `model.py` and `model.safetensors` need torch and safetensors, and no unknot. The folder `run`
    is for unknot: `unknot.load("model/run")`, `unknot show model/run`. What is written is compared
    with the run on some images and codes. Images of the data do not travel.

    Examples:
    `unknot export runs/faces --out model`

    `unknot export runs/faces --out model --license mit --onnx --force`
    """
    from unknot.cli.screen import say, stderr
    from unknot.runs.verbs import load
    from unknot.sharing import folder
    from unknot.sharing.card import differences

    path = out or Path(f"{run.absolute().name}-model")
    folder.check_target(path, overwrite=force)
    with stderr.status("writing the model"):
        exported = folder.export(
            load(run, device=device, data=data),
            path,
            member=member,
            license=license,
            onnx=onnx,
            overwrite=force,
        )
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    say((str(path), "bold"), f": {size / 1e6:.1f} MB.")
    say(f"Largest difference from the run: {differences(exported.errors)}.")
    for note in exported.notes:
        say(note)
