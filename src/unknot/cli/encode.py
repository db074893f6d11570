"""``unknot encode``: codes and factors of a run's dataset, as one npz file."""

from pathlib import Path
from typing import Annotated, Any

import typer


def encode(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    out: Annotated[Path | None, typer.Option(help="File to write [RUN/codes.npz].")] = None,
    rows: Annotated[
        int | None, typer.Option(help="Encode this many random rows instead of all.", min=1)
    ] = None,
    seed: Annotated[int, typer.Option(help="Which random rows.", min=0)] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:1.")] = "auto",
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> None:
    """Write the codes (posterior means) and factors of dataset rows to an npz file.

    The file holds `codes` [n, z] (or [models, n, z]), `logvars` of the same shape, `factors`
    [n, f] and their `names` [f], where the data has factors, and `index` [n]; NumPy reads it with
    `np.load`.

    Example: `unknot encode runs/beta_vae-dsprites-1 --rows 10000 --out codes.npz`
    """
    import io

    import numpy as np
    import torch

    from unknot.cli.screen import bar, say
    from unknot.core import noise
    from unknot.core.errors import ConfigError, StoreError
    from unknot.engine.checkpoint import write_whole
    from unknot.study.run import MOST_ROWS, load

    path = out or run / "codes.npz"
    if path.exists() and not force:
        raise StoreError(f"{path} exists already; choose another with --out, or add --force.")
    trained = load(run, device=device)
    size = len(trained.dataset)
    if rows is None and size > MOST_ROWS:
        raise ConfigError(f"The grid has {size:,} points; say how many to encode with --rows.")
    if rows is not None and rows > MOST_ROWS:
        raise ConfigError(f"--rows is {MOST_ROWS:,} at most, to fit into memory; got {rows:,}.")
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
