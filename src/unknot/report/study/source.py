"""Where a report's runs come from: a study's folder, a table, or the published runs of 2019.

Which columns are scores is known of a study and of the runs of 2019. Of a table from elsewhere,
`metric_columns` has the rule.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path

from unknot.analysis import Results, compare, documents, published
from unknot.analysis.claims import FEW_RUNS
from unknot.analysis.comparison import Comparison
from unknot.analysis.configurations import (
    FACTS,
    Columns,
    has_diverged,
    plain_columns,
    repeated_seed,
    score_names,
    setting_names,
)
from unknot.analysis.documents import Document, beside, our_column
from unknot.core import registry
from unknot.core.border import LONGEST_TEXT
from unknot.core.csv_files import read_table
from unknot.core.dotted import is_setting
from unknot.core.errors import ConfigError, DataError, StoreError
from unknot.core.files import file_stem, open_file
from unknot.core.places import without_common_folder
from unknot.core.text import plain, shown
from unknot.metrics import facts, lower_is_better
from unknot.metrics.parts.facts import LOSSES, ONE_FACTOR
from unknot.report.study.baselines import OtherRuns, has_baseline
from unknot.report.study.baselines import baselines as find_baselines
from unknot.report.study.blocks import Printed
from unknot.report.study.run_columns import LOWEST, asks_for_lowest, runs_where, with_lowest
from unknot.studies import database
from unknot.studies.study import Study

PUBLISHED = (*published.SEVEN, "modularity")
TERMS = ("recon", "kl", "loss")
"""What every run logs; shown where there are no scores."""
PROMINENT_PARTS = ("dci.disentanglement", "dci.completeness", "dci.informativeness")
"""Parts of a score that are shown beside it."""
NEITHER = "neither high nor low values are better"
MOST = 12
"""Scores that have figures unless others are asked for."""


@dataclass(frozen=True, eq=False)
class Source:
    """Runs, and what a page says of them."""

    title: str
    results: Results
    """Its scores have figures, its others have none."""
    study: Study | None = None
    published: bool = False
    baselines: tuple[str, ...] = ()
    """What figures hold scores against; see `unknot.report.study.baselines`."""
    others: Mapping[str, OtherRuns] = field(default_factory=dict)
    """Those of the baselines that are runs of other studies."""
    protocol: str | None = None
    """That of the scores without one in their names; None where nobody says."""
    notes: tuple[str, ...] = ()
    """How columns were taken that another reader may take otherwise."""

    def compare(self, results: Results, published: "Source") -> tuple[Comparison, str]:
        """Compare results with published ones where both have a score by one protocol.

        Also a sentence on protocols where they differ; empty where they do not.
        """
        ours, theirs = self.protocol, published.protocol
        differ = None not in (ours, theirs) and ours != theirs
        suffix = f"@{theirs}" if differ else ""
        table, names = results.table, [score.partition("@")[0] for score in results.scores]
        columns = {name: name + suffix for name in names if name + suffix in table} | {
            loss: loss for loss in ("recon", "kl") if loss in table
        }
        both = [name for name in columns if name in published.results.table]
        renamed = {**table, **{name: table[columns[name]] for name in both}}
        summaries = Results(renamed, both, settings=results.settings).summaries()
        comparison = compare(
            [summary for summary in summaries if summary.n], published.results.summaries(both)
        )
        note = (
            f"Scores here are those of the protocol {ours} and the published ones of {theirs}; "
            "only what is scored by that one too is compared. "
        )
        return comparison, note if differ else ""

    def beside(self, results: Results, document: Document) -> Printed:
        """Our values and correlations next to those that a document prints."""
        values = beside(document, results, self.protocol)
        correlations = []
        for printed in document.correlations:
            names = [our_column(document, results, name, self.protocol)
                     for name in (printed.first, printed.second)]  # fmt: skip
            n = results.runs_with(*names) if all(names) else 0
            if n >= FEW_RUNS:
                correlation, _ = results.agreement(names).between(*names)
                correlations.append((printed, correlation, n))
        return Printed(document, values, correlations)


def file_prefix(results: Results, data: str) -> str:
    """Start of the names of a dataset's files, where there are several datasets."""
    return f"{file_stem(data)}-" if len(results.by_data) > 1 else ""


def read_published(path: Path) -> "Source | Document":
    """Published runs to hold ours against, or a document by its name."""
    if not path.exists() and str(path) in documents.names():
        return documents.document(str(path))
    if not path.exists():
        raise StoreError(
            f"There is no study and no table at {path}, and no document of this name; known: "
            f"{', '.join(documents.names())}."
        )
    return read(path)


