"""``unknot learn-loss``: a reconstruction loss that sees the order of the factors."""

from pathlib import Path
from typing import Annotated

import typer


def learn_loss(
    data: Annotated[str, typer.Option(help="Dataset by name.")] = "xysquares",
    out: Annotated[Path, typer.Option(help="Kernel file to write.")] = Path("kernel.safetensors"),
    radius: Annotated[int | None, typer.Option(help="Of the kernel [31].")] = None,
    steps: Annotated[int | None, typer.Option(help="Steps of learning [1000].")] = None,
    batch: Annotated[int | None, typer.Option(help="Images per step [128].")] = None,
    pairs: Annotated[int | None, typer.Option(help="Pairs of them to rank [4096].")] = None,
    lr: Annotated[float | None, typer.Option(help="Learning rate of Adam [0.001].")] = None,
    mode: Annotated[
        str | None, typer.Option(help="improve, adversarial or none [improve].")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of everything drawn [0].", min=0)] = None,
    resave: Annotated[
        Path | None, typer.Option(help="Also write the blurred dataset as this npz file.")
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:1.")] = "auto",
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Any other setting, such as data.spacing=4 or loss.l2=0; may be repeated.",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Learn a blur by which images are as far apart as their factors, and save it.

    Its picture goes beside the kernel's file. Nothing is written before the end; Ctrl-C leaves no
    file behind.

    Example: `unknot learn-loss --data xysquares --radius 31 --steps 300 --out kernel.safetensors`

    Then: `unknot train --data xysquares --set
    'objective.likelihood={kind="overlap", kernel="learnt", path="kernel.safetensors"}'`
    """
    from dataclasses import asdict

    from unknot.cli.screen import bar, say, table
    from unknot.core.errors import ConfigError, StoreError
    from unknot.core.registry import nearest
    from unknot.engine.checkpoint import write_whole
    from unknot.report.kernels import kernel_figure
    from unknot.report.style import png
    from unknot.study import config
    from unknot.study import learn_loss as learning
    from unknot.study.resave import resave as resaved

    given = {
        "loss.radius": radius,
        "loss.steps": steps,
        "loss.batch": batch,
        "loss.pairs": pairs,
        "loss.lr": lr,
        "loss.mode": mode,
        "loss.seed": seed,
    }
    words = [f"{key}={value}" for key, value in given.items() if value is not None]
    picture = out.with_name(f"{out.name.removesuffix('.safetensors')}.png")
    for path in (out, picture, resave):
        if path is not None and path.exists():  # runs may depend on it
            raise StoreError(f"{path} is there already; choose another name.")
    asked = config.assign({"data": data, "loss": {}}, [*words, *(set_ or [])])
    if unknown := [key for key in asked if key not in ("data", "loss")]:
        raise ConfigError(f"Unknown key '{unknown[0]}'{nearest(unknown[0], ['data', 'loss'])}")
    if not isinstance(asked["loss"], dict):
        raise ConfigError(f"loss must be a table, such as loss.l2=0; got {asked['loss']!r}.")
    chosen = config.spec({"data": asked["data"]}).data
    settings = config.build(learning.LossSettings, asked["loss"], "loss")
    with bar("learn", settings.steps, "steps") as update:
        found = learning.learn_loss(
            chosen.settings,
            settings,
            device=device,
            watch=lambda step, rank: update(step, f"rank correlation {rank:.3f}"),
        )
    found.save(out)
    title = f"Kernel learnt on {chosen.name}, rank correlation {found.after.factor_rank:.2f}"
    write_whole(picture, png(kernel_figure(found.kernel, title=title)))
    rows = [
        {"distances": what, **{key: round(value, 4) for key, value in asdict(each).items()}}
        for what, each in (("of pixels", found.before), ("learnt", found.after))
    ]
    table([*rows[0]], rows, json)
    if resave is not None:
        dataset = chosen.settings.load()
        with bar("resave", 2 * len(dataset), "images") as update:
            resaved(dataset, found.kernel, resave, on_images=lambda n: update(n, "blurred"))
    if not json:
        if resave is not None:
            say(f"Dataset: {resave}; train with --data arrays --set data.path={resave}")
        say(f"Kernel: {out}; its picture: {picture}")
