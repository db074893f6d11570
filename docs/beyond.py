"""Methods since 2020 beside the classics: ``docs/results/beyond.md``, its tables and figures.

```
unknot study run docs/results/beyond/qlae.toml --device cuda
python docs/beyond.py studies/beyond-qlae            # runs into docs/results/beyond/qlae.csv
python docs/beyond.py                                # tables and figures of the files beside it
python docs/claims.py                                # verdicts
```

A study that ended early, or a part of it, may be given, or the table of one (`unknot study table
--csv beyond-qlae.csv`): its finished runs join those of the file.
The page's own words stay; what stands between two marks is replaced.
"""

import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import methods
import numpy as np
from places import filled

from unknot.analysis.configurations import FINISHED, Columns, plain_columns, sample
from unknot.analysis.plain_table import keep
from unknot.core.csv_files import csv_text, read_table
from unknot.core.files import write_whole
from unknot.core.objective import views_of
from unknot.core.text import number
from unknot.report.style import ACCENT, MUTED, new_figure, png, styled
from unknot.studies.budget import budget
from unknot.studies.file.study_file import read_study
from unknot.studies.plan import plan
from unknot.studies.study import Study

PAGE = Path(__file__).parent / "results" / "beyond.md"
FOLDER = PAGE.with_suffix("")
MEC = {"infomec.infom": "InfoM", "infomec.infoe": "InfoE", "infomec.infoc": "InfoC"}
DCI = {"dci.disentanglement": "DCI-D"}
QUESTIONS: dict[str, dict[str, str]] = {
    "qlae": {**MEC, **DCI, "mig": "MIG", "infomec.active": "latents in use", "recon": "recon"},
    "hfs": {**DCI, "mig": "MIG", "fos": "FOS", "recon": "recon", "kl": "KL"},
    "slow": {"mcc": "MCC", **DCI, "mig": "MIG", "recon": "recon", "kl": "KL"},
    "geometry": {
        "ima_contrast": "IMA contrast",
        "mcc": "MCC",
        **DCI,
        "mig": "MIG",
        "axis_alignment": "axis alignment",
        "linearity": "linearity",
        "recon": "recon",
        "kl": "KL",
    },
}
"""Scores of each question, which is the name of its study file and of its file of runs."""
SHOWN = 3
"""Scores in a figure."""
KEPT = ("id", "seed", "status", "data", "trained_on", "objective", "precision", "steps", "batch")
LETTERS = {"beta": "β", "gamma": "γ", "weight_decay": "decay"}
SURE = 0.99
"""Of intervals for a table of many comparisons."""


def trained_on(row: Mapping[str, Any]) -> str:
    """What images a run saw, in words.

    Example:
        >>> trained_on({"sampler": "transitions", "sampler.steps": "uniform"})
        'uniform transitions'
        >>> trained_on({"sampler": "singles", "sampler.weights": [{"kind": "correlated"}]})
        'correlated'
    """
    if "correlated" in str(row.get("sampler.weights")):  # a list, or its text in a table
        return "correlated"
    if row.get("sampler") == "transitions":
        return f"{row['sampler.steps']} transitions"
    return {"pairs": "pairs"}.get(str(row.get("sampler")), "uncorrelated")


def add_runs(study: Path) -> None:
    """Add the finished runs of a study, or of a table that one wrote, to those of its question."""
    if study.suffix == ".csv":
        name, table = study.stem, read_rows(study)
    else:
        opened = Study.open(study)
        name, table = opened.name, opened.table()
    question = next((q for q in QUESTIONS if q in re.split(r"\W", name)), None)
    if question is None:
        named = ", ".join(f"'beyond {q}'" for q in QUESTIONS)
        raise SystemExit(f"Expected a study of {named}, or its table; got '{name}'.")
    file = FOLDER / f"{question}.csv"
    old = read_rows(file) if file.exists() else []
    # A study has one protocol for a metric, which its file and the page name.
    ended = [row for row in table if row["status"] in FINISHED]
    plain = [{re.sub(r"@\w+", "", name): v for name, v in row.items()} for row in ended]
    new = {row["id"]: row | {"trained_on": trained_on(row)} for row in plain}
    rows = [row for row in old if row["id"] not in new] + [*new.values()]
    settings = dict.fromkeys(
        name for row in rows for name in row
        if name.partition(".")[0] in ("sampler", "net", "optim") or name.startswith("objective.")
    )  # fmt: skip
    write_whole(file, csv_text(rows, [*KEPT, *settings, *QUESTIONS[question]]).encode())


