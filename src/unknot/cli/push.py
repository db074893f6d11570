"""``unknot push``: a model on the Hugging Face hub."""

from typing import Annotated

import typer

from unknot.cli.export import License, Onnx
from unknot.cli.options import DataPlace, Device, Member, RunArgument


def push(
    run: RunArgument,
    name: Annotated[str, typer.Argument(help="Where to, user/name.", metavar="USER/NAME")],
    member: Member = 0,
    license: License = "unknown",
    private: Annotated[
        bool, typer.Option("--private", help="Make a new repository private.")
    ] = False,
    onnx: Onnx = None,
    device: Device = "auto",
    data: DataPlace = None,
) -> None:
    """Put a model on the Hugging Face hub, as `unknot export` writes it. Everyone may see it.

    Needs the extra `hub`; log in before with `hf auth login`, or set HF_TOKEN. A repository that
    holds such a model already gets a new commit; files of others are never replaced.
    `unknot.load("hub:user/name")` reads it.

    Example: `unknot push runs/faces me/faces-beta4 --license mit`
    """
    from unknot.cli.screen import say
    from unknot.runs.verbs import load
    from unknot.sharing import hub

    hub.check_name(name)
    pushed = hub.push(
        load(run, device=device, data=data),
        name,
        member=member,
        license=license,
        private=private,
        onnx=onnx,
    )
    for note in pushed.exported.notes:
        say(note)
    say((pushed.url, "bold"))
    say(f"Revision {pushed.revision}, SHA-256 of model.safetensors {pushed.sha256}.")
    say(f'unknot.load("{hub.PREFIX}{name}@{pushed.revision}")')
