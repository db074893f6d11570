"""``unknot score``: score plain arrays."""

from pathlib import Path
from typing import Annotated

import typer


def score(
    file: Annotated[
        Path,
        typer.Argument(
            help="npz file with codes [n, z] and factors [n, f]; optional: logvars [n, z], "
            "codes_test, factors_test."
        ),
    ],
    metrics: Annotated[
        str | None,
        typer.Option(help="Metrics, separated by commas, e.g. mig,dci.", show_default="all"),
    ] = None,
    protocol: Annotated[
        str,
        typer.Option(
            help="Metric protocol (named settings): unknot (our choice), study2019 (Locatello et "
            "al. 2019), study2019_fast (with DCI in float32), carbonneau (Carbonneau et al. 2022) "
            "or paper (the paper that introduced the metric)."
        ),
    ] = "unknot",
    seed: Annotated[int, typer.Option(help="Random seed for the metrics.", min=0)] = 0,
    member: Annotated[
        int | None,
        typer.Option(help="Index of the model, if codes are [models, n, z].", min=0),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compute metrics for codes in an npz file; the model may come from any library.

    If the file has `logvars` (posterior log-variances; `codes` are then the posterior means),
    metrics that need posteriors are computed too. Metrics that fit a predictor test it on
    `codes_test` and `factors_test`, or on held-out rows if these are missing.

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
