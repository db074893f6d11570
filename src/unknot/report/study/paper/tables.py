"""LaTeX tables of a study's scores, with booktabs."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from unknot.analysis import Results
from unknot.analysis.configurations import Configuration
from unknot.analysis.health import is_sound
from unknot.analysis.intervals import FEW, LEVEL
from unknot.analysis.statistics import Summary
from unknot.analysis.verdicts import verdict
from unknot.core.text import decimals
from unknot.report.study.paper.latex import escape

MOST_LINES = 45
"""Lines of a table on a page."""
COLUMN_LETTERS, PAGE_LETTERS = 56, 116
"""Letters of small print that fit beside each other in a column, and on a page of two."""
GAP = 3
"""Letters between two columns of a table."""
LONGEST_NAME = 36
"""Letters of a configuration's name on one line."""
UNSOUND = r"\textsuperscript{\textdagger}"


@dataclass(frozen=True)
class Cell:
    """A cell of a table, and how many letters wide it is."""

    tex: str
    width: int


def score_tables(results: Results, name: str, subject: str) -> list[str]:
    """Means of all configurations, as tables that fit on a page each.

    Bold is the configuration that `unknot.analysis.verdicts.verdict` calls best, where it calls one
    so; a score by which nothing is ranked has none.

    Args:
        results: Of one dataset.
        name: Of the labels that the tables are referred to by.
        subject: What they are about, in LaTeX.
    """
    scores, configurations = results.panels, results.configurations
    best = {score: _best(results, score) for score in results.ranked}
    usual = Counter(c.sample(s).values.size for c in configurations for s in scores)
    count = max((n for n in usual if n), key=lambda n: usual[n], default=0)
    columns = {
        score: [
            _cell(summary, configuration, best.get(score) is configuration, count)
            for configuration in configurations
            for summary in [results.summary(configuration, [score])[score]]
        ]
        for score in scores
    }
    caption = f"{subject} {_describe(results, count)}"
    tables = [
        _table(results, rows, names, columns)
        for rows in _pages(configurations)
        for names in _blocks(results, columns)
    ]
    return [
        _float(table, wide, caption if i == 0 else f"{subject} Continued.", f"{name}-{i + 1}")
        for i, (table, wide) in enumerate(tables)
    ]


def _best(results: Results, score: str) -> Configuration | None:
    """The configuration that seeds tell from all others, where there is one."""
    result = verdict(results, score)
    return result.best if result is not None and result.decided else None


