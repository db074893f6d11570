"""Test the claims of ``docs/results/claims.toml`` and write them into the pages that list them.

```
python docs/claims.py
```

``docs/results/README.md`` has them all but those of documents that name a page as ``listed_on``.

Every claim has one of five verdicts: holds, fails, undecided (too few runs to tell), not run, or
that it needs files. Tests decide, or a person by the rule that the claim gives in `words`.
"""

import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from claim_relations import best, chosen, correlation, pooled, steady
from claim_tests import (
    above,
    alike,
    below,
    higher,
    limits,
    not_higher,
    published,
    ratio,
    wider,
)
from places import filled
from tuned_claims import SIDES, gain, tuned

from unknot.analysis.configurations import plain_columns
from unknot.core.csv_files import read_table

RESULTS = Path(__file__).parent / "results"
RUNS = (*SIDES, "runs_with")
"""Where tests say which runs they compare."""
VERDICTS = ("holds", "fails", "undecided", "not run", "needs files")

Test = Callable[[Mapping[str, list[Any]], Mapping[str, Any]], tuple[str, str]]
TESTS: dict[str, Test] = {
    test.__name__: test
    for test in (
        *(higher, not_higher, alike, published, above, below, ratio, wider),
        *(correlation, pooled, best, chosen, steady, tuned, gain),
    )
}


def judge(claim: Mapping[str, Any], table: Mapping[str, list[Any]] | None) -> tuple[str, str]:
    """The verdict on a claim, and in numbers why."""
    if "needs" in claim:
        return "needs files", f"Those of {claim['needs']}."
    if table is None:
        return "not run", ""
    if "words" in claim and "verdict" not in claim:
        return "not run", ""
    answers = [TESTS[kind](table, test) for kind in TESTS for test in claim.get(kind, ())]
    if "verdict" in claim:
        answers.append((claim["verdict"], claim["reason"]))
    verdicts = [verdict for verdict, _ in answers]
    reasons = "; ".join(reason for _, reason in answers if reason)
    worst = next(v for v in ("fails", "not run", "undecided", "holds") if v in verdicts)
    return worst, reasons


def each_dataset(claims: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """A claim for each dataset that a claim has under `data`, about the runs on it."""
    for claim in claims:
        if "data" not in claim:
            yield claim
        for data in claim.get("data", ()):
            tests = {
                kind: [
                    {k: v | {"data": data} if k in RUNS else v for k, v in test.items()}
                    for test in claim[kind]
                ]
                for kind in TESTS
                if kind in claim
            }
            yield {**claim, **tests, "where": f"{claim['where']}, {data}"}


def rule_of(claim: Mapping[str, Any]) -> str:
    """How a claim is decided, in words where it has any."""
    return str(claim.get("rule", claim.get("words", "")))


def overview(documents: Mapping[str, Any], verdicts: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """One row a document."""
    yield f"| document | claims | {' | '.join(VERDICTS)} |"
    yield "|---" * (len(VERDICTS) + 2) + "|"
    for key, document in documents.items():
        count = Counter(verdicts[key])
        page = RESULTS / document["page"]
        title = f"[{document['title']}]({page.name})" if page.exists() else document["title"]
        numbers = " | ".join(str(count[v]) for v in VERDICTS)
        yield f"| {title} | {len(verdicts[key])} | {numbers} |"


def listing(
    key: str, claims: Sequence[Mapping[str, Any]], answers: Sequence[tuple[str, str]]
) -> Iterator[str]:
    """The claims of one document."""
    yield "| where | claim | verdict | numbers |"
    yield "|---|---|---|---|"
    for claim, (verdict, reason) in zip(claims, answers, strict=True):
        if claim["document"] == key:
            rule = rule_of(claim) if verdict == "not run" else ""
            numbers = "; ".join(filter(None, (reason or rule, limits(claim))))
            yield f"| {claim['where']} | {claim['says']} | {verdict} | {numbers} |"


def pages(read: Callable[[Path], str] = lambda path: path.read_text("utf-8")) -> dict[Path, str]:
    """Each page that lists claims, with its tables."""
    file = tomllib.loads((RESULTS / "claims.toml").read_text(encoding="utf-8"))
    documents, claims = file["documents"], [*each_dataset(file["claim"])]
    tables = {
        key: plain_columns(read_table(RESULTS / document["runs"]))
        if (RESULTS / document["runs"]).exists()
        else None
        for key, document in documents.items()
    }
    answers = [judge(claim, tables[claim["document"]]) for claim in claims]
    verdicts = {
        key: [v for (v, _), c in zip(answers, claims, strict=True) if c["document"] == key]
        for key in documents
    }
    parts = {RESULTS / "README.md": {"overview": "\n".join(overview(documents, verdicts))}}
    for key, document in documents.items():
        place = RESULTS / document.get("listed_on", "README.md")
        parts.setdefault(place, {})[key] = "\n".join(listing(key, claims, answers))
    return {path: filled(read(path), tables) for path, tables in parts.items()}


def main() -> None:
    """Fill in the pages."""
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