def read_rows(file: Path) -> list[dict[str, Any]]:
    """Runs of a file."""
    table = read_table(file)
    return [dict(zip(table, cells, strict=True)) for cells in zip(*table.values(), strict=True)]


@dataclass(frozen=True, eq=False)
class Group:
    """Runs that differ in the seed alone."""

    data: str
    trained_on: str
    label: str
    runs: Columns

    @cached_property
    def is_vae(self) -> bool:
        """Whether it is the beta-VAE with beta 1."""
        first = {name: values[0] for name, values in self.runs.items()}
        return first["objective"] == "beta_vae" and first["objective.beta"] == 1

    def values(self, score: str) -> np.ndarray:
        """Of runs that have the score; a diverged run has none."""
        found: np.ndarray = sample(self.runs, score).values if score in self.runs else np.zeros(0)
        return found


def groups(table: Columns) -> list[Group]:
    """Configurations in the order of the table, dataset by dataset."""
    names = [n for n in table if n.startswith("objective.") or n == "optim.weight_decay"]
    keys = list(zip(*(table[n] for n in ("data", "trained_on", "objective", *names)), strict=True))
    found = []
    for key in dict.fromkeys(keys):
        data, images, objective, *values = key
        same = [k for k in dict.fromkeys(keys) if (k[0], k[2]) == (data, objective)]
        words = [
            f"{LETTERS.get(name.split('.')[1], name.split('.')[1])} {number(value)}"
            for i, (name, value) in enumerate(zip(names, values, strict=True))
            if len({k[3 + i] for k in same}) > 1 and name.split(".")[1] not in SAME
        ]
        label = " ".join([f"`{objective}`", ", ".join(words)]).strip()
        runs = keep(table, [k == key for k in keys])
        found.append(Group(str(data), str(images), label, runs))
    order = list(dict.fromkeys(group.data for group in found))
    return sorted(found, key=lambda group: order.index(group.data))


SAME = ("quantization", "commitment")
"""Settings that only follow the dataset."""


def means(found: Sequence[Group], scores: Mapping[str, str]) -> Iterator[str]:
    """Mean and standard deviation of each score over seeds."""
    images = len({group.trained_on for group in found}) > 1
    head = ["data", "objective", *(["trained on"] if images else []), "runs", *scores.values()]
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    for group in found:
        n = len(group.runs["seed"])
        gone = n - len(group.values("recon"))
        runs = f"{n} ({gone} diverged)" if gone else str(n)
        cells = [group.data, group.label, *([group.trained_on] if images else []), runs]
        cells += [spread(group.values(score), score) for score in scores]
        yield f"| {' | '.join(cells)} |"


def spread(values: np.ndarray, score: str) -> str:
    """Mean ± standard deviation.

    Example:
        >>> spread(np.array([0.1, 0.3]), "mig")
        '0.20 ± 0.14'
    """
    if not len(values):
        return "–"
    digits = 1 if score in ("recon", "kl", "infomec.active", "ima_contrast") else 2
    sd = f" ± {values.std(ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{values.mean():.{digits}f}{sd}".replace("-", "−")


def effects(found: Sequence[Group], scores: Mapping[str, str]) -> Iterator[str]:
    """How far each configuration lies from the VAE of its dataset, in spreads of seeds."""
    head = ["data", "objective", *scores.values()]
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    for group in found:
        vae = next((g for g in found if g.data == group.data and g.is_vae), None)
        if vae is None or vae is group:
            continue
        cells = [effect(group.values(score), vae.values(score)) for score in scores]
        yield f"| {group.data} | {group.label} | {' | '.join(cells)} |"


