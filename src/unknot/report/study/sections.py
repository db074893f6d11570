"""Sections of a study's page: one list, with their text, tables and figures."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from unknot.analysis.intervals import FEW, SPARSE
from unknot.report.study import best_tables, figures, tables
from unknot.report.study.blind import blind_tables
from unknot.report.study.blocks import (
    Figure,
    FigureFolder,
    FigureKeeper,
    Grid,
    More,
    PageFigure,
    Part,
    Section,
)
from unknot.report.study.figures.swept_value import axis_name, describe_lines, ordered_lines
from unknot.report.study.figures.trade_off import scores_with_cost
from unknot.report.study.printed import describe_printed, printed_tables
from unknot.report.study.replication import replication_tables
from unknot.report.study.selection_tables import selection_tables

Tables = Callable[[Part, FigureFolder], Sequence[Grid | More]]


@dataclass(frozen=True)
class Kind:
    """A kind of section; it is left out where it has neither tables nor figures."""

    id: str
    title: str | Callable[[Part], str]
    text: str | Callable[[Part], str]
    tables: Tables = lambda *_: ()
    files: tuple[str, ...] = ()
    """Files of the catalogue in the order of their figures; others come after."""
    paired: bool = False
    """Whether two figures in sight stand side by side where there is room."""
    present: Callable[[Part], bool] = lambda _: False
    """Whether it is there even so."""
    in_sight: bool = False
    """Whether it is seen without opening it: what a reader came for."""


def _spread_text(part: Part) -> str:
    if max(c.size for c in part.results.configurations) == 1:
        return "There is one seed per configuration: another seed may give another result."
    return (
        "Runs of one configuration differ in the seed only. Where rows overlap, a good seed of one "
        "configuration can beat a bad seed of a better one."
    )


def _effects_text(part: Part) -> str:
    text = (
        "Two runs are a pair if they agree in all other settings and the seed. An effect is the "
        "mean difference of pairs from the first value of a setting to another. Its interval is "
        f"clustered by configuration and by seed, where there are {FEW} or more of either."
    )
    seeds = {seed for seed in part.results.table.get("seed", []) if seed is not None}
    if len(seeds) < FEW:
        text += f" Here are fewer than {FEW} seeds: intervals say nothing of other seeds."
    return text


def _trade_offs_text(part: Part) -> str:
    if scores_with_cost(part.results):
        return (
            "A high score means little if the model cannot reconstruct its images. Score against "
            "reconstruction: means over seeds, and rings on the Pareto front, where no other "
            "configuration scores better at an equal or better reconstruction. Each likelihood has "
            "figures of its own, as losses of two cannot be compared. Rate and distortion: marks "
            "are means over seeds, dots are runs; grey lines, where the loss is a log-likelihood, "
            "join points of equal ELBO."
        )
    return "Information in the codes (rate) against reconstruction loss (distortion)."


def _best_values_text(part: Part) -> str:
    text = "For each objective and score, the swept value (e.g. of β) with the best mean."
    if max(c.size for c in part.results.configurations) < SPARSE:
        return f"{text} New seeds may give another: these are too few to say."
    return (
        f"{text} Shading: bootstrap probability that this value is best again. Pale means "
        "uncertain."
    )


def _all_configurations(part: Part, folder: FigureFolder) -> list[Grid | More]:
    results, prefix = part.results, part.prefix
    blocks = [tables.overview(results, f"{prefix}summary.csv")]
    if levels := part.levels:
        file = folder.table(f"{prefix}baselines", [row for level in levels for row in level.rows()])
        blocks.append(tables.baseline_table(levels, results.panels, file))
    if part.study:
        blocks += tables.score_remarks(part.study, results)
    details = [tables.details(results, score) for score in results.panels]
    return [*blocks, More("Each score by itself: mean, median, intervals and spread", details)]


def _published(part: Part, folder: FigureFolder) -> list[Grid | More]:
    if part.printed:
        return [*printed_tables(part.printed, folder, part.prefix)]
    if part.comparison is None or not part.comparison.differences:
        return []
    values = tables.published_values(part.comparison, f"{part.prefix}published.csv")
    return [
        *replication_tables(part.comparison, folder, part.prefix),
        More("Each value and the published one", [values]),
    ]


def _without_labels_text(part: Part) -> str:
    from unknot.report.study.without_labels import describe_choices

    return describe_choices(part.results, part.unlabelled)


def _without_labels(part: Part, folder: FigureFolder) -> list[Grid | More]:
    if not part.unlabelled:  # a table needs no torch
        return []
    from unknot.report.study.without_labels import unlabelled_tables

    return [*unlabelled_tables(part.results, part.unlabelled, folder, part.prefix)]


SECTIONS = (
    Kind(
        "without-labels",
        "Without labels: what each criterion would choose",
        _without_labels_text,
        _without_labels,
        in_sight=True,
    ),
    Kind(
        "best",
        "Best mean of each score",
        "Configurations are compared by their mean over seeds. The best one is selected by that "
        "mean, so the mean is biased: expect worse from new seeds.",
        lambda part, _: best_tables.winners(part.results),
        in_sight=True,
    ),
    Kind(
        "configurations",
        "All configurations",
        "Click on a column’s name to sort by it.",
        _all_configurations,
        in_sight=True,
    ),
    Kind(
        "selection",
        "Objectives at their best",
        "Each objective at the configuration that a score selects by its mean over seeds. That "
        "biases means upwards: of the score itself, and of others as far as they agree with it.",
        selection_tables,
    ),
    Kind(
        "effects",
        "What each setting does, pooled over all others",
        _effects_text,
        tables.effect_tables,
    ),
    Kind(
        "spread",
        "How scores spread over seeds",
        _spread_text,
        files=("spread", "split_pooled", "cumulative", "split_settings"),
    ),
    Kind(
        "swept-value",
        lambda part: f"What {axis_name(ordered_lines(part.results))} does",
        lambda part: describe_lines(ordered_lines(part.results)),
    ),
    Kind(
        "trade-offs",
        "Scores against reconstruction",
        _trade_offs_text,
        files=("trade_off", "rate_distortion"),
        paired=True,
    ),
    Kind(
        "best-values",
        "Which swept value is best",
        _best_values_text,
        lambda part, folder: best_tables.best_values(part.results, folder, part.prefix),
    ),
    Kind(
        "ranking",
        "Which objective ranks first",
        "For each score, objectives are ranked by their mean over all configurations, good and bad "
        "ones alike, so a rank describes the whole grid. Mean rank: over scores. Wins: scores on "
        "which the objective alone ranks first. An interval is over seeds.",
        lambda part, folder: best_tables.ranks(part.results, folder, part.prefix),
    ),
    Kind(
        "score-curves",
        "Scores during training",
        "Scores of the weights that were kept along the way, and of those at the end.",
        lambda part, _: best_tables.best_steps(part),
    ),
    Kind(
        "agreement",
        "Whether scores agree",
        "Correlations over all runs, times 100. Spearman: 100 if two scores order the runs alike, "
        "−100 if in reverse. Pearson: 100 if they lie on a rising line. If lower is better for one "
        "of the two, such as recon, agreement is negative. Scores that disagree may measure "
        "different things: choose the one you need before looking at the results.",
        paired=True,
    ),
    Kind(
        "blind",
        "What selecting without labels loses",
        "Without labels a model is chosen by a criterion that needs none. Here are labels, so that "
        "its choice can be compared with the best. A criterion that loses no less than the mean "
        "does is no better than chance.",
        blind_tables,
    ),
    Kind(
        "labels",
        "How many labels it takes",
        "Accuracy of predicting the factors from the codes, on held-out images. High on the left: "
        "few labels are enough. Rising late: the factors are encoded, but entangled.",
    ),
    Kind(
        "shares",
        "Where differences come from",
        "Share of the variance over runs that is explained by the objective and by its swept "
        "value (e.g. of β). The rest is the seed.",
    ),
    Kind(
        "seeds",
        "How many seeds it takes",
        "Each row compares two configurations: the probability that the means of n seeds of each "
        "have the same order as the means of all seeds (0.5 is chance). It is estimated by the "
        "bootstrap, so it assumes that these seeds are typical. Rows: the best against the worst "
        "value of each objective, then the best configurations of objectives with neighbouring "
        "ranks. The CSV file has all pairs.",
        lambda part, folder: best_tables.seed_counts(part.results, folder, part.prefix),
    ),
    Kind(
        "published",
        "Comparison with published values",
        lambda part: (
            describe_printed(part.printed)
            if part.printed
            else part.note + tables.describe_published(part.comparison)
        ),
        _published,
        present=lambda part: bool(part.comparison or part.printed),
        in_sight=True,
    ),
    Kind(
        "training",
        "Training",
        "Terms of the loss, each value from a single batch, for runs that did not diverge. "
        "The documentation of objectives has the formulas.",
    ),
)
DATASETS = Kind(
    "datasets",
    "From dataset to dataset",
    "A value that is best on one dataset may be the worst on another.",
    files=("split_pooled", "swept_value", "transfer"),
)


def sections(part: Part, keep: FigureKeeper) -> list[Section]:
    """The sections of one dataset."""
    figures = list(_figures("applies", part, keep))
    return [section for kind in SECTIONS if (section := _section(kind, part, figures, keep))]


def over_datasets(part: Part, keep: FigureKeeper) -> Section | None:
    """Scores over the swept value on several datasets, a figure for each objective, and others."""
    section = _section(DATASETS, part, list(_figures("over_datasets", part, keep)), keep)
    if section is None or not section.more:
        return None
    first, *others = section.more
    text = f"The same grid on each dataset. Open: {first.summary}. {section.text}"
    return replace(section, text=text, figures=first.figures, more=others)


def _figures(function: str, part: Part, keep: FigureKeeper) -> Iterator[tuple[str, Figure]]:
    """The figures that files of the catalogue have for a part, with the names of these files."""

    def listed(applies: Callable[[Part], Iterable[Figure]]) -> list[Figure]:
        return list(applies(part))

    for file in figures.FILES:
        name = file.__name__.rpartition(".")[2]
        if applies := getattr(file, function, None):
            for figure in keep.attempt(f"{part.prefix}{name}", listed, applies):
                yield name, figure


def _section(
    kind: Kind, part: Part, figures: Iterable[tuple[str, Figure]], keep: FigureKeeper
) -> Section | None:
    blocks = list(kind.tables(part, keep.folder))
    order = {name: i for i, name in enumerate(kind.files)}
    mine = [pair for pair in figures if pair[1].section == kind.id]
    in_sight, folded = list[PageFigure](), dict[str, list[PageFigure]]()
    for _, figure in sorted(mine, key=lambda pair: order.get(pair[0], len(order))):
        images = keep(f"{part.prefix}{figure.name}", figure.draw)
        if figure.summary:
            folded.setdefault(figure.summary, []).extend(images)
        else:
            in_sight += images
    more = [block for block in blocks if isinstance(block, More)]
    more += [More(summary, figures=images) for summary, images in folded.items() if images]
    if not (blocks or in_sight or more or kind.present(part)):
        return None
    return Section(
        f"{part.prefix}{kind.id}",
        kind.title if isinstance(kind.title, str) else kind.title(part),
        kind.text if isinstance(kind.text, str) else kind.text(part),
        [block for block in blocks if isinstance(block, Grid)],
        in_sight,
        more,
        kind.paired,
        folded=not kind.in_sight,
    )
