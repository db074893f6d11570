"""Optimisers: how a gradient moves the weights, as settings.

The formulas are PyTorch's, in `engine/updates.py`. Each has ``clip_value`` and ``clip_norm``: every
entry of the gradient is first held between ``-clip_value`` and ``clip_value``, then the gradient as
a whole is shortened to ``clip_norm``, for each member by itself. A critic has an optimiser of its
own, which its objective names.
"""

from dataclasses import dataclass, fields
from typing import Any, TypeAlias

from unknot.core.errors import ConfigError
from unknot.core.hyper import Hyper, at_least
from unknot.core.typed import check_fields

SCHEDULED = ("lr", "weight_decay")
"""Fields that may be schedules."""


@dataclass(frozen=True, kw_only=True)
class _Clipped:
    """What every optimiser has."""

    clip_norm: float | None = None
    clip_value: float | None = None


@dataclass(frozen=True, kw_only=True)
class _Moments(_Clipped):
    """How Adam and AdamW average gradients."""

    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8


@dataclass(frozen=True)
class Adam(_Moments):
    """Settings of the Adam optimiser (Kingma and Ba 2015); ``lr`` may differ between members.

    Example: `unknot.train("xysquares", optimizer=unknot.Adam(3e-4, beta1=0.5))`
    """

    lr: Hyper = 1e-4

    def __post_init__(self) -> None:
        _check(self, shares=("beta1", "beta2"), above_zero=("eps",))


@dataclass(frozen=True)
class AdamW(_Moments):
    """Adam whose weights also shrink by ``lr * weight_decay`` each step (Loshchilov, Hutter 2019).

    Biases and other vectors do not shrink, nor do tensors that an objective adds to the net.

    Example: `unknot.train("xysquares", optimizer=unknot.AdamW(3e-4, weight_decay=0.01))`
    """

    lr: Hyper = 1e-4
    weight_decay: Hyper = 0.01

    def __post_init__(self) -> None:
        _check(self, shares=("beta1", "beta2"), above_zero=("eps",))
        at_least(self, 0, "weight_decay")


@dataclass(frozen=True)
class RMSprop(_Clipped):
    """Gradients over the root of their mean square, of which ``alpha`` stays (Tieleman 2012).

    ``centered`` takes the square of the mean gradient off that mean first.

    Example: `unknot.train("xysquares", optimizer=unknot.RMSprop(1e-3))`
    """

    lr: Hyper = 1e-4
    alpha: float = 0.99
    momentum: float = 0.0
    centered: bool = False
    eps: float = 1e-8

    def __post_init__(self) -> None:
        _check(self, shares=("alpha", "momentum"), above_zero=("eps",))


@dataclass(frozen=True)
class Adagrad(_Clipped):
    """Gradients over the root of the sum of all squares so far (Duchi et al. 2011).

    Example: `unknot.train("xysquares", optimizer=unknot.Adagrad(1e-2))`
    """

    lr: Hyper = 1e-2
    eps: float = 1e-10

    def __post_init__(self) -> None:
        _check(self, above_zero=("eps",))


@dataclass(frozen=True)
class SGD(_Clipped):
    """Gradient descent; with ``momentum``, and with Nesterov's where ``nesterov`` is set.

    Example: `unknot.train("xysquares", optimizer=unknot.SGD(1e-3, momentum=0.9))`
    """

    lr: Hyper = 1e-3
    momentum: float = 0.0
    nesterov: bool = False

    def __post_init__(self) -> None:
        _check(self, shares=("momentum",))
        if self.nesterov and not self.momentum:
            raise ConfigError("optim.nesterov goes with a momentum above 0; set optim.momentum.")


Optimizer: TypeAlias = Adam | AdamW | RMSprop | Adagrad | SGD
OPTIMIZERS: dict[str, type[Optimizer]] = {
    "adam": Adam,
    "adamw": AdamW,
    "rmsprop": RMSprop,
    "adagrad": Adagrad,
    "sgd": SGD,
}
"""By the name that files and ``--set optim.name`` have; Adam is the one without a name."""


def optimizer_name(optim: Optimizer) -> str:
    """What files call an optimiser.

    Example:
        >>> optimizer_name(AdamW())
        'adamw'
    """
    return next(name for name, kind in OPTIMIZERS.items() if type(optim) is kind)


def _check(optim: Any, *, shares: tuple[str, ...] = (), above_zero: tuple[str, ...] = ()) -> None:
    """The learning rate, shares in [0, 1), numbers above 0, and the limits of the gradient."""
    check_fields(optim, *(f.name for f in fields(optim) if f.name not in SCHEDULED))
    if isinstance(optim.lr, int | float) and not optim.lr > 0:
        raise ConfigError(f"optim.lr must be above 0; got {optim.lr}.")
    at_least(optim, 0, "lr")
    for name in shares:
        if not 0 <= getattr(optim, name) < 1:
            raise ConfigError(f"optim.{name} must lie in [0, 1); got {getattr(optim, name)}.")
    for name in (*above_zero, "clip_norm", "clip_value"):
        if (value := getattr(optim, name)) is not None and not value > 0:
            raise ConfigError(f"optim.{name} must be above 0; got {value}.")
