"""Draws: which rows of a dataset come next, one by one or as pairs and triplets that go together.

A draw is a frozen dataclass of settings. Its method ``on`` holds it against a dataset once, and
returns a pure function of seed, step and batch that never waits for the host.
"""

from importlib.metadata import entry_points
from typing import Any

from unknot.core.errors import ConfigError
from unknot.core.objective import Drawing, Objective
from unknot.core.registry import nearest
from unknot.samplers.pairs import Pairs
from unknot.samplers.parts.weights import Correlated, Within, Without
from unknot.samplers.singles import Rows, Sampler, Singles, singles
from unknot.samplers.triplets import Triplets

__all__ = [
    "Correlated",
    "Pairs",
    "Rows",
    "Sampler",
    "Singles",
    "Triplets",
    "Within",
    "Without",
    "draw_for",
    "named",
    "singles",
]

DRAWS: dict[str, Any] = {"singles": Singles, "pairs": Pairs, "triplets": Triplets}


def named(name: str) -> Any:  # noqa: ANN401 - a class
    """The class of a draw by name: ours, or an entry point of the group ``unknot.draws``.

    Raises:
        ConfigError: No such name; the message gives the nearest one.

    Example:
        >>> named("pairs").__name__
        'Pairs'
    """
    if name in DRAWS:
        return DRAWS[name]
    outsiders = {entry.name: entry for entry in entry_points(group="unknot.draws")}
    if name not in outsiders:
        raise ConfigError(f"There is no draw '{name}'{nearest(name, [*DRAWS, *outsiders])}")
    try:
        return outsiders[name].load()
    except Exception as error:  # whatever an outside package does when it is imported
        raise ConfigError(f"The draw '{name}' cannot be imported: {error!r}.") from error


def draw_for(objective: Objective, draw: Sampler | None = None) -> Sampler:
    """The draw given, else the one that the objective names, else single rows.

    Raises:
        ConfigError: It gives another number of views than the objective takes.
    """
    if draw is None:
        draw = named(objective.draw)() if isinstance(objective, Drawing) else Singles()
    if draw.views not in (1, objective.views):
        kind = type(objective).__name__
        raise ConfigError(
            f"The draw {type(draw).__name__} gives {draw.views} views and {kind} takes "
            f"{objective.views}; name another draw or another objective."
        )
    return draw
