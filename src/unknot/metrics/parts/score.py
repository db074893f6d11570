"""Score: the number that a metric gives, with all one needs to report it."""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from numpy.typing import NDArray

import unknot
from unknot.core import registry
from unknot.core.border import check_whole
from unknot.core.errors import ConfigError


@dataclass(frozen=True, repr=False, eq=False)
class Score(float):
    """One score of one representation: a float that knows its protocol, parts and remarks.

    Example:
        >>> score = Score("mig", {"mig": 0.7, "mig.gap": 0.5}, {}, {"name": "paper", "version": 1})
        >>> f"{score:.3f}", score > 0.5, score["gap"], score["mig.gap"]
        ('0.700', True, 0.5, 0.5)
        >>> score
        mig 0.7000 .gap 0.5000 (protocol paper v1)
    """

    name: str
    values: Mapping[str, float]
    """By ``<name>`` and ``<name>.<part>``."""
    parts: Mapping[str, NDArray[Any]]
    """Tables are codes by factors."""
    protocol: Mapping[str, Any]
    """Name, version and every setting, the number of rows, the factors used, the seed."""
    interval: tuple[float, float] | None = None
    """Where asked for: the interval of the first value over half-samples of the rows."""
    ceiling: float | None = None
    """What one noiseless code per factor scores on the same rows, where that is not simply 1."""
    remarks: tuple[str, ...] = ()

    def __new__(cls, name: str, values: Mapping[str, float], *_: Any, **__: Any) -> "Score":
        """The float of the score's own value."""
        return super().__new__(cls, values[name])

    def __reduce__(self) -> tuple[Any, ...]:
        # A float would be pickled as the number alone.
        state = (self.name, self.values, self.parts, self.protocol, self.interval, self.ceiling)
        return type(self), (*state, self.remarks)

    def __getitem__(self, key: str) -> float:
        for name in (key, f"{self.name}.{key}"):
            if name in self.values:
                return self.values[name]
        raise ConfigError(
            f"{self.name} has no value '{key}'{registry.nearest(key, list(self.values))}"
        )

    @property
    def relative(self) -> float | None:
        """The value as a share of the ceiling."""
        return float(self) / self.ceiling if self.ceiling else None

    def cite(self, digits: int = 2) -> str:
        """One line for a paper: value, interval, software, protocol and number of rows.

        Example:
            >>> record = {"name": "study2019", "version": 1, "rows": 10_000}
            >>> Score("mig", {"mig": 0.312}, {}, record, interval=(0.297, 0.33)).cite()
            'mig 0.31 [0.30, 0.33], unknot 0.1.0, protocol study2019 v1, 10,000 rows'
        """
        digits = check_whole("digits", digits, 0, 17)
        value = f"{self.name} {self:.{digits}f}"
        if self.interval:
            value += " [{:.{d}f}, {:.{d}f}]".format(*self.interval, d=digits)
        return ", ".join([value, f"unknot {unknot.__version__}", *self._measured_how()])

    def _measured_how(self) -> list[str]:
        version = self.protocol.get("version")
        name = f"protocol {self.protocol['name']}" + (f" v{version}" if version else "")
        rows = self.protocol.get("rows")
        return [name, *([f"{rows:,} rows"] if rows else [])]

    def _notes(self) -> list[str]:
        notes = self._measured_how()
        if self.relative is not None:
            notes.append(f"{100 * self.relative:.0f} % of the ceiling {self.ceiling:.3f}")
        if self.interval:
            level = self.protocol.get("level")
            share = f"{100 * level:g} % " if level else ""
            notes.append(f"{share}interval {self.interval[0]:.4f} to {self.interval[1]:.4f}")
        return notes

    def __repr__(self) -> str:
        others = [
            f"{k.removeprefix(self.name)} {v:.4f}" for k, v in self.values.items() if k != self.name
        ]
        line = " ".join([f"{self.name} {self:.4f}", *others, f"({', '.join(self._notes())})"])
        return "\n".join([line, *(f"  {remark}" for remark in self.remarks)])

    __str__ = __repr__

    def _repr_html_(self) -> str:
        """A small table for notebooks."""
        cells = {**self.values, self.name: float(self)}
        rows = "".join(
            f"<tr><td>{escape(name)}</td><td>{value:.4f}</td></tr>" for name, value in cells.items()
        )
        notes = "".join(f"<br>{escape(note)}" for note in (", ".join(self._notes()), *self.remarks))
        return f"<table>{rows}</table><small>{notes.removeprefix('<br>')}</small>"
