"""``unknot score``: score plain arrays."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unknot.cli.options import Json, Metrics, MetricSeed, parse_path, split_names

if TYPE_CHECKING:
    from unknot.metrics import Table


def score(
    file: Annotated[
        Path,
        typer.Argument(
            help="npz file with codes [n, z] and, if you have them, factors [n, f]; optional: "
            "logvars [n, z], codes_test, factors_test. Or tokens [n, t, d] in place of codes.",
            parser=parse_path,
        ),
    ],
    metrics: Metrics = None,
    protocol: Annotated[
        str,
        typer.Option(
            help="Metric protocols (named settings), separated by commas: unknot (our choice), "
            "study2019 (Locatello et al. 2019), study2019_fast (with DCI in float32), carbonneau "
            "(Carbonneau et al. 2022), kumar (Kumar et al. 2018), paper (the paper that "
            "introduced the metric)."
        ),
    ] = "unknot",
    interval: Annotated[
        float | None,
        typer.Option(help="Level of an interval over rows, e.g. 0.95. Slow for some metrics."),
    ] = None,
    cite: Annotated[
        bool, typer.Option("--cite", help="Print a line to cite for each score, not for the first.")
    ] = False,
    seed: MetricSeed = 0,
    model: Annotated[
        int | None,
        typer.Option(help="Index of the model, if codes are [models, n, z].", min=0),
    ] = None,
    components: Annotated[
        str | None,
        typer.Option(
            help="Principal components of each vector token, if the file has tokens [n, t, d]: a "
            "number, vct2022 (1, default, as for VCT and DisDiff) or fdae2024 (3)."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Compute metrics for codes in an npz file; the model may come from any library.

    If the file has `logvars` (posterior log-variances; `codes` are then the posterior means),
    metrics that need posteriors are computed too. Metrics that fit a predictor test it on
    `codes_test` and `factors_test`, or on held-out rows if these are missing. Without `factors`,
    the metrics that need none are computed.

    Example: `unknot score codes.npz --metrics mig,sap,dci --protocol study2019,unknot`
    """
    from unknot.cli.screen import print_json, print_text, say
    from unknot.metrics import Comparison, evaluate
    from unknot.runs import arrays

    data = arrays.read(file, model, components)
    tables = {
        name: evaluate(
            data.codes,
            data.factors,
            logvar=data.logvars,
            protocol=name,
            metrics=split_names(metrics),
            seed=seed,
            test=data.test,
            interval=interval,
        )
        for name in split_names(protocol) or [protocol]
    }
    if json:
        by_protocol = {name: _plain(table) for name, table in tables.items()}
        print_json(by_protocol if len(tables) > 1 else by_protocol[protocol])
        return
    for name, table in tables.items():
        if len(tables) == 1:
            say(f"Protocol {name}.")
            print_text(repr(table))
    if len(tables) > 1:
        print_text(repr(Comparison(tables)))
    citations = [[score.cite() for score in table.scores.values()] for table in tables.values()]
    for lines in citations if cite else [lines[:1] for lines in citations]:
        for line in lines:
            say(line if cite else f"To cite: {line}")


def _plain(table: "Table") -> dict[str, Any]:
    scores = {
        name: {
            "values": dict(score.values),
            "interval": score.interval,
            "ceiling": score.ceiling,
            "protocol": dict(score.protocol),
            "remarks": list(score.remarks),
        }
        for name, score in table.scores.items()
    }
    return {"scores": scores, "skipped": dict(table.skipped)}
