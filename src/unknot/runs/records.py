"""Records: scores as they are kept in a folder, never written twice."""

import contextlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from unknot.core.border import check_fit, parse_json
from unknot.core.checksums import facts_sum
from unknot.core.errors import DamageError
from unknot.core.files import inside, os_reason, read_whole, write_whole
from unknot.runs.status import way_back

FILE = "scores.jsonl"
FORM = {
    "id": str,
    "seed": int,
    "metric": str,
    "protocol": {
        "name": str,
        "version": int,
        "seed": int,
        "rows": int | None,
        "level": int | float | None,
        "factors": [str],
    },
    "values": {str: int | float},
    "ceiling": int | float | None,
    "remarks": [str],
    "unknot": str,
    "parts": {str: [int | float]},
    "part": str | None,
    "step": int | None,
    "interval": [int | float],
}
"""What each fact of a line is."""
CHECK = 16
"""Hexadecimal digits of the checksum of a line."""


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
    part: str | None = None
    """The part of the run's split that its rows are from; None for all rows."""
    step: int | None = None
    """When in training; None for the end."""
    interval: list[float] | None = None
    """The ends of the interval of the first value, where it was asked for."""

    @property
    def applies(self) -> bool:
        """Whether the score applies to the model; where it does not, a remark says why."""
        return bool(self.values)

    @property
    def key(self) -> tuple[Any, ...]:
        """What makes a record the same as another: run, score, its settings and our version."""
        settings = json.dumps([self.protocol, self.unknot], sort_keys=True)
        return self.id, self.metric, settings, self.part, self.step

    def table(self) -> dict[str, Any]:
        """As plain values; without a part, step or interval that there is not."""
        optional = ("part", "step", "interval")
        return {k: v for k, v in asdict(self).items() if v is not None or k not in optional}


def protocol_record(protocol: Any) -> dict[str, Any]:
    """A protocol as a record keeps it."""
    settings: dict[str, Any] = json.loads(json.dumps(dict(protocol), default=str))
    return settings


def read(folder: Path) -> list[Record]:
    """The records of a run folder."""
    path = inside(folder, FILE)
    if not path.exists():
        return []
    try:
        return [_parse(line) for line in read_whole(path).decode().splitlines()]
    except OSError as error:
        raise DamageError(f"{path} cannot be read: {os_reason(error)}.") from error
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise DamageError(f"{path} is damaged: {error}. {way_back(folder)}") from error


def keep_whole(folder: Path) -> int:
    """Drop the lines that cannot be read, and keep the file as it was under another name.

    Only for who holds the folder.

    Returns:
        How many were dropped.
    """
    path = inside(folder, FILE)
    lines = read_whole(path).decode(errors="replace").splitlines()
    sound = []
    for line in lines:
        with contextlib.suppress(ValueError, LookupError, TypeError, AttributeError):
            sound.append(_parse(line))
    write_whole(inside(folder, f"{FILE}.damaged"), read_whole(path))
    _write(folder, sound)
    return len(lines) - len(sound)


def _parse(line: str) -> Record:
    """A record from its line; lines written before there were checksums have none."""
    facts = parse_json(line)
    check = facts.pop("check", None)
    if check is not None and check != facts_sum(facts)[:CHECK]:
        raise ValueError("a line is not what was written")
    check_fit(facts, FORM)
    if "name" not in facts["protocol"]:
        raise ValueError("a protocol has no name")
    return Record(**facts)


def _write(folder: Path, records: Iterable[Record]) -> None:
    lines = []
    for record in records:
        facts = json.loads(json.dumps(record.table()))
        lines.append(json.dumps({**facts, "check": facts_sum(facts)[:CHECK]}) + "\n")
    write_whole(inside(folder, FILE), "".join(lines))


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
        _write(folder, by_key.values())
    return len(by_key) - before
