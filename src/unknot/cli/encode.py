"""``unknot encode``: codes and factors of a run's dataset, as one npz file."""

from pathlib import Path
from typing import Annotated

import typer

from unknot.cli.options import DataPlace, Device, RunArgument


def encode(
    run: RunArgument,
    out: Annotated[
        Path | None, typer.Option(help="Output file.", show_default="RUN/codes.npz")
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(help="Encode this many randomly chosen images instead of all.", min=1),
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed for --rows.", min=0)] = 0,
    device: Device = "auto",
    data: DataPlace = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Encode the dataset of a run and write the codes and factors to an npz file.

    Arrays in the file: `codes` [n, z], the posterior means ([models, n, z] for several models);
    `logvars`, the posterior log-variances, same shape; `index` [n], the dataset rows; and, if the
    data has factors, `factors` [n, f] and their `names` [f]. Read it with `numpy.load`.

    Example: `unknot encode runs/beta_vae-dsprites-1 --rows 10000 --out codes.npz`
    """
    from unknot.cli.screen import bar, say
    from unknot.core.errors import StoreError
    from unknot.runs import arrays
    from unknot.runs.run import load

    path = out or run / "codes.npz"
    if path.exists() and not force:
        raise StoreError(f"{path} already exists; choose another file with --out, or add --force.")
    trained = load(run, device=device, data=data)
    index = arrays.rows_to_encode(trained, rows, seed)
    with bar("encode", len(index), "images") as update:
        shape = arrays.write(trained, index, path, on_rows=lambda done: update(done, " "))
    say(f"{path}: codes {shape}, {path.stat().st_size / 1e6:.1f} MB")
