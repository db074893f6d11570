"""``unknot encode``: codes and factors of a run's dataset, as one npz file."""

from pathlib import Path
from typing import Annotated, Any

import typer


def encode(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    out: Annotated[
        Path | None, typer.Option(help="Output file.", show_default="RUN/codes.npz")
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(help="Encode this many randomly chosen images instead of all.", min=1),
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed for --rows.", min=0)] = 0,
    device: Annotated[str, typer.Option(help="Device: auto, cpu, cuda or cuda:1.")] = "auto",
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Encode the dataset of a run and write the codes and factors to an npz file.

    Arrays in the file: `codes` [n, z], the posterior means ([models, n, z] for several models);
    `logvars`, the posterior log-variances, same shape; `index` [n], the dataset rows; and, if the
    data has factors, `factors` [n, f] and their `names` [f]. Read it with `numpy.load`.

    Example: `unknot encode runs/beta_vae-dsprites-1 --rows 10000 --out codes.npz`
    """
    import io

    import numpy as np
    import torch

    from unknot.cli.screen import bar, say
    from unknot.core import noise
    from unknot.core.errors import ConfigError, StoreError
    from unknot.core.files import write_whole
    from unknot.study.run import MOST_ROWS, load

    path = out or run / "codes.npz"
    if path.exists() and not force:
        raise StoreError(f"{path} already exists; choose another file with --out, or add --force.")
    trained = load(run, device=device)
    size = len(trained.dataset)
    if rows is None and size > MOST_ROWS:
        raise ConfigError(
            f"The dataset has {size:,} images; choose how many to encode with --rows."
        )
    if rows is not None and rows > MOST_ROWS:
        raise ConfigError(f"--rows can be at most {MOST_ROWS:,} (memory); got {rows:,}.")
    index = (
        torch.arange(size) if rows is None else noise.integers(seed, "encode", 0, rows, high=size)
    )
    with bar("encode", len(index), "images") as update:
        q = trained.posteriors(index, on_rows=lambda done: update(done, " "))
    text = io.BytesIO()
    space = trained.dataset.space
    arrays: dict[str, Any] = {
        "codes": q.mean.numpy(),
        "logvars": q.logvar.numpy(),
        "index": index.numpy(),
    }
    if not space.stands_in:
        arrays["factors"] = space.factors(index).numpy().astype(np.int32)
        arrays["names"] = np.array(space.names)
    np.savez(text, **arrays)
    write_whole(path, text.getvalue())
    say(f"{path}: codes {tuple(q.mean.shape)}, {len(text.getvalue()) / 1e6:.1f} MB")
