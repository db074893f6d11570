"""The pages of documents in ``docs/results``: their runs, and their tables from these.

```
python docs/evidence.py mushom2020 build/evidence/mushom2020_*.zip    # its runs and its page
python docs/evidence.py                                               # fills in all pages again
```

Studies are those of ``docs/results/DOCUMENT/*.toml``, as folders or archives; runs of pieces that
are not given are kept. A page's own words stay; what stands between two marks is replaced.
"""

import json
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import claims
from claim_tests import MAIN
from places import filled

from unknot.analysis import Results, documents
from unknot.analysis.configurations import Columns, plain_columns, setting_names
from unknot.analysis.documents import PrintedMatch
from unknot.analysis.plain_table import keep
from unknot.core.csv_files import csv_text, read_table
from unknot.core.files import write_whole
from unknot.core.text import decimals
from unknot.report.study.figures import spread
from unknot.report.style import png
from unknot.runs import records
from unknot.studies.study import Study

RESULTS = Path(__file__).parent / "results"
DROPPED = ("population", "member", "error", "diverged")
NEVER = "Not run."
USED = 0.1
"""σ of a latent that an mdL-VAE uses."""


def file_of(document: str) -> tuple[str, dict[str, Any], list[dict[str, Any]]]:
    """The key of a document in the file of claims, what it says of it, and its claims."""
    file = tomllib.loads((RESULTS / "claims.toml").read_text(encoding="utf-8"))
    for key, entry in file["documents"].items():
        if Path(entry["page"]).stem == document:
            return key, entry, [claim for claim in file["claim"] if claim["document"] == key]
    raise SystemExit(f"docs/results/claims.toml has no document with the page {document}.md.")


def rows_of(study: Path, document: str, entry: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The finished runs of a piece, where they were trained, and the parts of scores asked for."""
    if study.is_file():
        with tempfile.TemporaryDirectory() as folder:
            zipfile.ZipFile(study).extractall(folder)
            for row in rows_of(Path(folder), document, entry):
                yield {**row, **_noted(study.with_suffix(".log"))}
        return
    opened = Study.open(study)
    piece = opened.name.removeprefix(f"{document}_")
    parts: dict[str, dict[str, Any]] = {}
    for row in opened.table():
        if row["status"] not in ("done", "diverged"):
            continue
        place = study / "populations" / row["population"]
        if row["population"] not in parts:
            parts[row["population"]] = _parts(place, entry.get("parts", ()))
        kept = {name: value for name, value in row.items() if name not in DROPPED}
        yield {
            "piece": piece,
            MAIN: piece in entry["main"],
            **_facts(place),
            **kept,
            **derived(kept),
            **parts[row["population"]].get(row["id"], {}),
        }


def derived(row: Mapping[str, Any]) -> dict[str, float]:
    """Numbers that claims need and that no column has.

    Example:
        >>> derived({"recon": 20.0, "kl": 5.0, "sigma.0": 0.8, "sigma.1": 0.0})
        {'elbo': -25.0, 'sigmas_in_use': 1}
    """
    found: dict[str, float] = {}
    if _there(row, "recon", "kl") and "elbo" not in row:
        found["elbo"] = -(row["recon"] + row["kl"])
    if _there(row, "kl_per_dimension.squared_norm", "kl_per_dimension.variance", "net.latents"):
        norm = row["kl_per_dimension.squared_norm"] / row["net.latents"]
        found["total_variance"] = norm + row["kl_per_dimension.variance"]
    if _there(row, "mig@study2019", "mig_sup"):
        found["mig_and_mig_sup"] = row["mig@study2019"] + row["mig_sup"]
    if sigmas := [v for name, v in row.items() if name.startswith("sigma.") and v is not None]:
        found["sigmas_in_use"] = sum(value > USED for value in sigmas)
    return found


def _there(row: Mapping[str, Any], *names: str) -> bool:
    return all(row.get(name) is not None for name in names)


def _facts(place: Path) -> dict[str, Any]:
    """What a population was trained on."""
    found = json.loads((place / "status.json").read_text(encoding="utf-8"))
    versions = found["versions"]
    return {"device": found["device"], "torch": versions["torch"], "unknot": versions["unknot"]}


def _noted(log: Path) -> dict[str, Any]:
    """Day and machine, which `bench/evidence.sh` writes on the first line of its log."""
    first = log.read_text(encoding="utf-8").partition("\n")[0] if log.is_file() else ""
    day, _, machine = first.partition(" ")
    return {"day": day, "machine": machine} if day[:2] == "20" else {}


def _parts(place: Path, names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Parts of scores by run, such as ``cbd.per_code.0``; the newest of each."""
    found: dict[str, dict[str, float]] = {}
    for score in records.read(place) if names else ():
        for name in names:
            metric, _, part = name.rpartition(".")
            if score.metric == metric and part in score.parts and score.step is None:
                values = {f"{name}.{j}": float(v) for j, v in enumerate(score.parts[part])}
                found.setdefault(score.id, {}).update(values)
    return found


def collected(document: str, studies: Sequence[Path]) -> list[dict[str, Any]]:
    """Runs of the given studies, and those of other pieces that the table has already."""
    _, entry, _ = file_of(document)
    new = [row for study in studies for row in rows_of(study, document, entry)]
    file = RESULTS / entry["runs"]
    given = {row["piece"] for row in new}
    old = _rows(plain_columns(read_table(file))) if file.exists() else []
    return [row for row in old if row["piece"] not in given] + new


def _rows(table: Columns) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in zip(table, values, strict=True) if value is not None}
        for values in zip(*table.values(), strict=True)
    ]


