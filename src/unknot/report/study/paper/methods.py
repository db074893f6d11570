"""A paragraph on methods: what was trained, how, and how it was scored."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import unknot
from unknot.analysis import Results
from unknot.analysis.configurations import hashable
from unknot.analysis.intervals import FEW, LEVEL
from unknot.core.registry import Room
from unknot.core.text import counted, joined, setting_label, value_text
from unknot.metrics.parts.facts import MEANINGS
from unknot.report.study import text
from unknot.report.study.paper.latex import escape
from unknot.report.study.paper.references import Work, best_known, cited, works_of
from unknot.report.study.source import Source
from unknot.runs.metric_names import split_part

MOST_LISTED = 8
"""Values of a setting that are listed; of more, the ends and how many."""
BEGIN, END = "\ue000", "\ue001"
"""Around the keys of a citation: no name has these."""
CITATION = re.compile(f" ?{BEGIN}([^{END}]*){END}")
SPECIAL = re.compile(r"([\\`*_<>\[\]#|])")
"""Letters that mean something in Markdown."""
ROOMS: Mapping[str, Room] = {
    "objective": "objectives", "data": "datasets", "net": "nets", "sampler": "samplers",
}  # fmt: skip
OWN = """@misc{{unknot,
  author = {{{{The unknot developers}}}},
  title = {{{{unknot: disentangled representation learning}}}},
  note = {{Version {version}}},
}}"""

Cite = Callable[[Iterable[Work]], str]


@dataclass(frozen=True)
class Methods:
    """Sentences, and the papers that they cite."""

    sentences: tuple[str, ...]
    works: tuple[Work, ...]

    @property
    def markdown(self) -> str:
        """As Markdown, with citations as Pandoc reads them."""
        return self._joined(lambda keys: f" [@{'; @'.join(keys)}]", _markdown)

    @property
    def latex(self) -> str:
        """As LaTeX, with citations as BibTeX resolves them."""
        return self._joined(lambda keys: rf"~\cite{{{','.join(keys)}}}", escape)

    def _joined(self, cite: Callable[[list[str]], str], word: Callable[[str], str]) -> str:
        pieces = CITATION.split(" ".join(self.sentences))
        texts = [
            cite(piece.split()) if place % 2 else _between(piece, word)
            for place, piece in enumerate(pieces)
        ]
        return "".join(texts).strip() + "\n"

    @property
    def bibtex(self) -> str:
        """Entries of the papers, and of this library."""
        by_key = {work.key: work.bibtex for work in self.works}
        unknot_text = OWN.format(version=unknot.__version__)
        return "\n\n".join([*(by_key[key] for key in sorted(by_key)), unknot_text]) + "\n"


def _markdown(part: str) -> str:
    return SPECIAL.sub(r"\\\1", part)


def _between(part: str, word: Callable[[str], str]) -> str:
    """A text between citations, with the blanks at its ends."""
    inner = part.strip()
    start = part[: len(part) - len(part.lstrip())]
    return start + word(inner) + part[len(start) + len(inner) :]


def methods(source: Source) -> Methods:
    """What a paper says of how the runs of a source were made, as far as its table knows."""
    works = dict[str, Work]()

    def cite(found: Iterable[Work]) -> str:
        new = {work.key: work for work in found}
        works.update(new)
        return f" {BEGIN}{' '.join(new)}{END}" if new else ""

    results = source.results
    sentences = (
        *_objectives(results, cite),
        *_surroundings(results, cite),
        *_training(results, source.study is not None),
        *_runs(results),
        *source.notes,
        *_scores(source, cite),
        *_statistics(results),
        *_software(source),
    )
    return Methods(sentences, tuple(works.values()))


def _objectives(results: Results, cite: Cite) -> Iterator[str]:
    """Each objective with its settings: swept ones with their values."""
    parts = []
    for objective in results.objectives:
        prefix = "objective."
        settings = _settings(objective.runs, (n for n in results.settings if n.startswith(prefix)))
        name = objective.objective + cite(works_of("objectives", objective.objective))
        parts.append(f"{name} ({settings})" if settings else name)
    yield f"We trained {joined(parts)}."


def _surroundings(results: Results, cite: Cite) -> Iterator[str]:
    """Data, net and sampler, with citations and settings."""
    for key, begin in (("data", "Data:"), ("net", "Network:"), ("sampler", "Images are drawn by:")):
        if key not in results.table:
            continue
        names = dict.fromkeys(str(name) for name in results.table[key] if name is not None)
        parts = []
        for name in names:
            runs = results.only(key, [name]).table
            inner = (n for n in results.settings if n.startswith(f"{key}."))
            settings = _settings(runs, inner)
            cited_name = name + cite(works_of(ROOMS[key], name))
            parts.append(f"{cited_name} ({settings})" if settings else cited_name)
        if parts:
            yield f"{begin} {joined(parts)}."


def _training(results: Results, is_study: bool) -> Iterator[str]:
    """Optimiser, steps, batch, precision, and whatever else is set for the training."""
    table = results.table
    names = [n for n in results.settings if n.partition(".")[0] not in ROOMS]
    optim = [n for n in names if n.startswith("optim.")]
    optimizers = _values(table, "optim") or (["adam"] if is_study else [])
    settings = _settings(table, optim)
    if optimizers:
        yield (
            f"Optimiser: {joined(optimizers)} ({settings})."
            if settings
            else (f"Optimiser: {joined(optimizers)}.")
        )
    elif settings:
        yield f"Settings of the optimiser: {settings}."
    words = {"steps": "{} steps", "batch": "batches of {}", "precision": "precision {}"}
    parts = [
        form.format(_listed(_values(table, name)))
        for name, form in words.items()
        if _values(table, name)
    ]
    others = [n for n in names if n not in words and n != "optim" and n not in optim]
    if rest := _settings(table, others):
        parts.append(rest)
    if parts:
        yield f"Training: {', '.join(parts)}."


def _runs(results: Results) -> Iterator[str]:
    """Seeds, configurations, and what became of the runs."""
    counts = text.count_runs(results)
    line = (
        f"{counted(counts.configurations, 'configuration')}, {counted(counts.runs, 'run')} in all"
    )
    seeds = sorted({seed for seed in results.table.get("seed", []) if seed is not None})
    if seeds:
        consecutive = seeds == list(range(seeds[0], seeds[-1] + 1)) and len(seeds) > 2
        names = (
            f"{seeds[0]} to {seeds[-1]}" if consecutive else joined([str(seed) for seed in seeds])
        )
        line += f"; {'seeds' if len(seeds) > 1 else 'seed'} {names}"
    yield f"{line}."
    if missing := text.missing(counts):
        yield missing


def _scores(source: Source, cite: Cite) -> Iterator[str]:
    """Each metric with its protocol and version, and what the protocols are."""
    measures = dict[tuple[str, str], Mapping[str, Any]]()
    for measure in source.study.store.measures() if source.study else ():
        measures[measure.metric, measure.protocol] = measure.options
    parts, protocols = [], list[str]()
    for score in dict.fromkeys(_metric(s) for s in [*source.results.scores]):
        score, part = split_part(score)
        metric, _, protocol = score.partition("@")
        protocol = protocol or source.protocol or ""
        if not (found := works_of("metrics", metric)) and (metric, protocol) not in measures:
            continue  # a loss, or a column of somebody else's
        options = measures.get((metric, protocol), {})
        facts = [f"protocol {protocol}"] if protocol else []
        facts += [f"version {options['version']}"] if "version" in options else []
        facts += [f"{options['rows']:,} images"] if "rows" in options and not part else []
        facts += [f"rows of the {part} part"] if part else []
        parts.append(metric + cite(found) + (f" ({', '.join(facts)})" if facts else ""))
        protocols.append(protocol)
    if parts:
        yield f"Scores: {joined(parts)}."
    for protocol in dict.fromkeys(protocols):
        if meaning := MEANINGS.get(protocol, ""):
            works = [best_known(work) for work in cited(meaning)]
            yield f"Protocol {protocol}: {meaning}{cite(works)}."


def _metric(score: str) -> str:
    """The metric and protocol of a score, which may be a part.

    Example:
        >>> _metric("dci.completeness@study2019"), _metric("mig")
        ('dci@study2019', 'mig')
    """
    name, mark, protocol = score.partition("@")
    return name.partition(".")[0] + mark + protocol


def _statistics(results: Results) -> Iterator[str]:
    """What numbers and intervals are, and when something is called best."""
    sizes = {c.size for c in results.configurations}
    if max(sizes) == 1:
        yield "There is one seed per configuration, so that differences cannot be told from chance."
        return
    if max(sizes) >= FEW:
        ends = "cut off at the bounds of scores"
        yield f"Means over seeds have Student's {LEVEL:.0%} intervals, {ends}."
        yield (
            "A configuration is called best where Welch's one-sided t-test, corrected for the "
            f"number of others, separates it from each at {LEVEL:.0%}."
        )
    else:
        yield "Means over seeds are given with their range, since so few give no interval."
        yield "A configuration is called best where its range overlaps with no other."


def _software(source: Source) -> Iterator[str]:
    """Device and versions."""
    place = " ".join(text.training_place(source.study)) if source.study else ""
    yield (f"{place} " if place else "") + (
        f"Tables and figures were made with unknot {unknot.__version__} {BEGIN}unknot{END}."
    )


def _settings(table: Mapping[str, Sequence[Any]], names: Iterable[str]) -> str:
    """Settings and their values in one line; nothing for those that no run has."""
    parts = []
    for name in names:
        if values := _values(table, name):
            inner = name.partition(".")[2] or name
            parts.append(f"{setting_label(inner)} {_listed(values)}")
    return "; ".join(parts)


def _values(table: Mapping[str, Sequence[Any]], name: str) -> list[str]:
    """Different values of a column as text: numbers in their order, others as they come."""
    values = {hashable(v): v for v in table.get(name, []) if v is not None}
    numbers = [v for v in values.values() if isinstance(v, int | float)]
    ordered = sorted(numbers) if len(numbers) == len(values) else list(values.values())
    return [value_text(value) for value in ordered]


def _listed(values: Sequence[str]) -> str:
    if len(values) > MOST_LISTED:
        return f"{values[0]} to {values[-1]}, {len(values)} values"
    return joined(values)
