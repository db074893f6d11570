"""``unknot learn-loss``: a reconstruction loss whose distances follow the factors."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unknot.cli.options import Device, Json, output_folder, override, parse_path

if TYPE_CHECKING:
    from unknot.learnt_loss.grid import KernelPlan


def learn_loss(
    data: Annotated[str, typer.Option(help="Dataset.")] = "xysquares",
    out: Annotated[
        Path | None,
        typer.Option(
            help="Output file for the kernel; with a grid, the folder for all kernels.",
            show_default="kernel.safetensors, or kernels",
            parser=parse_path,
        ),
    ] = None,
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
        Path | None,
        typer.Option(help="Also write the blurred dataset to this npz file.", parser=parse_path),
    ] = None,
    device: Device = "auto",
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Any other setting, e.g. data.spacing=4 or loss.l2=0. Repeatable.",
        ),
    ] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option(
            "--grid",
            help="Learn a kernel for each of these values, e.g. radius=31,63 or data.square=8,4. "
            "Repeatable; all combinations are learnt.",
        ),
    ] = None,
    preset: Annotated[
        str | None, typer.Option(help="A published grid: michlo2022_e8 (32 kernels).")
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Print which kernels would be learnt, and stop.")
    ] = False,
    json: Json = False,
) -> None:
    """Learn a blur kernel under which image distances follow factor distances.

    The kernel is for overlap losses (docs/losses.md; Michlo 2022, a dissertation). The kernel and a
    picture of it are written after the last step. If interrupted, run the same command again: it
    resumes from the last checkpoint, one every 100 steps, to the bit as without a pause.

    With `--grid` or `--preset`, a folder gets a kernel for each combination, a table (kernels.csv)
    and a figure (kernels.png). The same command resumes.

    Examples:
    `unknot learn-loss --data xysquares --radius 31 --steps 300 --out kernel.safetensors`

    `unknot learn-loss --grid radius=31,63 --grid data.square=8,4,2,1 --steps 300 --out kernels`

    Then: `unknot train --data xysquares --set
    'objective.likelihood={kind="overlap", kernel="learnt", path="kernel.safetensors"}'`
    """
    from unknot.core.errors import ConfigError
    from unknot.learnt_loss.grid import plan_kernels, use_preset

    flags = {
        "loss.radius": radius,
        "loss.steps": steps,
        "loss.batch": batch,
        "loss.pairs": pairs,
        "loss.lr": lr,
        "loss.mode": mode,
        "loss.seed": seed,
    }
    table, axes = override({"data": data, "loss": {}}, flags, set_), grid or []
    if preset is not None:
        table, axes = use_preset(preset, table, axes)
    kernels = plan_kernels(table, axes)
    if not axes and not plan:
        _learn_one(kernels[0], out or Path("kernel.safetensors"), resave, device, json)
        return
    if resave is not None:
        raise ConfigError("--resave is for one kernel; leave it out with a grid.")
    _learn_grid(kernels, out or Path("kernels"), device, plan, json)


def _learn_grid(
    kernels: "Sequence[KernelPlan]", folder: Path, device: str, stop: bool, json: bool
) -> None:
    """Print the plan, learn what is still to do, and draw all kernels."""
    from math import prod

    from unknot.cli.screen import bar, print_json, print_table, say
    from unknot.core.files import inside, write_whole
    from unknot.learnt_loss import grid
    from unknot.report.data.kernels import WIDEST, kernels_figure
    from unknot.report.style import png

    output_folder(folder)
    states = {kernel.id: kernel.state(folder) for kernel in kernels}
    rows = [{"id": kernel.id, **kernel.row, "state": states[kernel.id]} for kernel in kernels]
    if stop:
        grid.check_plan(kernels)
    if stop or not json:
        (print_json if json else print_table)(rows)
    todo = [kernel for kernel in kernels if states[kernel.id] != "done"]
    total = sum(kernel.settings.steps for kernel in todo)
    if not json:
        say(f"{len(kernels):,} kernels, {len(todo):,} of them to learn: {total:,} steps.")
    if stop:
        return
    places = {kernel.id: n for n, kernel in enumerate(todo)}
    with bar("learn", total, "steps") as update:

        def watch(kernel: "KernelPlan", step: int, rank: float) -> None:
            place = places[kernel.id]
            before = sum(each.settings.steps for each in todo[:place])
            note = f"kernel {place + 1} of {len(todo)}, rank correlation {rank:.3f}"
            update(before + step, note)

        learnt = grid.learn_kernels(kernels, folder, device=device, watch=watch)
    sizes = [len({str(kernel.point[path]) for kernel in kernels}) for path in kernels[0].point]
    fit = [n for k in range(len(sizes)) if (n := prod(sizes[k:])) <= WIDEST]
    figure = kernels_figure(
        [loss.kernel for loss in learnt],
        [[f"{axis} {value}" for axis, value in kernel.row.items()] for kernel in kernels],
        [loss.after.factor_rank for loss in learnt],
        title=f"{len(learnt)} learnt kernels",
        columns=max(fit, default=WIDEST),
    )
    picture = inside(folder, "kernels.png")
    write_whole(picture, png(figure))
    results = [
        {
            "id": kernel.id,
            **kernel.row,
            "factor_rank": round(loss.after.factor_rank, 4),
            "random_rank": round(loss.after.random_rank, 4),
        }
        for kernel, loss in zip(kernels, learnt, strict=True)
    ]
    (print_json if json else print_table)(results)
    if not json:
        say(f"Kernels: {folder}; their table: {inside(folder, grid.TABLE)}; figure: {picture}")


def _learn_one(
    kernel: "KernelPlan", out: Path, resave: Path | None, device: str, json: bool
) -> None:
    """Learn one kernel into a file, with its picture beside it."""
    from dataclasses import asdict

    from unknot.cli.screen import bar, print_json, print_table, say
    from unknot.core.errors import StoreError
    from unknot.core.files import remove, write_whole
    from unknot.learnt_loss import learn as learning
    from unknot.learnt_loss.resave import resave as resaved
    from unknot.report.data.kernels import kernel_figure
    from unknot.report.style import png

    dataset, settings = kernel.data, kernel.settings
    picture = out.with_name(f"{out.name.removesuffix('.safetensors')}.png")
    checkpoints = picture.with_suffix(".checkpoints")
    # With checkpoints, a picture without its kernel was left by a process that was killed.
    for path in (out, resave, None if checkpoints.is_dir() else picture):
        if path is not None and path.exists():  # runs may depend on it
            raise StoreError(f"{path} already exists; choose another name.")
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
