"""The tables of GPU time in ``docs/results/README.md``: what pieces of evidence take, estimated.

```
python docs/evidence_time.py
```

The estimates are those of `unknot study plan --budget` for one H200.
"""

import tomllib
from collections.abc import Iterator
from pathlib import Path

from places import filled

from unknot.studies.budget import Budget, budget
from unknot.studies.file.study_file import read_study
from unknot.studies.gpu_rates import measured_on
from unknot.studies.plan import Plan, plan

RESULTS = Path(__file__).parent / "results"
ORDER = ("mushom2020", "kumar2018", "ozcan2024", "study2019", "michlo2022")
"""Of documents, as they are to be run."""
PART = 23.0
"""Minutes of a machine held for half an hour; a start, a stop and archives take the rest."""


def planned() -> dict[str, dict[str, tuple[Plan, Budget]]]:
    """The pieces of each document, in the order to run them, and what they take."""
    file = tomllib.loads((RESULTS / "claims.toml").read_text(encoding="utf-8"))
    pieces = {
        Path(e["page"]).stem: e["pieces"] for e in file["documents"].values() if "pieces" in e
    }
    found: dict[str, dict[str, tuple[Plan, Budget]]] = {}
    for document in sorted(pieces, key=ORDER.index):
        for piece in pieces[document]:
            plans = plan(read_study(RESULTS / document / f"{piece}.toml"))
            found.setdefault(document, {})[piece] = plans, budget(plans)
    return found


def minutes(found: Budget) -> float:
    """Of one H200 in the precision of the piece."""
    return found.seconds[found.precisions[0]] / 60


def totals(found: dict[str, dict[str, tuple[Plan, Budget]]]) -> Iterator[str]:
    """A row for each page."""
    yield "| page | pieces | runs | hours of one H200 | parts of half an hour |"
    yield "|---|---|---|---|---|"
    for document, pieces in found.items():
        runs = sum(len(plans.runs) for plans, _ in pieces.values())
        all_minutes = [minutes(one) for _, one in pieces.values()]
        parts = sum(max(1, -(-one // PART)) for one in all_minutes)
        yield (
            f"| [{document}]({document}.md) | {len(pieces)} | {runs} | {sum(all_minutes) / 60:.1f} "
            f"| {parts:.0f} |"
        )


def lines(found: dict[str, dict[str, tuple[Plan, Budget]]]) -> Iterator[str]:
    """A row for each piece."""
    yield "| piece | runs | populations | minutes | training of a population | counted otherwise |"
    yield "|---|---|---|---|---|---|"
    for document, pieces in found.items():
        for piece, (plans, one) in pieces.items():
            training = one.parts[one.precisions[0]].training / 60
            others = ", ".join(f"`{name}`" for name, _ in one.assumptions)
            each = f"{training / one.populations:.1f}"
            yield (
                f"| `{document}/{piece}` | {len(plans.runs)} | {one.populations} | "
                f"{minutes(one):.0f} | {each} | {others} |"
            )
    yield f"\nRates: {measured_on()}."


def made(page: str) -> str:
    """The page with its tables."""
    found = planned()
    parts = {"totals": "\n".join(totals(found)), "pieces": "\n".join(lines(found))}
    return filled(page, parts)


def main() -> None:
    """Fill in the page."""
    path = RESULTS / "README.md"
    path.write_text(made(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
