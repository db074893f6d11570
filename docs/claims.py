"""Test the claims of ``docs/results/claims.toml`` and write them into the pages that list them.

```
python docs/claims.py
```

``docs/results/README.md`` has them all but those of documents that name a page as ``listed_on``.

Every claim has one of five verdicts: holds, fails, undecided (too few runs to tell), not run, or
what a person decided by the rule that the claim gives.
"""

import math
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from places import filled
from tuned_claims import FEWEST, LEVEL, SIDES, gain, side_of, tuned

from unknot.analysis.configurations import pick, plain_columns, sample
from unknot.analysis.replication import MARGIN, ONE_SIDED, Pooled
from unknot.core.csv_files import read_table
from unknot.core.errors import ConfigError

RESULTS = Path(__file__).parent / "results"
RUNS = (*SIDES, "runs_with")
"""Where tests say which runs they compare."""
VERDICTS = ("holds", "fails", "undecided", "not run")


def judge(claim: Mapping[str, Any], table: Mapping[str, list[Any]] | None) -> tuple[str, str]:
    """The verdict on a claim, and in numbers why."""
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


def _values(table: Mapping[str, list[Any]], settings: Mapping[str, Any], score: str) -> np.ndarray:
    try:
        values: np.ndarray = sample(pick(table, settings), score).values
    except ConfigError:  # no such run, or no such score
        return np.zeros(0)
    return values


def _two(table: Mapping[str, list[Any]], test: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    more, less = (_values(table, test[side], test["score"]) for side in SIDES)
    return more, less


def higher(table: Mapping[str, list[Any]], test: Mapping[str, Any]) -> tuple[str, str]:
    """Whether one mean lies above another, by Welch's interval."""
    from scipy import stats

    more, less = _two(table, test)
    if min(len(more), len(less)) < FEWEST:
        return "not run", ""
    low, high = stats.ttest_ind(more, less, equal_var=False).confidence_interval(LEVEL)
    reason = f"{test['score']} {more.mean():.3g} > {less.mean():.3g} [{low:+.3f}, {high:+.3f}]"
    return side_of(low, high, 0.0), reason


def alike(table: Mapping[str, list[Any]], test: Mapping[str, Any]) -> tuple[str, str]:
    """Whether two means differ by less than half a standard deviation of a seed."""
    more, less = _two(table, test)
    if min(len(more), len(less)) < FEWEST:
        return "not run", ""
    squares = sum((len(side) - 1) * side.var(ddof=1) for side in (more, less))
    unit = math.sqrt(squares / (len(more) + len(less) - 2))
    if unit == 0:
        return ("holds" if more.mean() == less.mean() else "fails"), ""
    return _equal(test["score"], more, less.mean(), len(less), unit)


def published(table: Mapping[str, list[Any]], test: Mapping[str, Any]) -> tuple[str, str]:
    """Whether a mean equals a published one within half its standard deviation."""
    ours = _values(table, test["runs_with"], test["score"])
    if len(ours) < FEWEST:
        return "not run", ""
    return _equal(test["score"], ours, test["mean"], test["n"], test["sd"])


def _equal(score: str, ours: np.ndarray, mean: float, n: int, sd: float) -> tuple[str, str]:
    error = math.sqrt(1 / len(ours) + 1 / n)
    pooled = Pooled(score, float(ours.mean() - mean) / sd, error, sd, 1)
    low, high = pooled.interval
    reason = f"{score} {ours.mean():.3f} and {mean:.3f} [{low:+.1f}, {high:+.1f}] sd"
    if pooled.equal or pooled.differs:
        return ("holds" if pooled.equal else "fails"), reason
    return "undecided", f"{reason}, {pooled.visible:.1f} sd would show"


def limits(claim: Mapping[str, Any]) -> str:
    """What comparisons with printed means cannot show, however many runs of ours there are.

    The printed mean has an error of its own: 90 % of it is 1.645 sd / √n, which is more than half
    an sd where n is below 11.
    """
    counts = {test["n"] for test in claim.get("published", ())}
    few = [n for n in sorted(counts) if ONE_SIDED / math.sqrt(n) >= MARGIN]
    return "; ".join(
        f"{n} printed runs cannot show that means are equal; with {n} of ours, a difference of "
        f"{Pooled('', 0.0, math.sqrt(2 / n), 1.0, 1).visible:.1f} sd would show"
        for n in few
    )


def above(table: Mapping[str, list[Any]], test: Mapping[str, Any]) -> tuple[str, str]:
    """Whether a mean lies above a number."""
    return _limit(table, test, 1.0)


def below(table: Mapping[str, list[Any]], test: Mapping[str, Any]) -> tuple[str, str]:
    """Whether a mean lies below a number."""
    return _limit(table, test, -1.0)


def _limit(table: Mapping[str, list[Any]], test: Mapping[str, Any], sign: float) -> tuple[str, str]:
    from scipy import stats

    values = _values(table, test["runs_with"], test["score"])
    if len(values) < FEWEST:
        return "not run", ""
    low, high = stats.ttest_1samp(values, test["number"]).confidence_interval(LEVEL)
    ends = sorted((sign * (low - test["number"]), sign * (high - test["number"])))
    return side_of(*ends, 0.0), f"{test['score']} {values.mean():.3g} [{low:.3g}, {high:.3g}]"


Test = Callable[[Mapping[str, list[Any]], Mapping[str, Any]], tuple[str, str]]
TESTS: dict[str, Test] = {
    "higher": higher,
    "alike": alike,
    "tuned": tuned,
    "gain": gain,
    "published": published,
    "above": above,
    "below": below,
}


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
            rule = claim.get("words", "") if verdict == "not run" else ""
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
