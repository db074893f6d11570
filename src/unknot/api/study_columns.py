"""What the table of a study says: columns by name, the best run, and effects of a setting."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unknot.analysis.configurations import hashable
from unknot.analysis.health import flaws
from unknot.core.border import check_type
from unknot.core.errors import ConfigError, StoreError
from unknot.core.registry import nearest
from unknot.metrics.parts.facts import lower_is_better

if TYPE_CHECKING:
    from pandas import DataFrame


def column(table: "DataFrame", name: str) -> str:
    """The whole name of a column, of which the last part is enough.

    Raises:
        ConfigError: There is none, or several end so.
    """
    check_type("A column", name, str)
    ends = [whole for whole in table.columns if whole.endswith(f".{name}")]
    if name not in table and len(ends) == 1:
        return str(ends[0])
    if name not in table:
        choices = ends or [*table.columns]
        raise ConfigError(f"The study has no column '{name}'{nearest(name, choices)}")
    return name


def best_run(table: "DataFrame", metric: str, path: Path) -> str:
    """The id of the finished run with the best value; sound models before others.

    Args:
        table: One row a run.
        metric: A column.
        path: Of the study, for messages.

    Raises:
        ConfigError: There is no such column.
        StoreError: No run has a value.
    """
    metric = column(table, metric)
    values = table.dropna(subset=[metric])
    if any(isinstance(value, str | bool) for value in values[metric]):
        raise ConfigError(f"'{metric}' is neither a score nor a logged value.")
    values = values[values["status"] == "done"]
    if values.empty:
        raise StoreError(f"No finished run of {path} has a value of {metric}.")
    sound = values[[not flaw for flaw in flaws(values.to_dict("list"))]]
    values = values if sound.empty else sound
    lower = metric in ("loss", "recon", "kl") or lower_is_better(metric)
    place = values[metric].idxmin() if lower else values[metric].idxmax()
    return str(values.loc[place, "id"])


def effect_table(
    table: "DataFrame",
    setting: str,
    metrics: Sequence[str],
    *,
    settings: list[str],
    scores: Sequence[str],
    path: Path,
) -> "DataFrame":
    """A row for each value of a setting and metric, as `Study.effect` says.

    Args:
        table: One row a run.
        setting: A column.
        metrics: Columns; all scores when empty.
        settings: Columns that are settings.
        scores: Columns that are scores.
        path: Of the study, for messages.

    Raises:
        ConfigError: There is no such column, or the first is no setting.
        StoreError: There are no scores, or no run is finished.
    """
    import pandas as pd

    from unknot.analysis.effects import effects, setting_values
    from unknot.analysis.plain_table import columns

    setting = column(table, setting)
    metrics = [column(table, metric) for metric in metrics]
    names = [n for n in (metrics or scores) if n in table]
    if not names:
        raise StoreError(f"The study in {path} has no scores; give metrics to it.")
    if setting not in settings:
        raise ConfigError(f"'{setting}' is no setting{nearest(setting, settings)}")
    done = table[table["status"] == "done"]
    if done.empty:
        raise StoreError(f"No run of {path} is finished.")
    plain = columns(done)
    keys = [hashable(value) for value in plain[setting]]
    rows = []
    found = {
        name: {hashable(effect.value): effect for effect in effects(plain, settings, setting, name)}
        for name in names
    }
    for value in setting_values(plain, setting):
        group = done[[key == hashable(value) for key in keys]]
        for name in names:
            numbers = pd.to_numeric(group[name]).dropna()
            row = {"runs": len(numbers), "mean": numbers.mean(), "sd": numbers.std()}
            if effect := found[name].get(hashable(value)):
                line = effect.row()
                row |= {n: line[n] for n in ("pairs", "difference", "low", "high", "over")}
            rows.append({setting: value, "metric": name, **row})
    return pd.DataFrame(rows)
