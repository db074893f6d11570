"""The axis of lines over a setting: where their points stand, and what its ticks say."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator

from unknot.analysis.lines import Line
from unknot.core.text import number, setting_label, setting_text
from unknot.report.study_style import maybe_log
from unknot.report.style import number_ticks

LETTER = 0.075
"""Inches of a letter below an axis, and a little more."""
DECADES = 20.0
"""Times the smallest value from which on powers of ten are ticks enough."""


def axis_words(found: Sequence[Line]) -> str:
    """What lines go over: strength for numbers of objectives, and others by their names.

    Example:
        >>> axis_words([Line("vae", "", "data.spacing", {}, (), ())])
        'spacing'
    """
    own = [
        "strength" if line.axis.partition(".")[0] in ("objective", "strength", "")
        else last_word(line.axis) for line in found
    ]  # fmt: skip
    return " or ".join(dict.fromkeys(own))


def has_numbers(found: Sequence[Line]) -> bool:
    """Whether the axis says what the values of all lines are."""
    return _shared(found) or _on_numbers(found)


def places(line: Line, found: Sequence[Line]) -> list[float]:
    """Where a line's points stand.

    At their values where lines have different ones of the same setting; else one beside the other,
    since values of different settings are numbers of different things.
    """
    if _on_numbers(found):
        return [float(value) for value in line.values]
    return [float(i + 1) for i in range(len(line.values))]


def label_axis(axes: Axes, found: Sequence[Line], room: float) -> None:
    """Ticks that do not overlap, and the name of the setting.

    Args:
        axes: Those of a panel.
        found: All its lines.
        room: Inches that ticks have.
    """
    if _on_numbers(found):
        _number_axis(axes, np.array([value for line in found for value in line.values]))
    else:
        _place_axis(axes, found, room)
    one = len({line.axis for line in found}) == 1 and found[0].axis and has_numbers(found)
    said = last_word(found[0].axis) if one else f"{axis_words(found)}, smallest first"
    axes.set_xlabel(said)


def thinned(texts: Sequence[str], room: float) -> list[str]:
    """Empty texts for those that have no room beside the others, so that none overlap.

    Args:
        texts: At places of equal distance.
        room: Inches for all.

    Example:
        >>> thinned(["0.25", "0.5", "0.75", "1"], 1.2)
        ['0.25', '', '0.75', '']
    """
    fit = max(1, int(room / (LETTER * (max(map(len, texts)) + 1))))
    step = -(-len(texts) // fit)
    return [said if i % step == 0 else "" for i, said in enumerate(texts)]


def told_apart(values: Sequence[Any]) -> list[str]:
    """Values for people: three digits, or as many more as tell them apart.

    Example:
        >>> told_apart([0.0517734, 12.0, 115200, "none"]), told_apart([1.0001, 1.0002])
        (['0.0518', '12', '115,200', 'none'], ['1.0001', '1.0002'])
    """
    texts: list[str] = []
    for digits in range(3, 7):
        texts = [_text(value, digits) for value in values]
        if len(set(texts)) == len(set(values)):
            break
    return texts


def last_word(name: str) -> str:
    """A setting's name without all that it is in."""
    return setting_label(name).rpartition(".")[2]


def _shared(found: Sequence[Line]) -> bool:
    """Whether all lines have the same values of the same setting."""
    return len({(line.axis, line.values) for line in found}) == 1


def _on_numbers(found: Sequence[Line]) -> bool:
    """Whether lines have other values of the same setting: then they stand where these are."""
    one = len({line.axis for line in found}) == 1 and all(line.ordered for line in found)
    return one and not _shared(found)


def _place_axis(axes: Axes, found: Sequence[Line], room: float) -> None:
    longest = max(len(line.values) for line in found)
    ticks = list(range(1, longest + 1))
    texts = told_apart(found[0].values) if _shared(found) else [str(t) for t in ticks]
    axes.set_xticks(ticks, thinned(texts, room))
    axes.set_xlim(0.6, longest + 0.4)


def _number_axis(axes: Axes, values: Float[np.ndarray, " n"]) -> None:
    number_ticks(axes.xaxis, 4)
    maybe_log(axes, "x", values)
    if axes.get_xscale() == "log" and values.max() > DECADES * values.min():
        axes.xaxis.set_major_locator(LogLocator(numticks=5))


def _text(value: Any, digits: int) -> str:
    """A number with so many digits, or another setting."""
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return number(value, digits) if plain else setting_text(value)
