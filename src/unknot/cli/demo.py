"""``unknot demo``: the whole way in a few minutes, with nothing to download."""

from pathlib import Path
from typing import Annotated

import typer

SCORES = ("mig", "sap", "cbd", "modularity")


def demo(
    steps: Annotated[int, typer.Option(help="Training steps.", min=1)] = 3_500,
    out: Annotated[Path | None, typer.Option(help="Run folder [runs/demo-N].")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:1.")] = "auto",
) -> None:
    """Train a beta-VAE on dSprites, score it, draw it: at most four minutes on two cores.

    The images are drawn from formulas; nothing is downloaded.

    Example: `unknot demo`
    """
    import shutil
    import sys

    from unknot.cli.screen import beside, say, table
    from unknot.cli.show import draw
    from unknot.cli.train import finish, free_folder, start
    from unknot.study import config, evaluate

    folder = out or free_folder("demo")
    spec = config.spec(
        {
            "data": "dsprites",
            "objective": {"name": "beta_vae", "beta": 4},
            "optim": {"lr": 1e-3},
            "steps": steps,
            "batch": 32,
            "log_every": 50,
        }
    )
    run = start(spec, folder, device)
    if run.status != "done":
        finish(run, False)
    with beside.status("scoring"):
        (records,) = evaluate.evaluate(run, metrics=SCORES)
        evaluate.append(folder, records)
    rows = [{"score": r.metric, "value": f"{r.values[r.metric]:.3f}"} for r in records]
    table(["score", "value"], rows, False)
    with beside.status("drawing"):
        paths = draw(run, folder)
    for path in paths:
        say(f"  {path}")
    # Where the command is not on the path, say the one that was typed.
    command = "unknot" if shutil.which("unknot") else sys.argv[0]
    say(
        f"Open [bold]{folder / 'index.html'}[/]. Then try: "
        f"{command} train --seeds 0..2 --set objective.beta=16 --lr 1e-3 --steps 3000"
    )
