"""``unknot score``: score plain arrays."""

from pathlib import Path
from typing import Annotated

import typer

from unknot.cli.options import Json, Metrics, MetricSeed, Protocol, split_names


def score(
    file: Annotated[
        Path,
        typer.Argument(
            help="npz file with codes [n, z] and factors [n, f]; optional: logvars [n, z], "
            "codes_test, factors_test."
        ),
    ],
    metrics: Metrics = None,
    protocol: Protocol = "unknot",
    seed: MetricSeed = 0,
    model: Annotated[
        int | None,
        typer.Option(help="Index of the model, if codes are [models, n, z].", min=0),
    ] = None,
    json: Json = False,
) -> None:
    """Compute metrics for codes in an npz file; the model may come from any library.

    If the file has `logvars` (posterior log-variances; `codes` are then the posterior means),
    metrics that need posteriors are computed too. Metrics that fit a predictor test it on
    `codes_test` and `factors_test`, or on held-out rows if these are missing.

    Example: `unknot score codes.npz --metrics mig,sap,dci --protocol study2019`
    """
    from rich.markup import escape

    from unknot.cli.screen import print_json, say
    from unknot.metrics import evaluate
    from unknot.runs import arrays

    data = arrays.read(file, model)
    result = evaluate(
        data.codes,
        data.factors,
        logvar=data.logvars,
        protocol=protocol,
        metrics=split_names(metrics),
        seed=seed,
        test=data.test,
    )
    if not json:
        say(escape(repr(result)))
        return
    scores = {
        name: {
            "values": dict(result[name].values),
            "ceiling": result[name].ceiling,
            "protocol": dict(result[name].protocol),
            "remarks": list(result[name].remarks),
        }
        for name in result
    }
    print_json({"scores": scores, "skipped": dict(result.skipped)})
