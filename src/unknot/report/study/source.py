"""Where a report's runs come from: a study's folder, a table, or the published runs of 2019."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from unknot.analysis import Results, compare, published
from unknot.analysis.comparison import Comparison
from unknot.analysis.configurations import Columns, has_diverged, score_names
from unknot.analysis.plain_table import numbers
from unknot.core import registry
from unknot.core.csv_files import read_table
from unknot.core.errors import ConfigError, DataError, StoreError
from unknot.metrics import lower_is_better
from unknot.report import study_baselines
from unknot.study.study import Study

PUBLISHED = (*published.SEVEN, "modularity")
TERMS = ("recon", "kl", "loss")
"""What every run logs; shown where there are no scores."""
KNOWN_PARTS = ("dci.disentanglement", "dci.completeness", "dci.informativeness")
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
    """What figures hold scores against; see `unknot.report.study_baselines`."""
    protocol: str | None = None
    """That of the scores without one in their names; None where nobody says."""

    def compare(self, results: Results, published: "Source") -> tuple[Comparison, str]:
        """Some of its results beside published ones where both have a score by one protocol.

        Also a sentence on protocols where they differ; empty where they do not.
        """
        protocols = self.protocol, published.protocol
        other = None not in protocols and protocols[0] != protocols[1]
        suffix = f"@{published.protocol}" if other else ""
        table, names = results.table, [score.partition("@")[0] for score in results.scores]
        columns = {name: name + suffix for name in names if name + suffix in table} | {
            loss: loss for loss in ("recon", "kl") if loss in table
        }
        both = [name for name in columns if name in published.results.table]
        renamed = {**table, **{name: table[columns[name]] for name in both}}
        ours = Results(renamed, both, settings=results.settings).summaries()
        found = compare([one for one in ours if one.n], published.results.summaries(both))
        note = (
            f"Scores here are those of the protocol {protocols[0]} and the published ones of "
            f"{protocols[1]}; only what is scored by that one too is compared. "
        )
        return found, note if other else ""


def read(path: Path, scores: Sequence[str] | None = None, baselines: Sequence[str] = ()) -> Source:
    """A study's folder, a CSV table with a row for each run, or files of the 2019 study.

    Args:
        path: Folder or file.
        scores: Those that get figures; chosen by what is there unless given.
        baselines: Objectives, settings or ``score=number``; those of the study file unless given.
    """
    source = _read(path, scores)
    wanted = tuple(baselines) or source.baselines
    study_baselines.baselines(source.results, wanted)
    return replace(source, baselines=wanted)


def _read(path: Path, scores: Sequence[str] | None) -> Source:
    if not path.exists():
        raise StoreError(f"There is no study and no table at {path}.")
    if path.is_dir() and not (path / "study.db").exists():
        if not any(path.glob("*.csv")):
            raise StoreError(f"{path} holds neither a study (study.db) nor tables (*.csv).")
        return _of_2019(path, scores)
    if path.is_dir():
        return _of_study(path, scores)
    if is_published(path):
        return _of_2019(path, scores)
    results = Results(read_table(path))
    return _source(path.stem, results, scores, _registered(results))


def is_published(file: Path) -> bool:
    """Whether a file has the columns of the 2019 study."""
    try:
        with file.open(encoding="utf-8-sig", newline="") as opened:
            head = opened.readline()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"Cannot read the table {file}: {error}.") from error
    return "model_num" in head and "model_name" in head


def _of_study(path: Path, scores: Sequence[str] | None) -> Source:
    study = Study.open(path)
    rows = study.table()
    if not rows:
        raise StoreError(f"The study in {path} has no runs.")
    ended = [row["status"] in ("done", "diverged") for row in rows]
    if not any(ended):
        raise StoreError(
            f"No run of the study in {path} is finished; resume with `unknot study run {path}`."
        )
    results = Results(rows, settings=study.setting_names())
    source = _source(study.name, results, scores, study.scores(), study)
    protocol = study.store.facts()["protocol"]
    return replace(source, baselines=study.baselines(), protocol=protocol)


def _of_2019(path: Path, scores: Sequence[str] | None) -> Source:
    title = "Published runs of the 2019 study"
    source = _source(title, Results(published.read(path)), scores, PUBLISHED)
    return replace(source, published=True, protocol="study2019")


def _source(
    title: str,
    results: Results,
    scores: Sequence[str] | None,
    known: Sequence[str],
    study: Study | None = None,
) -> Source:
    given = results.table
    if "objective" not in given:
        raise ConfigError(
            "A table needs a column 'objective' that says what each run was trained with; got "
            f"{', '.join(list(given)[:12])}."
        )
    every = score_names(given, results.settings)
    if scores is not None:
        results.choose(scores)
        if strange := [name for name in scores if name not in every]:
            raise ConfigError(
                f"The column '{strange[0]}' holds no scores; there are {_some(every)}"
            )
        chosen = list(scores)
    else:
        chosen = _headline(given, [name for name in known if name in every]) or [
            name for name in TERMS if name in every and _there(given, name)
        ]
    if not chosen:
        raise ConfigError(f"The table has no scores; its columns are {_some(list(given))}")
    if all(has_diverged(given)):
        raise DataError(f"All {len(given['objective'])} runs diverged: there is nothing to show.")
    others = tuple(name for name in every if name not in chosen and _there(given, name))
    lower = [name for name in every if lower_is_better(name)]
    found = Results(given, chosen, settings=results.settings, others=others, lower=lower)
    return Source(title, found, study)


def _headline(given: Columns, names: Sequence[str]) -> list[str]:
    """The scores to show: no parts of others but well-known ones, none twice, none that are not."""
    kept: list[str] = []
    for name in names:
        whole = [n for n in names if name.startswith(f"{n}.")]
        known = name.partition("@")[0] in KNOWN_PARTS
        double = any(given[name] == given[n] for n in whole)
        if _there(given, name) and (not whole or known) and not double:
            kept.append(name)
    return kept[:MOST]


def _there(given: Columns, name: str) -> bool:
    """Whether some run that did not diverge has a number."""
    found = numbers(given, name)
    return any(v == v and not out for v, out in zip(found, has_diverged(given), strict=True))


def _registered(results: Results) -> list[str]:
    """Columns named after scores of ours; all that hold numbers where there is none."""
    every = score_names(results.table, results.settings)
    metrics = registry.names("metrics")
    own = [n for n in every if n.partition("@")[0].partition(".")[0] in metrics]
    return own or [name for name in every if name not in TERMS]


def _some(names: Sequence[str]) -> str:
    return f"{', '.join(names[:12])}{', ...' if len(names) > 12 else ''}."
