"""Families of objectives: what they act on, and what they are told about their images."""

from textwrap import wrap as wrap_lines

from unknot.core import registry
from unknot.objectives.parts.families import FAMILIES, families, supervision
from unknot.report.study.style import DataFigure, legend
from unknot.report.style import MUTED, RULE, SMALL, new_figure, styled, wrap

LINE = 0.165
"""Inches from one line of letters to the next."""
FAMILY = 2.6
"""Inches of the column of families."""
CELL = 2.05
"""Inches of a column of objectives."""
LETTERS = 44
"""Of what a family acts on that go into a line."""
COLUMNS = {
    "none": "no supervision",
    "pairs": "pairs of images",
    "transitions": "pairs by small steps",
    "triplets": "triplets of images",
    "labels": "factors of images",
}


@styled
def draw() -> DataFigure:
    """All objectives that are installed, by family (rows) and supervision (columns).

    Paper: Moğultay Özcan 2024, figure 2.2, a taxonomy; Mushom 2020, table 4.1, for q(z|x) and q(z).
    """
    rows = _rows()
    order = [*COLUMNS, *sorted({row["supervision"] for row in rows} - {*COLUMNS})]
    levels = [level for level in order if any(row["supervision"] == level for row in rows)]
    shown = list(dict.fromkeys(row["family"] for row in rows))
    cells = {
        (family, level): [
            f"{row['objective']} {row['year']}".strip()
            for row in rows
            if (row["family"], row["supervision"]) == (family, level)
        ]
        for family in shown
        for level in levels
    }
    acts_on = {family: wrap_lines(FAMILIES[family], LETTERS) for family in shown}
    heights = {
        family: 1 + max(1 + len(acts_on[family]), *(len(cells[family, level]) for level in levels))
        for family in shown
    }
    width, lines = FAMILY + CELL * len(levels), 1.5 + sum(heights.values())
    figure = new_figure((width, LINE * lines + 1.0), "Families of objectives")
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.set_xlim(0, width)
    axes.set_ylim(lines, 0)
    lefts = {level: FAMILY + CELL * i for i, level in enumerate(levels)}
    for level, left in lefts.items():
        axes.text(left, 0.2, COLUMNS.get(level, level), va="top", color=MUTED)
    top = 1.5
    for family in shown:
        axes.axhline(top, color=RULE, linewidth=0.8)
        axes.text(0, top + 0.4, family, va="top", weight="bold")
        axes.text(0, top + 1.4, "\n".join(acts_on[family]), va="top", color=MUTED, fontsize=SMALL)
        for level, left in lefts.items():
            for i, text in enumerate(cells[family, level]):
                axes.text(left, top + 0.4 + i, text, va="top")
        top += heights[family]
    note = (
        "Rows: what an objective acts on. Columns: what the choice of images tells it, by its own "
        "sampler. The year is that of its paper."
    )
    legend(figure, {}, notes=(wrap(note, figure),))
    return DataFigure(figure, rows)


def _rows() -> list[dict[str, str]]:
    """Each objective in its place, families in their order and older papers first."""
    rows = [
        {
            "objective": name,
            "family": family,
            "supervision": supervision(name),
            "year": registry.paper("objectives", name)[-4:],
        }
        for family, names in families(registry.names("objectives")).items()
        for name in names
    ]
    order = list(FAMILIES)
    return sorted(rows, key=lambda row: (order.index(row["family"]), row["year"]))
