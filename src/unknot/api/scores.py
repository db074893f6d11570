"""Scores of models as a notebook shows them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from unknot.core.errors import ConfigError
from unknot.runs.records import Record

if TYPE_CHECKING:
    from pandas import DataFrame


class Scores(list[Record]):
    """Records, one for each model and metric, that show themselves as a table."""

    def table(self) -> "DataFrame":
        """A row for each value: metric, seed, value, interval, ceiling, protocol and remarks.

        ``low`` and ``high`` are the ends of the interval, which the first value of a metric has.
        """
        import pandas as pd

        rows = [
            {
                "metric": name,
                "seed": record.seed,
                "value": value,
                **_ends(record, name),
                "ceiling": record.ceiling,
                "protocol": _protocol_text(record.protocol),
                "remarks": " ".join(record.remarks),
            }
            for record in self
            for name, value in record.values.items()
        ]
        frame = pd.DataFrame(rows, columns=[*("metric", "seed", "value", "low", "high"), *LAST])
        empty = [name for name in ("ceiling", "remarks") if not frame[name].any()]
        empty += [] if any(record.interval for record in self) else ["low", "high"]
        return frame.drop(columns=empty)

    def __float__(self) -> float:
        """The value of one metric for one model; a metric of several values gives its first.

        Raises:
            ConfigError: There are several, or none; or the score is undefined.
        """
        if len(self) != 1:
            raise ConfigError(
                f"One score is a number; here are {len(self)}. `.table()` has the values of all."
            )
        value = next(iter(self[0].values.values()), None)
        if value is None:
            raise ConfigError(f"This score is undefined: {' '.join(self[0].remarks)}")
        return float(value)

    def __repr__(self) -> str:
        return str(self.table().to_string(index=False)) if self else "Scores(none)"

    def _repr_html_(self) -> str:
        return str(self.table().to_html(index=False, float_format="%.4g", na_rep=""))


LAST: Sequence[str] = ("ceiling", "protocol", "remarks")


def _ends(record: Record, name: str) -> dict[str, float]:
    """The interval of a value, if it has one."""
    if record.interval is None or name != next(iter(record.values)):
        return {}
    low, high = record.interval
    return {"low": low, "high": high}


def _protocol_text(protocol: dict[str, object]) -> str:
    version = protocol.get("version")
    return f"{protocol.get('name', '')}" + (f" v{version}" if version is not None else "")
