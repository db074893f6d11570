"""Scores of representations, one file each.

``from unknot import metrics; metrics.mig(codes, factors)``: a score is the function of the file of
its name, and takes plain arrays or a `Representation`. `evaluate` computes all of them. Of a table
of scores of many models, `agreement`, `variance_shares` and `seeds_needed` tell what it shows.
"""

import importlib
import pkgutil
from typing import Any

from unknot.analysis.agreements import agreement as agreement
from unknot.analysis.plain_table import split_table as split_table
from unknot.analysis.seeds import seeds_needed as seeds_needed
from unknot.analysis.variances import variance_shares as variance_shares
from unknot.core import registry
from unknot.metrics.parts.all_scores import Table as Table
from unknot.metrics.parts.all_scores import evaluate as evaluate
from unknot.metrics.parts.facts import Facts as Facts
from unknot.metrics.parts.facts import facts as facts
from unknot.metrics.parts.facts import lower_is_better as lower_is_better
from unknot.metrics.parts.facts import metric as metric
from unknot.metrics.parts.facts import reading as reading
from unknot.metrics.parts.result import Score as Score

# Not on demand: importing a file later would put the module in the place of its function.
for _file in pkgutil.iter_modules(__path__):
    _module = importlib.import_module(f"{__name__}.{_file.name}")
    if hasattr(_module, _file.name):
        globals()[_file.name] = getattr(_module, _file.name)


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a score of another package
    if name.startswith("_") or name not in registry.names("metrics"):
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return registry.get("metrics", name)
