"""Protocols: named, versioned settings, because implementations of one score differ threefold.

A score's file holds its own settings, ``PROTOCOLS: dict[name, settings]``, each a frozen dataclass
with a ``version`` that rises whenever a number would change. Not every score has every protocol.
For settings of one's own pass a dataclass instead of a name::

    from dataclasses import replace
    from unknot.metrics.jemmig import PROTOCOLS, jemmig
    jemmig(codes, factors, protocol=replace(PROTOCOLS["carbonneau"], bins=20))
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Generic, TypeVar

from unknot.core import registry
from unknot.core.errors import ConfigError

S = TypeVar("S")

MEANINGS = {
    "study2019": "settings of Locatello et al. 2019; comparable with their 10,800 published models",
    "study2019_fast": "DCI of study2019 in single precision; D and C within 0.01 of it",
    "carbonneau": "settings of the review of Carbonneau et al. 2022 and of its published library",
    "paper": "as the paper that introduced the score defines it",
    "unknot": "our default: bins that outliers cannot move, dead codes left out, ceilings",
}


@dataclass(frozen=True)
class Protocol(Generic[S]):
    """The settings chosen for one score, and their name."""

    metric: str
    name: str
    settings: S

    def record(self, **measured: object) -> dict[str, Any]:
        """Everything needed to repeat a score, as plain values."""
        return {"name": self.name, **dict(_flat(self.settings)), **measured}


def pick(
    metric: str, known: Mapping[str, S], wanted: str | S, kinds: Sequence[type] = ()
) -> Protocol[S]:
    """The settings of a name, or given settings under the name ``custom``.

    They are of the type of the known ones, or of one of ``kinds``.
    """
    if not isinstance(wanted, str):
        allowed = tuple(dict.fromkeys([*map(type, known.values()), *kinds]))
        if not isinstance(wanted, allowed):
            names = " or ".join(kind.__name__ for kind in allowed)
            raise ConfigError(
                f"{metric} takes the name of a protocol or its own {names}; "
                f"got {type(wanted).__name__}."
            )
        return Protocol(metric, "custom", wanted)
    if wanted not in known:
        raise ConfigError(
            f"{metric} has no protocol '{wanted}'{registry.nearest(wanted, list(known))}"
        )
    return Protocol(metric, wanted, known[wanted])


def protocols_for(metric: str) -> Mapping[str, Any]:
    """The settings of a metric by the name of a protocol; none for an outsider's plain function."""
    known: Mapping[str, Any] = getattr(registry.get("metrics", metric), "protocols", {})
    return known


def table(metrics: Sequence[str] | None = None) -> str:
    """All settings of all protocols as one Markdown table.

    Example:
        >>> print(table(["modularity"]).splitlines()[0])
        | score | protocol | version | settings |
    """
    lines = ["| score | protocol | version | settings |", "|---|---|---|---|"]
    for metric in metrics if metrics is not None else registry.names("metrics"):
        for name, settings in protocols_for(metric).items():
            flat = dict(_flat(settings))
            version = flat.pop("version", 1)
            text = ", ".join(filter(None, (_text(key, value) for key, value in flat.items())))
            lines.append(f"| {metric} | {name} | {version} | {text} |")
    return "\n".join(lines)


def _text(key: str, value: object) -> str:
    """A setting in words; nothing for one that is switched off."""
    key = key.replace("_", " ")
    if value is None:
        return f"all {key}" if key.endswith("samples") else ""
    if isinstance(value, bool):
        return key if value else ""
    if isinstance(value, tuple):
        return f"{key} {' '.join(str(v) for v in value)}" if value else ""
    return f"{key} {value:,}" if isinstance(value, int) else f"{key} {value}"


def _flat(settings: Any) -> Iterator[tuple[str, Any]]:
    for field in fields(settings) if is_dataclass(settings) else ():
        value = getattr(settings, field.name)
        if is_dataclass(value):
            yield from _flat(value)
        else:
            yield field.name, value
