"""Options and arguments that several ``unknot study`` commands share."""

from pathlib import Path
from typing import Annotated

import typer

Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="Set a value of the study file, e.g. train.steps=100. Repeatable."),
]
Grid = Annotated[
    list[str] | None,
    typer.Option(
        "--grid",
        help="Run each of these values, e.g. objective.beta=1,2,4. Repeatable; axes multiply.",
    ),
]
Seeds = Annotated[
    str | None,
    typer.Option(
        help="Seeds of each configuration: 7 (only seed 7), 0,3,5 (a list) or 0..9 (a range)."
    ),
]
Metrics = Annotated[str | None, typer.Option(help="Metrics, separated by commas, or all.")]
Protocol = Annotated[
    str | None,
    typer.Option(help="Metric protocol (named settings), e.g. study2019 (Locatello et al. 2019)."),
]
Device = Annotated[str, typer.Option(help="Device: auto, cpu, cuda or cuda:1.")]
Workers = Annotated[
    int | None,
    typer.Option(help="Worker processes.", show_default="one per core; one on a GPU", min=1),
]
Backend = Annotated[str, typer.Option(help="Where to run: local, ray or slurm.")]
BackendOption = Annotated[
    list[str] | None,
    typer.Option(
        "--backend-option",
        help="Option of the backend. For ray: address=HOST:PORT. For slurm: any sbatch option, "
        "e.g. partition=gpu or time=4:00:00. Repeatable.",
    ),
]
Quick = Annotated[
    bool,
    typer.Option("--quick", help="Use the short version, defined under [quick] in the study file."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Folder = Annotated[Path, typer.Argument(help="Study folder.")]