def read(
    path: Path,
    scores: Sequence[str] | None = None,
    baselines: Sequence[str] = (),
    conditions: Sequence[str] = (),
) -> Source:
    """A study's folder, a CSV table with a row for each run, or files of the 2019 study.

    Args:
        path: Folder or file.
        scores: Those that get figures; chosen by what is there unless given.
        baselines: Objectives, settings, ``score=number``, or a study or table and perhaps an
            objective of it, ``studies/other:vae``; those of the study file unless given.
        conditions: What runs must meet, such as ``recon<50``.
    """
    if not path.exists():
        raise StoreError(f"There is no study and no table at {path}.")
    if any((path / name).exists() for name in (database.FILE, database.TEXT)):
        source = _read_study(path, scores, conditions)
    elif path.is_dir() and not any(path.glob("*.csv")):
        raise StoreError(f"{path} holds neither a study (study.db) nor tables (*.csv).")
    elif path.is_dir() or is_published(path):
        title, results = "Published runs of the 2019 study", Results(published.read(path))
        results = _choose_scores(results, scores, PUBLISHED)
        source = Source(title, results, published=True, protocol="study2019")
    else:
        table, notes = name_settings(_with_seeds(plain_columns(_printable(read_table(path)))))
        results = Results(table)
        results = _choose_scores(results, scores, metric_columns(results))
        source = Source(path.stem, results, notes=tuple(notes))
    results, notes = runs_where(source.results, conditions)
    source = replace(
        source,
        results=results,
        notes=(*source.notes, *notes),
        baselines=tuple(baselines) or source.baselines,
    )
    # A name of the table comes first, even if a folder is called so.
    unknown = [text for text in source.baselines if not has_baseline(results, text)]
    others = {text: runs for text in unknown if (runs := _other_runs(text, source))}
    source = replace(source, others=others)
    find_baselines(results, source.baselines, others)  # refuses a name that nothing has
    return source


def _other_runs(text: str, source: Source) -> OtherRuns | None:
    """The runs of another study or table that a baseline names, and perhaps an objective of it."""
    before, _, after = text.rpartition(":")
    places = {text: "", before: after} if before else {text: ""}
    for place, name in places.items():
        if Path(place).is_dir() or place.endswith(".csv"):
            other = read(Path(place))
            ours, theirs = source.protocol, other.protocol
            if None not in (ours, theirs) and ours != theirs:
                raise ConfigError(
                    f"The baseline {place} is scored by the protocol {theirs}, and these runs by "
                    f"{ours}: their scores are not the same."
                )
            find_baselines(other.results, [name] if name else ())
            return OtherRuns(other.title, other.results, name)
    return None


def _printable(table: Columns) -> Columns:
    """A table whose texts can be drawn: control characters are escapes."""
    return {
        name: [plain(cell) if isinstance(cell, str) else cell for cell in column]
        for name, column in table.items()
    }


def _with_seeds(table: Columns) -> Columns:
    """A table from elsewhere with whole numbers as seeds, or nothing where it has none."""
    if "seed" not in table:
        return table
    for seed in table["seed"]:
        if seed is not None and not (isinstance(seed, int | float) and seed == int(seed)):
            raise DataError(f"A seed is a whole number; the column 'seed' has '{shown(seed)}'.")
    return {**table, "seed": [None if seed is None else int(seed) for seed in table["seed"]]}


def metric_columns(results: Results) -> list[str]:
    """The columns of a table from elsewhere that are scores.

    Settings go by their first words (`unknot.core.dotted.is_setting`) and facts of a run by their
    names (`unknot.analysis.configurations.FACTS`). Of the other columns of numbers, scores are
    those named after a metric, such as ``mig`` or ``dci.completeness@study2019``; where there is
    none, all but the losses that training logs.
    """
    numeric = score_names(results.table, results.settings)
    scores = [name for name in numeric if _is_metric(name)]
    return scores or [name for name in numeric if name not in TERMS]


def name_settings(table: Columns) -> tuple[Columns, list[str]]:
    """A table from elsewhere with the settings among its columns named as such, and what was done.

    Where a configuration has a seed twice, a column that nothing calls a setting is one: a field of
    the objective such as ``beta``, else a column that tells these runs apart and recurs over seeds.
    It becomes ``objective.beta``.
    """
    repeats = repeated_seed(table, setting_names(table))
    if "objective" not in table or ("seed" in table and not repeats):
        return table, []
    fields = _objective_fields(table)
    names = [name for name in _other_columns(table) if name in fields]
    if repeats and repeated_seed(table, [*setting_names(table), *names]):
        names += _grid_columns(table, [*setting_names(table), *names])
    named = {f"objective.{name}" if name in names else name: v for name, v in table.items()}
    notes = [f"The column '{name}' was read as the setting objective.{name}." for name in names]
    if repeats := repeated_seed(named, setting_names(named)):
        row, count = repeats
        notes.append(
            f"Seed {table['seed'][row]} of {table['objective'][row]} occurs {count} times in one "
            "configuration. If these runs differ in a setting, call its column objective.NAME, "
            "such as objective.beta; otherwise they are averaged."
        )
    return named, notes