def verdicts(found: Sequence[tuple[Mapping[str, Any], tuple[str, str]]]) -> Iterator[str]:
    """One line for each claim."""
    for claim, (verdict, reason) in found:
        rule = claims.rule_of(claim) if verdict == "not run" else ""
        numbers = f" {reason or rule}" if reason or rule else ""
        yield f"- **{verdict}** · {claim['where']}: {claim['says']}{numbers}"


def beside(table: Columns | None, entry: Mapping[str, Any]) -> Iterator[str]:
    """Each printed value that we have a counterpart of."""
    name = entry.get("printed")
    if name is None:
        yield "The document prints no means that could be compared."
        return
    if table is None:
        yield NEVER
        return
    document = documents.document(name)
    matches = documents.match_printed(document, _results(table), entry["protocol"])
    if not matches:
        yield "No run is the counterpart of a printed value yet."
        return
    yield "| table | configuration | score | ours | published | difference | 90 % interval | |"
    yield "|---" * 8 + "|"
    for match in matches:
        yield _beside(match)
    yield f"\n{' '.join(document.notes)}"


def _beside(match: PrintedMatch) -> str:
    ours, printed = match.ours, match.printed
    low, high = match.interval
    both = [
        f"{decimals(mean)} ± {decimals(sd)} ({n})" if sd == sd and n > 1 else decimals(mean)
        for mean, sd, n in ((ours.mean, ours.sd, ours.n), (printed.mean, printed.sd, printed.n))
    ]
    interval = f"{low:+.3f} to {high:+.3f}" if low == low else "–"
    cells = [printed.table, ours.label, ours.score, *both, f"{match.difference:+.3f}", interval,
             match.verdict]  # fmt: skip
    return f"| {' | '.join(cells)} |".replace("-", "−")


def _results(table: Columns) -> Results:
    main = keep(table, [bool(value) for value in table[MAIN]])
    return Results(main, settings=_settings(main), draws=200)


def _settings(table: Columns) -> list[str]:
    return [name for name in setting_names(table) if name not in ("piece", MAIN)]


