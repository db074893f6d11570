"""unknot: train, evaluate and compare disentangled representations.

Names are imported on first use, so that ``import unknot`` is fast.
"""

import importlib
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from unknot.api.dataset import Dataset as Dataset
    from unknot.api.dataset import dataset as dataset
    from unknot.api.loading import load as load
    from unknot.api.loading import resume as resume
    from unknot.api.model import Model as Model
    from unknot.api.planning import study as study
    from unknot.api.run import Run as Run
    from unknot.api.study import Study as Study
    from unknot.api.training import train as train
    from unknot.core.dataset import FactorDataset as FactorDataset
    from unknot.core.errors import UnknotError as UnknotError
    from unknot.core.factors import FactorSpace as FactorSpace
    from unknot.core.hyper import Hyper as Hyper
    from unknot.core.objective import Adversarial as Adversarial
    from unknot.core.objective import Batchwise as Batchwise
    from unknot.core.objective import Calibrated as Calibrated
    from unknot.core.objective import Carry as Carry
    from unknot.core.objective import Differencing as Differencing
    from unknot.core.objective import ExtraState as ExtraState
    from unknot.core.objective import Labelled as Labelled
    from unknot.core.objective import MultiView as MultiView
    from unknot.core.objective import Net as Net
    from unknot.core.objective import Note as Note
    from unknot.core.objective import Objective as Objective
    from unknot.core.objective import Recoding as Recoding
    from unknot.core.objective import Stateful as Stateful
    from unknot.core.objective import Step as Step
    from unknot.core.objective import Term as Term
    from unknot.core.objective import total as total
    from unknot.core.optim import SGD as SGD
    from unknot.core.optim import Adagrad as Adagrad
    from unknot.core.optim import Adam as Adam
    from unknot.core.optim import AdamW as AdamW
    from unknot.core.optim import RMSprop as RMSprop
    from unknot.core.posterior import Posterior as Posterior
    from unknot.core.representation import Representation as Representation
    from unknot.runs.baselines import baselines as baselines
    from unknot.runs.features import features as features
    from unknot.runs.own_encoder import evaluate as evaluate

_HOMES = {
    "train": "unknot.api.training",
    "dataset": "unknot.api.dataset",
    "Dataset": "unknot.api.dataset",
    "evaluate": "unknot.runs.own_encoder",
    "baselines": "unknot.runs.baselines",
    "features": "unknot.runs.features",
    "Model": "unknot.api.model",
    "Run": "unknot.api.run",
    "load": "unknot.api.loading",
    "resume": "unknot.api.loading",
    "Study": "unknot.api.study",
    "study": "unknot.api.planning",
    "FactorSpace": "unknot.core.factors",
    "FactorDataset": "unknot.core.dataset",
    "Hyper": "unknot.core.hyper",
    "Adam": "unknot.core.optim",
    "AdamW": "unknot.core.optim",
    "Adagrad": "unknot.core.optim",
    "RMSprop": "unknot.core.optim",
    "SGD": "unknot.core.optim",
    "Adversarial": "unknot.core.objective",
    "Batchwise": "unknot.core.objective",
    "Calibrated": "unknot.core.objective",
    "Carry": "unknot.core.objective",
    "Differencing": "unknot.core.objective",
    "ExtraState": "unknot.core.objective",
    "Labelled": "unknot.core.objective",
    "MultiView": "unknot.core.objective",
    "Note": "unknot.core.objective",
    "Recoding": "unknot.core.objective",
    "Stateful": "unknot.core.objective",
    "Net": "unknot.core.objective",
    "Objective": "unknot.core.objective",
    "Posterior": "unknot.core.posterior",
    "Representation": "unknot.core.representation",
    "Step": "unknot.core.objective",
    "Term": "unknot.core.objective",
    "total": "unknot.core.objective",
    "UnknotError": "unknot.core.errors",
}
_MODULES = (
    *("analysis", "data", "losses", "metrics", "nets", "objectives", "samplers", "schedules"),
)
_GUESTS = ("lightning", "sklearn")
"""Modules that work inside of other packages, which may not be there."""
__all__ = [*_HOMES, *_MODULES, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _GUESTS:
        return importlib.import_module(f"unknot.api.{name}")
    if name in _MODULES:
        return importlib.import_module(f"unknot.{name}")
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'unknot' has no attribute '{name}'")


def __dir__() -> list[str]:
    there = [name for name in _GUESTS if find_spec(name)]  # of the packages that they serve
    return sorted([*__all__, *there])