def _cell(summary: Summary, configuration: Configuration, bold: bool, count: int) -> Cell:
    if not summary.n:
        return Cell("--", 2)
    mean = decimals(summary.mean)
    spread = _spread(summary, mean)
    seeds = f" (n = {summary.n})" if summary.n != count else ""
    tex = escape(mean)
    tex = rf"\textbf{{{tex}}}" if bold else tex
    if not is_sound(configuration, summary.score):
        tex += UNSOUND
    if spread or seeds:
        tex += rf" {{\scriptsize {escape((spread + seeds).strip())}}}"
    return Cell(tex, len(mean) + 1 + 7 * len(spread + seeds) // 8)


def _spread(summary: Summary, mean: str) -> str:
    """Half of the interval of a mean, in its digits, or the ends of one that is cut off.

    Of few seeds it is their range, of one nothing.
    """
    if summary.n < FEW:
        ends = decimals(summary.low), decimals(summary.high)
        return f"{ends[0]}–{ends[1]}" if summary.n > 1 else ""
    below, above = summary.mean - summary.mean_low, summary.mean_high - summary.mean
    if below != below:
        return ""
    places = len(mean.partition(".")[2])
    if _is_cut_off(summary):
        return f"[{summary.mean_low:,.{places}f}, {summary.mean_high:,.{places}f}]"
    return f"±{(below + above) / 2:,.{places}f}"


def _is_cut_off(summary: Summary) -> bool:
    """Whether the interval of a mean reaches further to one side, as it ends at a bound."""
    below, above = summary.mean - summary.mean_low, summary.mean_high - summary.mean
    return abs(below - above) > 1e-9 * max(below, above)


def _pages(configurations: Sequence[Configuration]) -> Iterator[list[int]]:
    """Places of configurations, as many as have room on a page."""
    page, lines = list[int](), 0
    for place, configuration in enumerate(configurations):
        needed = -(-len(configuration.label) // LONGEST_NAME)
        if page and lines + needed > MOST_LINES:
            yield page
            page, lines = [], 0
        page.append(place)
        lines += needed
    yield page


def _blocks(results: Results, columns: dict[str, list[Cell]]) -> Iterator[list[str]]:
    """Scores whose columns stand beside each other."""
    block, width = list[str](), _name_width(results)
    for score, cells in columns.items():
        needed = _width(results, score, cells) + GAP
        if block and width + needed > PAGE_LETTERS:
            yield block
            block, width = [], _name_width(results)
        block.append(score)
        width += needed
    yield block


def _name_width(results: Results) -> int:
    return min(LONGEST_NAME, max(len(c.label) for c in results.configurations))


def _width(results: Results, score: str, cells: Sequence[Cell]) -> int:
    return max(len(score) + 2 * (score in results.ranked), *(cell.width for cell in cells))


def _table(
    results: Results, rows: Sequence[int], scores: Sequence[str], columns: dict[str, list[Cell]]
) -> tuple[str, bool]:
    """The lines of a table, and whether it is wider than a column."""
    configurations = results.configurations
    long = max(len(c.label) for c in configurations) > LONGEST_NAME
    letters = "p{2.1in}" if long else "l"
    head = " & ".join(["configuration", *(_head(results, score) for score in scores)])
    lines = [rf"\begin{{tabular}}{{@{{}}{letters}{'r' * len(scores)}@{{}}}}", r"\toprule"]
    lines += [rf"{head} \\", r"\midrule"]
    grouped = len(results.objectives) < len(configurations)
    for place, row in enumerate(rows):
        new = (
            grouped and place and configurations[row].objective != configurations[row - 1].objective
        )
        lines += [r"\addlinespace"] if new else []
        cells = [escape(configurations[row].label), *(columns[score][row].tex for score in scores)]
        lines.append(" & ".join(cells) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    width = _name_width(results)
    width += sum(GAP + _width(results, score, columns[score]) for score in scores)
    return "\n".join(lines), width > COLUMN_LETTERS


def _head(results: Results, score: str) -> str:
    """A score, with an arrow to where it is better."""
    if score not in results.ranked:
        return escape(score)
    return escape(score) + (r" $\downarrow$" if score in results.lower else r" $\uparrow$")


def _describe(results: Results, count: int) -> str:
    """What the numbers are, and what bold and marks mean, in LaTeX."""
    counts = {c.sample(s).values.size for c in results.configurations for s in results.panels}
    seeds = f"{count} seeds" if count != 1 else "one seed"
    sentences = [f"Means over {seeds}" if count > 1 else "Values of one seed"]
    if any(n >= FEW for n in counts):
        sentences[0] += f" with half of their {LEVEL:.0%} intervals (Student's)"
        if any(map(_is_cut_off, results.summaries(results.panels))):
            sentences[0] += ", or with both ends where a bound of the score cuts one off"
    if any(1 < n < FEW for n in counts):
        few = f"; of fewer than {FEW}, the range" if any(n >= FEW for n in counts) else ""
        sentences[0] += few or " and their range, too few for an interval"
    if any(n not in (0, count) for n in counts):
        sentences.append("Other numbers of seeds are in brackets")
    bold = {score for score in results.ranked if _best(results, score)}
    if bold and max(counts) >= FEW:
        sentences.append(
            f"Bold: best, and separated from all others by Welch's t-test at {LEVEL:.0%}, "
            "corrected for their number"
        )
    elif bold:
        sentences.append("Bold: better in every seed than any other")
    else:
        sentences.append("None is bold: the seeds separate no configuration from all others")
    text = escape(". ".join(sentences) + ".")
    if any(c.has(s) and not is_sound(c, s) for c in results.configurations for s in results.panels):
        text += rf" {UNSOUND}Half of its runs collapsed, draw nothing or are at chance."
    return text


def _float(table: str, wide: bool, caption: str, name: str) -> str:
    kind = "table*" if wide else "table"
    return "\n".join(
        [
            rf"\begin{{{kind}}}", r"\centering", rf"\caption{{{caption}}}",
            rf"\label{{tab:{name}}}", r"\footnotesize", r"\setlength{\tabcolsep}{4pt}", table,
            rf"\end{{{kind}}}", "",
        ]
    )  # fmt: skip
