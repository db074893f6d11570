"""Options and arguments that several verbs of ``unknot study`` have."""

from pathlib import Path
from typing import Annotated

import typer

Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="A setting, such as train.steps=100; may be repeated."),
]
Grid = Annotated[
    list[str] | None,
    typer.Option("--grid", help="An axis, such as objective.beta=1,2,4; may be repeated."),
]
Seeds = Annotated[str | None, typer.Option(help="7 (seed 7 alone), or 0,3,5, or 0..9.")]
Metrics = Annotated[str | None, typer.Option(help="Scores with commas between, or all.")]
Protocol = Annotated[str | None, typer.Option(help="Of the scores, such as study2019.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:1.")]
Workers = Annotated[
    int | None, typer.Option(help="Processes [one for each core; one on a GPU].", min=1)
]
On = Annotated[str, typer.Option(help="Where: local, ray or slurm.")]
With = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        help="For --on ray: address=HOST:PORT. For --on slurm: an option of sbatch, such as "
        "partition=gpu or time=4:00:00; may be repeated.",
    ),
]
Quick = Annotated[
    bool, typer.Option("--quick", help="Its short version: what the file has under [quick].")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Folder = Annotated[Path, typer.Argument(help="A study's folder.")]
