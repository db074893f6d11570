"""``unknot encode``: codes and factors of a run's dataset, as one npz file."""

from pathlib import Path
from typing import Annotated

import typer

from unknot.cli.options import DataPlace, Device, RunArgument, output_file, parse_path


def encode(
    run: RunArgument,
    images: Annotated[
        Path | None,
        typer.Argument(
            help="Other images to encode: a folder of pictures, or an npy, npz or HDF5 file.",
            show_default="the run's data",
            parser=parse_path,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Output file.", show_default="RUN/codes.npz", parser=parse_path),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(
            help="Encode so many images, drawn at random with replacement, not all.", min=1
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed for --rows.", min=0)] = 0,
    device: Device = "auto",
    data: DataPlace = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Encode the dataset of a run, or other images, and write the codes to an npz file.

    Arrays in the file: `codes` [n, z], the posterior means ([models, n, z] for several models);
    `logvars`, the posterior log-variances, same shape; `index` [n], the dataset rows; and, if the
    data has factors, `factors` [n, f] (-1 where a label is missing), their `names` [f], `kinds` [f]
    and `levels` (JSON), which `unknot score` reads. Read it with `numpy.load`.

    Other images are resized to those of the run, which need not have its data for that. For a run
    of a table, give a table with its columns.

    Examples:
    `unknot encode runs/beta_vae-dsprites-1 --rows 10000 --out codes.npz`

    `unknot encode runs/beta_vae-faces-1 photos/ --out codes.npz`
    """
    from unknot.cli.data.files import size_text
    from unknot.cli.screen import bar, say
    from unknot.runs import arrays
    from unknot.runs.verbs import load

    path = output_file(out or run / "codes.npz", ".npz", force=force)
    trained = load(run, device=device, data=data)
    dataset = arrays.other_images(trained, images) if images else trained.dataset
    index = arrays.rows_to_encode(dataset, rows, seed)
    with bar("encode", len(index), dataset.noun) as update:
        shape = arrays.write(
            trained,
            index,
            path,
            dataset=dataset,
            new=not force,
            on_rows=lambda done: update(done, " "),
        )
    say(f"{path}: codes {shape}, {size_text(path.stat().st_size)}")
