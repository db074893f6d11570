"""Records: scores as they are kept in a folder, never written twice."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from unknot.core.errors import StoreError
from unknot.core.files import write_whole


@dataclass(frozen=True)
class Record:
    """One score of one member."""

    id: str
    seed: int
    metric: str
    protocol: dict[str, Any]
    values: dict[str, float]
    ceiling: float | None
    remarks: list[str]
    unknot: str
    parts: dict[str, list[float]] = field(default_factory=dict)
    """One number for each code, factor or the like."""

    @property
    def applies(self) -> bool:
        """Whether the score applies to the model; where it does not, a remark says why."""
        return bool(self.values)

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes a record the same as another: run, score, its settings and our version."""
        return self.id, self.metric, json.dumps([self.protocol, self.unknot], sort_keys=True)


def plain(protocol: Any) -> dict[str, Any]:
    """A protocol as a record keeps it."""
    settings: dict[str, Any] = json.loads(json.dumps(dict(protocol), default=str))
    return settings


def read(folder: Path) -> list[Record]:
    """The records of a run folder."""
    path = folder / "scores.jsonl"
    if not path.exists():
        return []
    try:
        return [Record(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]
    except (OSError, ValueError, TypeError) as error:
        raise StoreError(f"{path} is damaged: {error}. Move it away and score again.") from error


def append(folder: Path, records: Sequence[Record]) -> int:
    """Add records to a run folder; those that are there already stay as they are.

    A score that does not apply is not kept: another version of the code may know better.

    Only for who holds the folder: what another process adds meanwhile would be lost.

    Returns:
        How many were new.
    """
    by_key = {record.key: record for record in read(folder)}
    before = len(by_key)
    for record in records:
        if record.applies:
            by_key.setdefault(record.key, record)
    if len(by_key) > before:
        lines = "".join(json.dumps(asdict(record)) + "\n" for record in by_key.values())
        write_whole(folder / "scores.jsonl", lines.encode())
    return len(by_key) - before
