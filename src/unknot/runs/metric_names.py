"""Names of the metrics of a trained model."""

from collections.abc import Sequence
from typing import Any

from unknot.core import registry
from unknot.core.border import check_type
from unknot.core.errors import ConfigError
from unknot.core.text import shown
from unknot.metrics import facts
from unknot.metrics.parts.facts import Facts, check_protocol, protocols_for

RECON = "recon"
"""The error of reconstructions, a record like that of a metric."""


def decodes(metric: str) -> bool:
    """Whether a metric needs the decoder, and so is computed where the model is."""
    return metric == RECON or "decoder" in facts(metric).needs


def model_metrics(part: str | None = None) -> list[str]:
    """Names of the metrics of one trained model; of a part of its data also `RECON`."""
    names = [name for name in registry.names("metrics") if "models" not in facts(name).needs]
    return names if part is None else [RECON, *names]


def metric_names(names: Sequence[str]) -> list[str]:
    """Checked names of metrics, each once.

    Example:
        >>> metric_names(["mig", "sap", "mig"])
        ['mig', 'sap']
    """
    metrics = [RECON, *model_metrics()]
    for name in names:
        if "@" in str(name):
            word = shown(str(name).partition("@")[2])
            raise ConfigError(
                f"'{shown(name)}' names a protocol; here it is an argument of its own: "
                f"protocol='{word}'."
            )
        if name not in metrics:
            raise ConfigError(f"There is no metric '{name}'{registry.nearest(str(name), metrics)}")
    return [*dict.fromkeys(names)]


def is_metric(name: str) -> bool:
    """Whether a name is that of a metric or of one of its values, perhaps with a protocol.

    Example:
        >>> is_metric("mig"), is_metric("dci.disentanglement@study2019"), is_metric("recon")
        (True, True, False)
    """
    return name.partition("@")[0].partition(".")[0] in registry.names("metrics")


def metric_text(metric: Any) -> str:
    """The name of a metric that is given by name, or as the function of `unknot.metrics`.

    Example:
        >>> from unknot import metrics
        >>> metric_text("dci@study2019"), metric_text(metrics.mig)
        ('dci@study2019', 'mig')
    """
    its = getattr(metric, "facts", None)
    metric = its.name if isinstance(its, Facts) else metric
    check_type("metrics", metric, str)
    return str(metric)


def split_part(name: str) -> tuple[str, str | None]:
    """A metric of a study without the part of the data that it is of, and that part.

    Example:
        >>> split_part("readout@test"), split_part("dci@study2019@test"), split_part("mig@unknot")
        (('readout', 'test'), ('dci@study2019', 'test'), ('mig@unknot', None))
    """
    from unknot.samplers.parts.split import PARTS  # which needs PyTorch: pages of tables do not

    metric, mark, part = name.rpartition("@")
    return (metric, part) if mark and part in PARTS else (name, None)


def by_place(metrics: Sequence[str], protocol: str) -> dict[tuple[str, str | None], list[str]]:
    """Names of metrics by protocol and part of the data, which a name may have behind it.

    Example:
        >>> by_place(["mig", "recon@test", "dci@study2019@test"], "unknot")
        {('unknot', None): ['mig'], ('unknot', 'test'): ['recon'], ('study2019', 'test'): ['dci']}
    """
    parts: dict[str | None, list[str]] = {}
    for name in metrics:
        metric, part = split_part(name)
        parts.setdefault(part, []).append(metric)
    return {
        (wish, part): names
        for part, some in parts.items()
        for wish, names in by_protocol(some, protocol).items()
    }


def by_protocol(metrics: Sequence[str], protocol: str) -> dict[str, list[str]]:
    """Names of metrics by protocol, which a name may have behind it.

    Example:
        >>> by_protocol(["mig", "dci@study2019", "sap"], "unknot")
        {'unknot': ['mig', 'sap'], 'study2019': ['dci']}
    """
    check_protocol(protocol)
    names: dict[str, list[str]] = {}
    for metric in metrics:
        name, mark, wish = metric.partition("@")
        known = protocols_for(name) if mark and name in registry.names("metrics") else {}
        if known and wish not in known:
            check_protocol(wish)
            raise ConfigError(
                f"{name} has no protocol '{shown(wish)}'{registry.nearest(wish, [*known])}"
            )
        names.setdefault(wish if mark else protocol, []).append(name)
    return names
