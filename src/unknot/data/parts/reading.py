"""What the images of a user are to become, and what was read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from unknot.core.errors import ConfigError, DataError
from unknot.core.factor_table import Space
from unknot.data.parts.decoding import Crop, Header, Target

Size: TypeAlias = int | tuple[int, ...] | None
SIDE = 64
LARGEST = 128
MOST_SIDE = 4_096
"""Side of square images that keep their size unless another is asked for."""


@dataclass(frozen=True)
class Options:
    """What the images are to be; what is None is decided by the images."""

    size: Size = None
    crop: Crop = "centre"
    channels: int | None = None
    limit: int | None = None
    skip_broken: bool = False

    def __post_init__(self) -> None:
        sides = (self.size,) if isinstance(self.size, int) else self.size
        fine = sides is None or (len(sides) in (1, 2) and all(1 <= s <= MOST_SIDE for s in sides))
        if not fine:
            raise ConfigError(
                f"data.size is a side from 1 to {MOST_SIDE:,}, such as 64, or [height, width]; "
                f"got {self.size}."
            )
        if self.limit is not None and self.limit < 1:
            raise ConfigError(f"data.limit must be 1 or more; got {self.limit}.")
        if self.channels is not None and self.channels < 1:
            raise ConfigError(f"data.channels must be 1 or 3; got {self.channels}.")

    @property
    def sides(self) -> tuple[int, int] | None:
        """Height and width asked for."""
        if self.size is None:
            return None
        sides = (self.size,) if isinstance(self.size, int) else self.size
        return sides[0], sides[-1]


@dataclass(frozen=True)
class Reading:
    """Images as they were read, one row each."""

    pixels: np.ndarray
    """``[n, c, h, w]`` of uint8, or of the type that the files have."""
    content: str
    """A hash of what the files hold, wherever they lie."""
    note: str
    """What was decided, for people."""
    names: tuple[str, ...] = ()
    """Of the files, relative to their folder, for labels that go by name."""
    space: Space | None = None
    """The factors, where they came with the images; rows are in its order."""


def plan(headers: Mapping[Header, int], options: Options, source: str) -> Target:
    """What all images become: in size as asked; else square ones of one size up to 128 stay."""
    sizes = {(header.height, header.width) for header in headers}
    depths = {header.depth for header in headers}
    if "uint8" in depths and len(depths) > 1:
        raise DataError(
            f"'{source}' has pictures of 8 bits and of more, whose values do not compare; "
            "put them into folders of their own."
        )
    depth = depths.pop() if len(depths) == 1 else "float32"
    first = next(iter(sizes))
    if options.crop == "none":
        if len(sizes) > 1:
            some = " and ".join(f"{h} x {w}" for h, w in sorted(sizes)[:2])
            raise DataError(
                f"'{source}' has images of {len(sizes)} sizes, such as {some}; with crop=none all "
                "must have one. Use crop=centre, squeeze or pad."
            )
        if options.sides not in (None, first):
            raise DataError(
                f"Images in '{source}' are {first[0]} x {first[1]}, and crop=none keeps that; "
                "leave size, or use crop=centre, squeeze or pad."
            )
    stay = options.crop == "none" or (
        len(sizes) == 1 and first[0] == first[1] and first[0] <= LARGEST
    )
    height, width = options.sides or (first if stay else (SIDE, SIDE))
    return Target(height, width, _channels(headers, options, source), options.crop, depth)


def _channels(headers: Mapping[Header, int], options: Options, source: str) -> int:
    counts = {header.channels for header in headers}
    if counts <= {1, 3} and all(header.depth == "uint8" for header in headers):
        if options.channels not in (None, 1, 3):
            raise ConfigError(f"data.channels must be 1 or 3; got {options.channels}.")
        return options.channels or max(counts)
    if len(counts) > 1:
        raise DataError(f"Pictures in '{source}' have {sorted(counts)} channels; all need as many.")
    count = counts.pop()
    if options.channels not in (None, count):
        raise DataError(
            f"Images in '{source}' have {count} channels of their own kind; leave data.channels."
        )
    return count


def describe(headers: Mapping[Header, int], target: Target, broken: int = 0) -> str:
    """What was decided, for people."""
    sizes = {(header.height, header.width) for header in headers}
    parts = []
    if sizes != {(target.height, target.width)}:
        first = "{} x {}".format(*next(iter(sizes)))
        words = {"centre": "centre crop", "squeeze": "squeezed", "pad": "padded with black"}
        parts.append(f"from {first}" if len(sizes) == 1 else f"from {len(sizes)} different sizes")
        if any(h * target.width != w * target.height for h, w in sizes):
            parts.append(words[target.crop])
    if any(header.clear for header in headers):
        parts.append("transparent parts on white")
    if cut := sum(count for header, count in headers.items() if header.cut):
        parts.append(f"{cut} of 16-bit colour read as 8 bits")
    if broken:
        parts.append(f"{broken:,} broken {'file' if broken == 1 else 'files'} left out")
    return ", ".join(parts)
