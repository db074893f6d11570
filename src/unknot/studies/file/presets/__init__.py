"""Presets: published studies as study files, by name.

A preset is data: a TOML file of this folder in the form of any study file. It opens with a comment
that names the document, what is compared, and what differs.
"""

from pathlib import Path

from unknot.core.errors import ConfigError
from unknot.core.registry import nearest

FOLDER = Path(__file__).parent
ELSEWHERE = {
    "michlo2022_e8": "it learns kernels and trains no model; unknot learn-loss does that, "
    "and docs/losses.md shows how."
}
"""Experiments of the documents that are no grid of runs, and where to turn instead."""


def names() -> list[str]:
    """All presets, numbers in their order.

    Example:
        >>> [name for name in names() if "e9" in name or "e10" in name]
        ['michlo2022_e9', 'michlo2022_e10']
    """
    stems = sorted(path.stem for path in FOLDER.glob("*.toml"))
    return sorted(stems, key=lambda stem: (stem.partition("_")[0], len(stem)))


def file(name: str) -> Path:
    """The study file of a preset.

    Example:
        >>> file("quickstart").name
        'quickstart.toml'
    """
    if name in ELSEWHERE:
        raise ConfigError(f"{name} is not a study: {ELSEWHERE[name]}")
    if name not in (choices := names()):
        raise ConfigError(f"There is no study file and no preset '{name}'{nearest(name, choices)}")
    return FOLDER / f"{name}.toml"


def summary(name: str) -> str:
    """What a preset is, in the first line of its comment.

    Example:
        >>> summary("mushom2020")
        'Mushom 2020 (MSc thesis): five objectives on dSprites, 17 configurations, 10 seeds.'
    """
    with file(name).open(encoding="utf-8") as lines:
        return next(lines).lstrip("# ").rstrip()
