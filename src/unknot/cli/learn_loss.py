"""``unknot learn-loss``: a reconstruction loss whose distances follow the factors."""

from pathlib import Path
from typing import Annotated

import typer

from unknot.cli.options import Device, Json, override


def learn_loss(
    data: Annotated[str, typer.Option(help="Dataset.")] = "xysquares",
    out: Annotated[Path, typer.Option(help="Output file for the kernel.")] = Path(
        "kernel.safetensors"
    ),
    radius: Annotated[
        int | None, typer.Option(help="Kernel radius in pixels.", show_default="31")
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Training steps.", show_default="1000")] = None,
    batch: Annotated[int | None, typer.Option(help="Images per step.", show_default="128")] = None,
    pairs: Annotated[
        int | None, typer.Option(help="Image pairs ranked per step.", show_default="4096")
    ] = None,
    lr: Annotated[
        float | None, typer.Option(help="Adam learning rate.", show_default="0.001")
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option(
            help="Increase the correlation (improve), decrease it (adversarial), or train the "
            "regularisers only (none).",
            show_default="improve",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Random seed.", show_default="0", min=0)] = None,
    resave: Annotated[
        Path | None, typer.Option(help="Also write the blurred dataset to this npz file.")
    ] = None,
    device: Device = "auto",
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Any other setting, e.g. data.spacing=4 or loss.l2=0. Repeatable.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Learn a blur kernel under which image distances follow factor distances.

    The kernel is for overlap losses (docs/losses.md; Michlo 2022, a dissertation). The kernel and a
    picture of it are written after the last step. If interrupted, run the same command again: it
    resumes from the last checkpoint, one every 100 steps, to the bit as without a pause.

    Example: `unknot learn-loss --data xysquares --radius 31 --steps 300 --out kernel.safetensors`

    Then: `unknot train --data xysquares --set
    'objective.likelihood={kind="overlap", kernel="learnt", path="kernel.safetensors"}'`
    """
    from dataclasses import asdict

    from unknot.cli.screen import bar, print_json, print_table, say
    from unknot.core.errors import ConfigError, StoreError
    from unknot.core.files import remove, write_whole
    from unknot.core.registry import nearest
    from unknot.learnt_loss import learn as learning
    from unknot.learnt_loss.resave import resave as resaved
    from unknot.report.data.kernels import kernel_figure
    from unknot.report.style import png
    from unknot.runs import config
    from unknot.runs.fields import build

    flags = {
        "loss.radius": radius,
        "loss.steps": steps,
        "loss.batch": batch,
        "loss.pairs": pairs,
        "loss.lr": lr,
        "loss.mode": mode,
        "loss.seed": seed,
    }
    picture = out.with_name(f"{out.name.removesuffix('.safetensors')}.png")
    checkpoints = picture.with_suffix(".checkpoints")
    # With checkpoints, a picture without its kernel was left by a process that was killed.
    for path in (out, resave, None if checkpoints.is_dir() else picture):
        if path is not None and path.exists():  # runs may depend on it
            raise StoreError(f"{path} already exists; choose another name.")
    table = override({"data": data, "loss": {}}, flags, set_)
    if unknown := [key for key in table if key not in ("data", "loss")]:
        raise ConfigError(f"Unknown key '{unknown[0]}'{nearest(unknown[0], ['data', 'loss'])}")
    if not isinstance(table["loss"], dict):
        raise ConfigError(f"loss must be a table, such as loss.l2=0; got {table['loss']!r}.")
    dataset = config.spec({"data": table["data"]}).data
    settings = build(learning.LossSettings, table["loss"], "loss")
    with bar("learn", settings.steps, "steps") as update:
        loss = learning.learn_loss(
            dataset.settings,
            settings,
            device=device,
            watch=lambda step, rank: update(step, f"rank correlation {rank:.3f}"),
            checkpoints=checkpoints,
        )
    title = f"Kernel learnt on {dataset.name}, rank correlation {loss.after.factor_rank:.2f}"
    write_whole(picture, png(kernel_figure(loss.kernel, title=title)))
    loss.save(out)
    remove(checkpoints)
    rows = [
        {"distances": what, **{key: round(value, 4) for key, value in asdict(agreement).items()}}
        for what, agreement in (("of pixels", loss.before), ("learnt", loss.after))
    ]
    (print_json if json else print_table)(rows)
    if resave is not None:
        images = dataset.settings.load()
        with bar("resave", 2 * len(images), "images") as update:
            resaved(images, loss.kernel, resave, on_images=lambda n: update(n, "blurred"))
    if not json:
        if resave is not None:
            say(f"Dataset: {resave}; train with --data arrays --set data.path={resave}")
        say(f"Kernel: {out}; its picture: {picture}")
