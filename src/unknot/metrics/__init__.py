"""Metrics of representations, one file each.

``from unknot import metrics; metrics.mig(codes, factors)``: a metric is the function of the file of
its name, imported when it is first used, and takes plain arrays or a `Representation`. `evaluate`
computes all of them. `metric` makes one of a function that measures rows. What a table of scores of
many models shows is for `unknot.analysis`.
"""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from unknot.core import registry

if TYPE_CHECKING:
    from unknot.metrics.parts.comparison import Comparison as Comparison
    from unknot.metrics.parts.comparison import compare as compare
    from unknot.metrics.parts.evaluation import Table as Table
    from unknot.metrics.parts.evaluation import evaluate as evaluate
    from unknot.metrics.parts.facts import Facts as Facts
    from unknot.metrics.parts.facts import RowSettings as RowSettings
    from unknot.metrics.parts.facts import facts as facts
    from unknot.metrics.parts.facts import lower_is_better as lower_is_better
    from unknot.metrics.parts.facts import protocols_for as protocols_for
    from unknot.metrics.parts.facts import reading as reading
    from unknot.metrics.parts.rows import Rows as Rows
    from unknot.metrics.parts.score import Score as Score
    from unknot.metrics.parts.scoring import Measured as Measured
    from unknot.metrics.parts.scoring import metric as metric
    from unknot.metrics.parts.tokens import tokens as tokens

_HOMES = {
    name: f"unknot.metrics.parts.{home}"
    for home, names in {
        "comparison": ("Comparison", "compare"),
        "evaluation": ("Table", "evaluate"),
        "facts": ("Facts", "RowSettings", "facts", "lower_is_better", "protocols_for", "reading"),
        "rows": ("Rows",),
        "score": ("Score",),
        "scoring": ("Measured", "metric"),
        "tokens": ("tokens",),
    }.items()
    for name in names
}


class _Catalogue(ModuleType):
    """A package whose attributes are metrics, not the files that hold them."""

    def __setattr__(self, name: str, value: object) -> None:
        # Importing a file sets the attribute of its name to the module.
        if isinstance(value, ModuleType) and hasattr(value, name):
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Catalogue


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name.startswith("_") or name not in registry.names("metrics"):
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return registry.get("metrics", name)


def __dir__() -> list[str]:
    return sorted({*_HOMES, *registry.names("metrics")})
