"""What the decorator makes of a function that measures rows."""

import copy
import inspect
import pickle
import pydoc
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from metrics.representations import get
from unknot import metrics
from unknot.core import registry
from unknot.core.errors import ConfigError
from unknot.metrics import Measured, Rows, RowSettings, metric

NAMES = registry.names("metrics")


@dataclass(frozen=True)
class Settings(RowSettings):
    samples: int | None = 30
    scale: float = 1.0
    version: int = 1


@dataclass(frozen=True)
class Wide(Settings):
    needs: ClassVar = ("posteriors",)


@metric({"unknot": Settings(), "paper": Wide()}, better="lower", ceiling=True)
def largest(rows: Rows, settings: Settings) -> Measured:
    """The largest code."""
    whole = rows.codes if rows.logvar is None else rows.logvar
    return Measured({"": settings.scale * whole.max(), "seed": float(rows.seed)}, {}, ("a remark",))


@metric({"unknot": Settings()}, options=("test",))
def learnt(rows: Rows, settings: Settings) -> Measured:
    """How many rows there are to learn from."""
    return Measured({"": float(len(rows)), "test": float(len(rows.test_rows))}, {})


def test_rows_settings_remarks_and_ceiling_are_added():
    codes, values = get("perfect")
    score = largest(codes, values, seed=5, interval=0.9)
    assert score.protocol["rows"] == 30
    assert score["largest.seed"] == score.protocol["seed"] == 5
    assert score.remarks == ("a remark",)
    assert score.ceiling is not None
    assert score.interval is not None
    twice = largest(codes, values, seed=5, protocol=Settings(scale=2.0))
    assert float(twice) == 2 * float(score)
    assert twice.protocol["name"] == "custom"


def test_what_only_some_settings_need():
    codes, values = get("perfect")
    logvar = np.full(codes.shape, -3.0)
    score = largest(codes, values, logvar=logvar, protocol="paper")
    assert float(score) == -3
    assert score.ceiling is None
    with pytest.raises(ConfigError, match="largest under the protocol of its paper reads whole"):
        largest(codes, values, protocol="paper")


def test_the_signature_shows_what_the_metric_takes():
    assert list(inspect.signature(largest).parameters) == [
        "codes", "factors", "logvar", "protocol", "seed", "interval",
    ]  # fmt: skip
    shown = inspect.signature(learnt).parameters
    assert list(shown) == ["codes", "factors", "protocol", "seed", "test"]
    assert "logvar" in inspect.signature(metrics.mig).parameters
    assert "logvar" not in inspect.signature(metrics.mig_sup).parameters
    assert list(inspect.signature(metrics.elbo).parameters)[:2] == ["net", "x"]
    assert next(iter(inspect.signature(metrics.udr).parameters)) == "models"


def test_options_of_other_metrics_are_refused():
    codes, values = get("perfect")
    with pytest.raises(ConfigError, match="learnt under 'unknot' takes no `interval`"):
        learnt(codes, values, interval=0.9)
    with pytest.raises(ConfigError, match="takes no `kinds`"):
        metrics.mig(codes, values, kinds=("ordered",) * 4)
    with pytest.raises(ConfigError, match="takes no `test`"):
        metrics.mig(codes, values, test=(codes, values))
    with pytest.raises(ConfigError, match="takes no `logvar`"):
        metrics.mig_sup(codes, values, logvar=codes)


def test_a_metric_that_learns_is_tested_on_other_rows():
    codes, values = get("perfect")
    score = learnt(codes[:40], values[:40], test=(codes[40:60], values[40:60]))
    assert score.values == {"learnt": 30, "learnt.test": 20}


@pytest.mark.parametrize("name", NAMES)
def test_help_shows_the_call_and_the_text(name):
    function = getattr(metrics, name)
    text = pydoc.plain(pydoc.render_doc(function))
    assert f"{name}(" in text
    assert "Paper: " in text
    assert function.__name__ == name
    assert pickle.loads(pickle.dumps(function)) is function
    assert copy.deepcopy(function) is function


def test_settings_say_how_rows_are_taken_or_are_refused():
    """A plain dataclass with `samples` would be ignored without a word."""

    @dataclass(frozen=True)
    class Plain:
        samples: int = 3

    with pytest.raises(ConfigError, match=r"derived from unknot\.metrics\.RowSettings; got Plain"):
        metric({"unknot": Plain()})(lambda rows, _: Measured({"": rows.codes.max()}, {}))
