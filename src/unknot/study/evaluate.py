"""Scores of a run's members, kept in its folder and never written twice."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import unknot
from unknot.core.errors import DataError, StoreError
from unknot.engine.checkpoint import write_whole
from unknot.metrics.all_scores import evaluate as score_all
from unknot.study.run import Run


@dataclass(frozen=True)
class Record:
    """One score of one member, or why there is none."""

    id: str
    seed: int
    metric: str
    protocol: dict[str, Any]
    values: dict[str, float]
    ceiling: float | None
    remarks: list[str]
    unknot: str

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes a record the same as another: run, score, its settings and our version."""
        return self.id, self.metric, json.dumps([self.protocol, self.unknot], sort_keys=True)


def evaluate(
    run: Run,
    *,
    protocol: str = "unknot",
    metrics: Sequence[str] | None = None,
    seed: int = 0,
) -> Iterator[list[Record]]:
    """Score every member that did not diverge; yields the records of one after the other.

    Args:
        run: Trained models.
        protocol: The name of a protocol.
        metrics: Names of scores; all that apply unless given.
        seed: Of everything the scores draw.

    Raises:
        DataError: All members diverged.
    """
    if len(run.diverged) == len(run.spec.seed_list):
        raise DataError("No member can be scored: all of them diverged.")
    representations = run.representations()
    for i, (name, own) in enumerate(zip(run.spec.ids(), run.spec.seed_list, strict=True)):
        if i not in run.diverged:
            table = score_all(representations[i], protocol=protocol, metrics=metrics, seed=seed)
            yield [
                Record(
                    name,
                    own,
                    metric,
                    _plain(table[metric].protocol),
                    dict(table[metric].values),
                    table[metric].ceiling,
                    list(table[metric].remarks),
                    unknot.__version__,
                )
                for metric in table
            ]


def _plain(protocol: Any) -> dict[str, Any]:  # noqa: ANN401
    plain: dict[str, Any] = json.loads(json.dumps(dict(protocol), default=str))
    return plain


def read(folder: Path) -> list[Record]:
    """The records of a run folder.

    Raises:
        StoreError: A line of the file is not a record.
    """
    path = folder / "scores.jsonl"
    if not path.exists():
        return []
    try:
        return [Record(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]
    except (ValueError, TypeError) as error:
        raise StoreError(f"{path} is damaged: {error}. Move it away and score again.") from error


def append(folder: Path, records: Sequence[Record]) -> int:
    """Add records to a run folder; those that are there already stay as they are.

    Returns:
        How many were new.

    Raises:
        WriteError: The disk refused; the file is as it was.
    """
    old = read(folder)
    known = {record.key for record in old}
    new = [record for record in records if record.key not in known]
    if new:
        lines = "".join(json.dumps(asdict(record)) + "\n" for record in [*old, *new])
        write_whole(folder / "scores.jsonl", lines.encode())
    return len(new)
