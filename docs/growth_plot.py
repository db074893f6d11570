"""The table and the plot of how costs grow, from ``docs/benchmarks/growth.json``.

```
PYTHONPATH=src python bench/growth.py --json docs/benchmarks/growth.json
PYTHONPATH=src python docs/growth_plot.py
```
"""

import importlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter
from places import filled

from unknot.report import style

DOCS = Path(__file__).parent
PAGE, STORED = DOCS / "benchmarks.md", DOCS / "benchmarks" / "growth.json"
PICTURE = DOCS / "pictures" / "growth.png"
LINEAR = 1.1
"""An exponent up to this is that of a cost proportional to its size, as measured."""
NARROW = 100
"""Sizes whose ends differ by less are ticks themselves."""
NAMED = 4
"""Lines of a panel that are named: those that grow fastest."""

Row = dict[str, Any]
Line = tuple[str, list[tuple[float, float]], float | None]
"""What was done, sizes with their costs, and the exponent."""


def stored() -> dict[str, Any]:
    """What was measured last."""
    found: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
    return found


def exponent_of() -> Callable[[Sequence[tuple[float, float]]], float | None]:
    """The function of the benchmark that measured."""
    sys.path.append(str(DOCS.parent / "bench"))
    found: Callable[..., float | None] = importlib.import_module("growth").exponent
    return found


def families(found: dict[str, Any]) -> dict[tuple[str, str], list[Line]]:
    """Lines of each kind of size on each device, those that grow fastest first."""
    exponent = exponent_of()
    names = list(found["labels"])
    rows: list[Row] = sorted(found["rows"], key=lambda row: names.index(row["family"]))
    groups: dict[tuple[str, str], dict[str, list[tuple[float, float]]]] = {}
    for row in rows:
        lines = groups.setdefault((row["family"], row["device"]), {})
        lines.setdefault(row["what"], []).append((row["size"], row["seconds"]))
    return {
        key: sorted(
            ((what, sorted(points), exponent(points)) for what, points in lines.items()),
            key=lambda line: -(line[2] or 0),
        )
        for key, lines in groups.items()
    }


def table(found: dict[str, Any]) -> Iterator[str]:
    """A row for each kind of size, with all exponents."""
    yield "| size | from | to | exponents |"
    yield "|---|---|---|---|"
    for (family, device), lines in families(found).items():
        sizes = [size for _, points, _ in lines for size, _ in points]
        cells = []
        for what, _, exponent in lines:
            if exponent is not None:
                cell = f"{what} {_digits(exponent)}"
                cells.append(f"**{cell}**" if exponent > LINEAR else cell)
        place = "" if _is_cpu(device) else f" ({device})"
        label = f"{found['labels'][family]}{place}"
        yield f"| {label} | {min(sizes):,} | {max(sizes):,} | {', '.join(cells)} |"
    days = sorted({row["date"] for row in found["rows"]})
    yield f"\nMeasured {' and '.join(days)}, torch {found['facts']['torch']}."


def _digits(exponent: float) -> str:
    return f"{exponent:.2f}".replace("-", "−")


def _is_cpu(device: str) -> bool:
    return device in ("x86_64", "aarch64", "arm64", "AMD64")


@style.styled
def draw(found: dict[str, Any]) -> Figure:
    """A panel for each kind of size; the dotted line grows as its size does."""
    panels = families(found)
    rows = -(-len(panels) // 2)
    figure = style.new_figure((12.0, 2.6 * rows), "Cost against size")
    for number, ((family, device), lines) in enumerate(panels.items(), 1):
        axes = figure.add_subplot(rows, 2, number)
        place = "CPU s" if _is_cpu(device) else f"s, {device}"
        _panel(axes, found["labels"][family], place, lines)
    return figure


def _panel(axes: Axes, label: str, unit: str, lines: Sequence[Line]) -> None:
    style.set_panel(axes, label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    for what, points, _ in lines[NAMED:][::-1]:
        axes.plot(*zip(*points, strict=True), color=style.RULE, linewidth=0.8, label="_" + what)
    for what, points, exponent in lines[:NAMED]:
        text = what if exponent is None else f"{what}, {_digits(exponent)}"
        axes.plot(*zip(*points, strict=True), marker=".", linewidth=1.2, label=text)
    sizes = [size for _, points, _ in lines for size, _ in points]
    ends = (min(sizes), max(sizes))
    top = max(cost for _, points, _ in lines for _, cost in points)
    proportional = (top * ends[0] / ends[1], top)
    axes.plot(
        ends, proportional, color=style.MUTED, linestyle=":", linewidth=1, label="in proportion"
    )
    axes.set_ylabel(unit)
    if ends[1] / ends[0] < NARROW:  # powers of ten would be one or two
        axes.set_xticks([*dict.fromkeys(sorted(sizes))], minor=False)
        axes.xaxis.set_major_formatter("{x:,.0f}")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_formatter(NullFormatter())
    axes.legend(fontsize=style.SMALL, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def made(page: str) -> str:
    """The page with its table."""
    return filled(page, {"growth": "\n".join(table(stored()))})


def main() -> None:
    """Fill in the page, and draw."""
    PAGE.write_text(made(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    PICTURE.write_bytes(style.png(draw(stored())))


if __name__ == "__main__":
    main()
