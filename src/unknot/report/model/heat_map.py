"""What heat maps of latents by factors share: the names along their sides."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from unknot.report.style import INK, MUTED, show_frame

LONGEST = 18
"""Characters of a factor's name above a column."""
LEVEL = 9
"""Letters of a factor's name up to which it stands level above its column."""


def are_slanted(factors: Sequence[str]) -> bool:
    """Whether names of factors are too long to stand level side by side."""
    return max(map(len, factors), default=0) > LEVEL


def name_sides(
    axes: Axes, factors: Sequence[str], latents: Sequence[str], used: Sequence[bool]
) -> None:
    """Factors above the columns and latents beside the rows, those in no use in grey.

    Args:
        axes: With the heat map.
        factors: Names of the columns.
        latents: Names of the rows.
        used: Which of the latents are in use.
    """
    slant: dict[str, Any] = (
        {"rotation": 35, "ha": "left", "rotation_mode": "anchor"} if are_slanted(factors) else {}
    )
    axes.set_xticks(range(len(factors)), factors, **slant)
    axes.set_yticks(range(len(latents)), latents)
    axes.tick_params(length=0, labelcolor=INK, labeltop=True, labelbottom=False)
    for label, is_used in zip(axes.get_yticklabels(), used, strict=True):
        label.set_color(INK if is_used else MUTED)
    show_frame(axes)