def effect(ours: np.ndarray, theirs: np.ndarray) -> str:
    """The difference of two means in standard deviations of a seed; bold where it is sure.

    Example:
        >>> effect(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.5]))
        '−0.1'
        >>> effect(np.array([11.0, 12.0, 13.0]), np.array([1.0, 2.0, 3.0]))
        '**+10.0**'
    """
    from scipy import stats

    if min(len(ours), len(theirs)) < 2:
        return "–"
    sd = math.sqrt((ours.var(ddof=1) + theirs.var(ddof=1)) / 2)
    if sd == 0:
        return "–"
    text = f"{(ours.mean() - theirs.mean()) / sd:+.1f}".replace("-", "−")
    sure = stats.ttest_ind(ours, theirs, equal_var=False).pvalue < 1 - SURE
    return f"**{text}**" if sure else text


@styled
def draw(found: Sequence[Group], scores: Mapping[str, str]) -> Any:
    """A row for each configuration: a tick for each run, a point at the mean; a panel a score."""
    datasets = list(dict.fromkeys(group.data for group in found))
    rows = max(sum(group.data == data for group in found) for data in datasets)
    figure = new_figure((2.2 * len(scores) + 2.6, (0.19 * rows + 0.75) * len(datasets)))
    all_axes = figure.subplots(len(datasets), len(scores), squeeze=False, sharey="row")
    images = len({group.trained_on for group in found}) > 1
    for line, data in zip(all_axes, datasets, strict=True):
        own = [group for group in found if group.data == data]
        labels = [
            group.label.replace("`", "") + (f", {group.trained_on}" if images else "")
            for group in own
        ]
        for axes, (score, name) in zip(line, scores.items(), strict=True):
            for y, group in enumerate(own):
                values = group.values(score)
                axes.vlines(values, y - 0.3, y + 0.3, color=MUTED, linewidth=0.8)
                axes.plot(values.mean() if len(values) else [], y, "o", color=ACCENT, markersize=4)
            axes.set_title(f"{name}, {data}")
            axes.set_yticks(range(len(own)), labels)
            axes.set_ylim(len(own) - 0.4, -0.6)
    return figure


def runs_of(question: str) -> tuple[list[Group], dict[str, str]]:
    """The configurations of a question, and which of its scores they have."""
    found = groups(plain_columns(read_table(FOLDER / f"{question}.csv")))
    scores = QUESTIONS[question]
    return found, {k: v for k, v in scores.items() if any(len(g.values(k)) for g in found)}


def parts(question: str) -> dict[str, str]:
    """What a question's marks are filled with."""
    names = [f"{question} means", *(["geometry effects"] if question == "geometry" else [])]
    if not (FOLDER / f"{question}.csv").exists():
        return dict.fromkeys(names, "Not run yet.")
    found, scores = runs_of(question)
    picture = f"![Scores of each run]({FOLDER.name}/{question}.png)"
    tables = [[picture, "", *means(found, scores)], effects(found, scores)]
    return {name: "\n".join(lines) for name, lines in zip(names, tables, strict=False)}


def costs() -> Iterator[str]:
    """What each study takes on a GPU: measured rates, and by CPU time where there are none."""
    ratios = methods.costs()
    yield "| question | runs | steps of each | precision | minutes on one H200, estimated |"
    yield "|---|---|---|---|---|"
    for question in QUESTIONS:
        whole = plan(read_study(FOLDER / f"{question}.toml"))
        specs = whole.configurations
        (steps,), (precision,) = {s.steps for s in specs}, {s.precision for s in specs}
        work = [ratios[s.objective.name] / views_of(s.objective.settings) for s in specs]
        spent = budget(whole).parts[precision]
        minutes = (spent.training * float(np.mean(work)) + spent.starts + spent.scores) / 60
        name = f"[{question}]({FOLDER.name}/{question}.toml)"
        yield f"| {name} | {len(whole.runs)} | {steps:,} | {precision} | {minutes:.0f} |"


def made(page: str) -> str:
    """The page with its tables."""
    tables = {name: text for question in QUESTIONS for name, text in parts(question).items()}
    tables |= {"cost": "\n".join(costs()), "methods": "\n".join(methods.table())}
    return filled(page, tables)


def main(*studies: str) -> None:
    """Keep the runs of studies, draw the figures, and fill in the page."""
    for study in studies:
        add_runs(Path(study))
    for file in FOLDER.glob("*.csv"):
        found, scores = runs_of(file.stem)
        write_whole(file.with_suffix(".png"), png(draw(found, dict([*scores.items()][:SHOWN]))))
    PAGE.write_text(made(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
