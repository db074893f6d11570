"""Tables of our values next to those that a document prints."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from unknot.analysis.configurations import is_number
from unknot.analysis.documents import PrintedMatch
from unknot.analysis.replication import MARGIN
from unknot.core.text import counted, decimals, joined
from unknot.report.study.blocks import (
    Cell,
    FigureFolder,
    Grid,
    Printed,
    count_cell,
    interval_cell,
    number_cell,
    text_cell,
)
from unknot.report.study.tables import grid, without_empty_columns

MOST_NAMED = 3
"""Lengths of training that a sentence names; of more it has the shortest and the longest."""
VERDICTS = {
    "equal": f"equal within ±{MARGIN:g} standard deviations of a run",
    "differs": "different by more than chance explains, at 5 %",
    "no difference seen": "without a difference that chance would not explain",
    "undecided": "undecided, since so few runs show neither",
    "no spread": "without any spread, so that nothing can be said",
}


def describe_printed(printed: Printed) -> str:
    """What the document is, and how many of its values have which verdict.

    Its training and ours are said side by side: values of short runs are no replication.
    """
    document, values = printed.document, printed.values
    text = f"{document.title} ({document.source}). "
    if not values:
        return text + (
            "Nothing here has a counterpart in it: data, objective, settings and protocol must "
            f"agree. {' '.join(document.notes)}"
        )
    counts = Counter(value.verdict for value in values)
    parts = [f"{counts[name]} {why}" for name, why in VERDICTS.items() if counts[name]]
    text += f"{counted(len(values), 'value')} of ours next to printed ones: {'; '.join(parts)}. "
    tested = len(values) - counts["no spread"]
    if tested > 1:
        text += f"Of {tested} equal pairs about {max(1, round(0.05 * tested))} would differ so. "
    testable = [v for v in values if v.verdict != "no spread" and not v.printed.can_equal]
    if most := max((v.printed.n for v in testable), default=0):
        text += (
            f"A printed mean of {counted(most, 'run')} is itself uncertain by more than "
            f"±{MARGIN:g} standard deviations, so that no number of ours could show that it is "
            "equal; a difference as large as in the last column would show. "
        )
    text += f"Training there: {document.training}. {_our_training(values)}"
    return text + " ".join(document.notes)


def _our_training(values: Sequence[PrintedMatch]) -> str:
    """How long our models were trained; empty where nobody says."""
    lengths = {(v.ours.settings.get("steps"), v.ours.settings.get("batch")) for v in values}
    known = sorted((steps, batch or 0) for steps, batch in lengths if is_number(steps))
    texts = [f"{steps:,} steps" + (f" of {batch:,} images" if batch else "")
             for steps, batch in known]  # fmt: skip
    if len(texts) > MOST_NAMED:
        texts = [f"{known[0][0]:,} to {known[-1][0]:,} steps"]
    return f"Here: {joined(texts)}. " if texts else ""


def printed_tables(printed: Printed, folder: FigureFolder, prefix: str) -> list[Grid]:
    """A row for each printed value that we have a counterpart of, and for each correlation."""
    grids = []
    if values := printed.values:
        file = folder.table(f"{prefix}published", [value.row() for value in values])
        grids.append(_values(values, file))
    if printed.correlations:
        grids.append(_correlations(printed))
    return grids


def _values(values: Sequence[PrintedMatch], file: str) -> Grid:
    columns: dict[str, Callable[[PrintedMatch], Cell]] = {
        "table": lambda v: text_cell(v.printed.table),
        "score": lambda v: text_cell(v.ours.score),
        "ours": lambda v: number_cell(v.ours.mean, small=_spread(v.ours.sd, v.ours.n)),
        "published": lambda v: number_cell(
            v.printed.mean, small=_spread(v.printed.sd, v.printed.n)
        ),
        "difference": lambda v: number_cell(v.difference),
        "90 % interval": lambda v: interval_cell(*v.interval),
        "verdict": lambda v: replace(text_cell(v.verdict), alarm=v.verdict == "differs"),
        "would show": lambda v: number_cell(v.visible),
    }
    note = "Below means: standard deviation over runs, and their number."
    if any(value.verdict != "no spread" for value in values):
        note += (
            " The interval takes one spread for both sides (Student's). Would show: the smallest "
            "difference that such a comparison finds in four of five cases."
        )
    table = grid(values, columns, configuration=lambda v: v.ours, note=note, file=file)
    return without_empty_columns(table)


def _spread(sd: float, n: int) -> str:
    return f"± {decimals(sd)}, n {n}" if sd == sd else f"n {n}"


def _correlations(printed: Printed) -> Grid:
    rows = [
        [
            text_cell(f"{one.first} and {one.second}"),
            text_cell(one.where),
            number_cell(ours, digits=2),
            count_cell(n),
            number_cell(one.spearman, digits=2),
            count_cell(one.n),
        ]
        for one, ours, n in printed.correlations
    ]
    head = ["scores", "where", "ours", "runs", "published", "runs "]
    note = (
        "Spearman's correlations over all runs. They depend on the configurations that there are, "
        "so compare them only if these are the document's."
    )
    return Grid(head, rows, title="Correlations of scores", note=note)
