"""``unknot score``: score plain arrays."""

from pathlib import Path
from typing import Annotated

import typer


def score(
    file: Annotated[
        Path,
        typer.Argument(
            help="An npz file with codes [n, z], factors [n, f], perhaps logvars [n, z], "
            "codes_test and factors_test."
        ),
    ],
    metrics: Annotated[
        str | None, typer.Option(help="Names with commas between, such as mig,dci [all].")
    ] = None,
    protocol: Annotated[
        str, typer.Option(help="unknot, study2019, study2019_fast, carbonneau or paper.")
    ] = "unknot",
    seed: Annotated[int, typer.Option(help="Of everything the scores draw.", min=0)] = 0,
    member: Annotated[
        int | None, typer.Option(help="Which model of codes [models, n, z].", min=0)
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Score codes from anywhere: no model and no training needed.

    With the posteriors' log-variances as `logvars`, their means being the codes, the scores of
    posteriors come too. Scores that learn take `codes_test` and `factors_test` as their test rows,
    and split the rows without.

    Example: `unknot score codes.npz --metrics mig,sap,dci --protocol study2019`
    """
    import sys
    from json import dumps

    from rich.markup import escape

    from unknot import metrics as scores
    from unknot.cli.screen import say
    from unknot.study import arrays

    given = arrays.read(file, member)
    names = [name.strip() for name in metrics.split(",")] if metrics else None
    result = scores.evaluate(
        given.codes,
        given.factors,
        logvar=given.logvars,
        protocol=protocol,
        metrics=names,
        seed=seed,
        test=given.test,
    )
    if json:
        facts = {
            name: {
                "values": dict(result[name].values),
                "ceiling": result[name].ceiling,
                "protocol": dict(result[name].protocol),
                "remarks": list(result[name].remarks),
            }
            for name in result
        }
        sys.stdout.write(
            dumps({"scores": facts, "skipped": dict(result.skipped)}, indent=1, default=str) + "\n"
        )
        return
    say(escape(repr(result)))
