"""``unknot evaluate``: score a run."""

from pathlib import Path
from typing import Annotated

import typer


def evaluate(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    metrics: Annotated[
        str | None, typer.Option(help="Names with commas between, such as mig,dci [all].")
    ] = None,
    protocol: Annotated[
        str, typer.Option(help="unknot, study2019, carbonneau or paper.")
    ] = "unknot",
    seed: Annotated[int, typer.Option(help="Of everything the scores draw.", min=0)] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:1.")] = "auto",
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Score the models of a run; the records are added to its scores.jsonl, none of them twice.

    Example: `unknot evaluate runs/demo-1 --metrics mig,sap --protocol study2019`
    """
    from dataclasses import asdict

    from rich.markup import escape

    from unknot.cli.screen import bar, say, table
    from unknot.study import evaluate as scoring
    from unknot.study.run import load

    trained = load(run, device=device)
    names = [name.strip() for name in metrics.split(",")] if metrics else None
    known = scoring.read(run)
    records, new = [], 0
    skipped: dict[str, str] = {}
    members = len(trained.spec.seed_list) - len(trained.diverged)
    with bar("score", members * len(names or scoring.everything()), "scores") as update:
        for own in scoring.evaluate(
            trained,
            protocol=protocol,
            metrics=names,
            seed=seed,
            known=known,
            on_score=lambda done: update(done, " "),
            on_skip=skipped.__setitem__,
        ):
            new += scoring.append(run, own)
            records += own
    if json:
        table([], [asdict(record) for record in records], True)
        return
    rows = [
        {"seed": r.seed, "score": key, "value": f"{value:.4f}"}
        for r in records
        for key, value in r.values.items()
    ]
    table(["seed", "score", "value"], rows, False)
    for remark in dict.fromkeys(f"{r.metric}: {text}" for r in records for text in r.remarks):
        say(escape(remark))
    for name, reason in skipped.items():
        say(escape(f"{name} skipped: {reason}"))
    say(f"{new} new of {len(records)} records in {run / 'scores.jsonl'} ({protocol})")