def _objective_fields(table: Columns) -> set[str]:
    names = {str(name) for name in table["objective"]} & {*registry.names("objectives")}
    return {field for name in names for field in registry.settings("objectives", name)}


def _other_columns(table: Columns) -> list[str]:
    """Columns that are no settings, no facts of a run, no metrics and no losses."""
    named = {*setting_names(table), *FACTS, *TERMS}
    return [name for name in table if name not in named and not _is_metric(name)]


def _grid_columns(table: Columns, settings: Sequence[str]) -> list[str]:
    """The fewest further columns that leave no seed twice, if the values of each recur over seeds.

    A score tells runs apart as well, but hardly ever has a value again.
    """
    several = [
        name
        for name in _other_columns(table)
        if name not in settings and min(Counter(map(str, table[name])).values()) > 1
    ]
    for size in (1, 2):
        for names in combinations(several, size):
            if not repeated_seed(table, [*settings, *names]):
                return [*names]
    return []


def _is_metric(column: str) -> bool:
    return column.partition("@")[0].partition(".")[0] in registry.names("metrics")


def is_published(file: Path) -> bool:
    """Whether a file has the columns of the 2019 study."""
    try:
        with open_file(file) as opened:
            head = opened.readline(LONGEST_TEXT).decode("utf-8-sig", "replace")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"Cannot read the table {file}: {error}.") from error
    return "model_num" in head and "model_name" in head


def _read_study(path: Path, scores: Sequence[str] | None, conditions: Sequence[str] = ()) -> Source:
    study = Study.open(path)
    rows = study.table()
    if not rows:
        raise StoreError(f"The study in {path} has no runs.")
    if not any(row["status"] in ("done", "diverged") for row in rows):
        raise StoreError(
            f"No run of the study in {path} is finished; resume with `unknot study run {path}`."
        )
    table = plain_columns(rows)
    for name in (name for name in table if is_setting(name)):
        table[name] = without_common_folder(table[name])
    if asks_for_lowest(scores or (), conditions):
        table = with_lowest(study, table)
    results = Results(table, settings=study.setting_names(), silent=_vacuous(study))
    results = _choose_scores(results, scores, study.scores())
    protocol = study.store.facts()["protocol"]
    return Source(study.name, results, study, baselines=study.baselines(), protocol=protocol)


def _choose_scores(
    results: Results, scores: Sequence[str] | None, candidates: Sequence[str]
) -> Results:
    """The results with the scores to show: those named, or what there is of the candidates."""
    table = results.table
    if "objective" not in table:
        raise ConfigError(
            "A table needs a column 'objective' that says what each run was trained with; got "
            f"{', '.join(list(table)[:12])}."
        )
    numeric = score_names(table, results.settings)
    present = [name for name in numeric if results.has(name)]
    if scores is not None:
        results.choose(scores)
        if wrong := [name for name in scores if name not in numeric]:
            raise ConfigError(
                f"The column '{wrong[0]}' holds no scores; there are {_some(numeric)}"
            )
    else:
        scores = _headline(results, [name for name in candidates if name in numeric])
        scores = scores or [name for name in TERMS if name in present]
    if not scores:
        raise ConfigError(f"The table has no scores; its columns are {_some(list(table))}")
    if all(has_diverged(table)):
        raise DataError(f"All {len(table['objective'])} runs diverged: there is nothing to show.")
    return Results(
        table,
        scores,
        settings=results.settings,
        others=[name for name in present if name not in scores],
        lower=[name for name in numeric if lower_is_better(name)],
        losses=[name for name in numeric if name.partition("@")[0] in ("kl", LOWEST, *LOSSES)],
        silent=results.silent | {n: NEITHER for n in numeric if _has_no_better(n)},
    )


def _vacuous(study: Study) -> dict[str, str]:
    """Scores that cannot tell good codes from bad ones on this data."""
    return {
        name: ONE_FACTOR
        for name, remarks in study.store.remarks().items()
        if any(ONE_FACTOR in remark for remark in remarks)
    }


def _has_no_better(column: str) -> bool:
    """Whether neither more nor less of a metric is better."""
    name = column.partition("@")[0].partition(".")[0]
    return name in registry.names("metrics") and facts(name).better == "neither"


def _headline(results: Results, names: Sequence[str]) -> list[str]:
    """The scores to show: no parts of others but prominent ones, none twice, none that are not."""
    headline: list[str] = []
    for name in names:
        wholes = [n for n in names if name.startswith(f"{n}.")]
        prominent = not wholes or name.partition("@")[0] in PROMINENT_PARTS
        twice = any(results.table[name] == results.table[n] for n in wholes)
        if results.has(name) and prominent and not twice:
            headline.append(name)
    return headline[:MOST]


def _some(names: Sequence[str]) -> str:
    return f"{', '.join(names[:12])}{', ...' if len(names) > 12 else ''}."
