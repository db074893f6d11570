"""Where a report's runs come from: a study's folder, a table, or the published runs of 2019.

Which columns are scores is known of a study and of the runs of 2019. Of a table from elsewhere,
`unknot.report.study.foreign_table.metric_columns` has the rule.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from unknot.analysis import Results, compare, documents, published
from unknot.analysis.claims import FEW_RUNS
from unknot.analysis.comparison import Comparison
from unknot.analysis.configurations import (
    plain_columns,
)
from unknot.analysis.documents import Document, match_printed, our_column
from unknot.core.dotted import is_setting
from unknot.core.errors import ConfigError, StoreError
from unknot.core.files import file_stem
from unknot.core.places import without_common_folder
from unknot.report.study.baselines import OtherRuns, has_baseline
from unknot.report.study.baselines import baselines as find_baselines
from unknot.report.study.blocks import Printed
from unknot.report.study.foreign_table import is_published, metric_columns, read_foreign
from unknot.report.study.run_columns import asks_for_lowest, runs_where, with_lowest
from unknot.report.study.shown_scores import choose_scores, vacuous_scores
from unknot.studies import database
from unknot.studies.study import Study

PUBLISHED = (*published.SEVEN, "modularity")


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
        values = match_printed(document, results, self.protocol)
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
        results = choose_scores(results, scores, PUBLISHED)
        source = Source(title, results, published=True, protocol="study2019")
    else:
        table, notes = read_foreign(path)
        results = Results(table)
        results = choose_scores(results, scores, metric_columns(results))
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
    places = {text: "", before: after} if before and after else {text: ""}
    for place, name in places.items():
        if place and (Path(place).is_dir() or place.endswith(".csv")):
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
    results = Results(table, settings=study.setting_names(), silent=vacuous_scores(study))
    results = choose_scores(results, scores, study.scores())
    protocol = study.store.facts()["protocol"]
    return Source(study.name, results, study, baselines=study.baselines(), protocol=protocol)