def conditions(table: Columns | None) -> Iterator[str]:
    """A row for each piece."""
    if table is None:
        yield NEVER
        return
    names = ("steps", "batch", "precision", "machine", "day", "torch", "unknot")
    yield f"| piece | runs | seeds | minutes | {' | '.join(names)} |"
    yield "|---" * (len(names) + 4) + "|"
    for piece in dict.fromkeys(table["piece"]):
        runs = keep(table, [value == piece for value in table["piece"]])
        cells = [str(piece), f"{len(runs['id'])}", _span(runs["seed"])]
        cells.append(f"{sum(s or 0 for s in runs['seconds']) / 60:.0f}")
        cells += [_several(runs.get(name, [])) for name in names]
        yield f"| {' | '.join(cells)} |"


def _span(values: Sequence[Any]) -> str:
    numbers = sorted({int(value) for value in values})
    whole = numbers == [*range(numbers[0], numbers[-1] + 1)] and len(numbers) > 1
    return f"{numbers[0]} to {numbers[-1]}" if whole else ", ".join(map(str, numbers))


def _several(values: Sequence[Any]) -> str:
    there = dict.fromkeys(value for value in values if value is not None)
    return ", ".join(f"{v:,}" if isinstance(v, int) else str(v) for v in there)


def figure(document: str) -> Iterator[str]:
    """The figure and the runs, once they are there."""
    if (RESULTS / f"{document}.png").is_file():
        yield f"![Scores over seeds, by configuration]({document}.png)"
    else:
        yield "No figure yet."
    if (RESULTS / f"{document}.csv").is_file():
        yield f"\n[All runs]({document}.csv)"


def commands(document: str) -> Iterator[str]:
    """What makes the runs and the page."""
    yield "```sh"
    for piece in file_of(document)[1]["pieces"]:
        yield f"sh bench/evidence.sh {document}/{piece}"
    yield f"python docs/evidence.py {document} build/evidence/{document}_*.zip"
    yield "```"


def made(page: str, document: str) -> str:
    """The page with its tables."""
    _, entry, found = file_of(document)
    file = RESULTS / entry["runs"]
    table = plain_columns(read_table(file)) if file.exists() else None
    answers = [(claim, claims.judge(claim, table)) for claim in found]
    parts = {
        "verdicts": verdicts(answers),
        "beside": beside(table, entry),
        "conditions": conditions(table),
        "figure": figure(document),
        "commands": commands(document),
    }
    return filled(page, {name: "\n".join(lines) for name, lines in parts.items()})


def draw(document: str) -> None:
    """The figure of a page: scores over the seeds of each configuration."""
    _, entry, _ = file_of(document)
    table = plain_columns(read_table(RESULTS / entry["runs"]))
    results = _results(table)
    scores = [name for name in entry["figure"] if results.has(name)]
    if scores:
        drawn = spread.draw(Results(results.table, scores, settings=_settings(results.table)))
        (RESULTS / f"{document}.png").write_bytes(png(drawn.figure))


def main(*given: str) -> None:
    """Write the runs of a document, if studies are given, and fill in pages."""
    if given:
        document, *studies = given
        rows = collected(document, [Path(study) for study in studies])
        names = dict.fromkeys(name for row in rows for name in row)
        kept = [n for n in names if any(row.get(n) is not None for row in rows)]
        _, entry, _ = file_of(document)
        write_whole(RESULTS / entry["runs"], csv_text(rows, kept))
        draw(document)
    for page in pages():
        page.write_text(made(page.read_text(encoding="utf-8"), page.stem), encoding="utf-8")
    claims.main()


def pages() -> Iterator[Path]:
    """Those that this script fills in."""
    file = tomllib.loads((RESULTS / "claims.toml").read_text(encoding="utf-8"))
    for entry in file["documents"].values():
        if "main" in entry:
            yield RESULTS / entry["page"]


if __name__ == "__main__":
    main(*sys.argv[1:])
