"""The folder of a study for a paper, and a document that shows all of it."""

from collections.abc import Callable, Sequence
from pathlib import Path

from unknot.analysis import Results
from unknot.core.files import file_stem, write_files
from unknot.report.study.boxes import describe_missing
from unknot.report.study.figures import spread, swept_value
from unknot.report.study.paper.latex import escape
from unknot.report.study.paper.methods import methods
from unknot.report.study.paper.tables import score_tables
from unknot.report.study.source import Source, file_prefix, read
from unknot.report.study.style import FEW as FEW_DOTS
from unknot.report.study.style import configuration_rows
from unknot.report.style import pdf

COLUMN, PAGE = 3.25, 6.75
"""Inches of a column, and of a page of two."""
MOST_ROWS = 40
"""Configurations that have a row each in a figure."""
LONG = 24
"""Letters of a row's name beyond which its figure is as wide as the page."""
FLOATS = 6
"""Figures and tables on a page of the document."""
DOCUMENT = r"""% Written by unknot, and replaced by the next `unknot report --paper`.
\documentclass[twocolumn]{article}
\usepackage{booktabs,graphicx,textcomp}
\setlength{\textwidth}{6.75in}\setlength{\columnsep}{0.25in}
\setlength{\belowcaptionskip}{4pt}
\setlength{\oddsidemargin}{-0.125in}\setlength{\textheight}{9in}\setlength{\topmargin}{-0.5in}
\title{TITLE}\author{}\date{}
\begin{document}
\maketitle
\section*{Methods}
\input{methods}
FLOATS
\bibliographystyle{plain}
\bibliography{references}
\end{document}
"""

Files = dict[str, bytes]
Say = Callable[[str], None]


def paper(
    path: Path,
    out: Path,
    *,
    scores: Sequence[str] | None = None,
    conditions: Sequence[str] = (),
    say: Say = lambda _: None,
    warn: Say = lambda _: None,
) -> list[Path]:
    """Read what is at a path, and write its folder; see `read` and `write_paper`."""
    source = read(path, scores, conditions=conditions)
    for note in source.notes:
        warn(note)
    return write_paper(source, out, say=say)


def write_paper(source: Source, folder: Path, *, say: Say = lambda _: None) -> list[Path]:
    """Write tables, figures, references and methods of a study for a paper.

    ``main.tex`` shows all of them; each table and figure is a file of its own to take from there.

    Args:
        source: The runs, from `unknot.report.study.source.read`.
        folder: Where to write.
        say: Told what is being done.
    """
    results = source.results
    if source.study:  # a table needs no torch
        from unknot.report.study.chance import with_chance

        results, _ = with_chance(source.study, results, say)
    files, floats = Files(), list[str]()
    for data, part in results.by_data.items():
        if not part.scores:
            continue
        prefix = file_prefix(results, data)
        subject = escape(f"{source.title}, {data}." if data else f"{source.title}.")
        tables = score_tables(part, f"{prefix}scores", subject)
        for number, table in enumerate(tables, 1):
            name = f"tables/{prefix}scores{f'-{number}' if len(tables) > 1 else ''}"
            files[f"{name}.tex"] = table.encode()
            floats.append(rf"\input{{{name}}}")
        for score in part.panels:
            say(f"drawing {score}")
            floats += _figures(part, score, prefix, files)
    paragraph = methods(source)
    files["methods.tex"] = paragraph.latex.encode()
    files["methods.md"] = paragraph.markdown.encode()
    files["references.bib"] = paragraph.bibtex.encode()
    files["main.tex"] = _document(source.title, floats).encode()
    paths = write_files(folder, files)
    return [folder / "main.tex", *(path for path in paths if path.name != "main.tex")]


def _figures(results: Results, score: str, prefix: str, files: Files) -> list[str]:
    """Draw the figures of one score at the width of a column; gives how they are shown."""
    floats = []
    many = len(results.configurations) > MOST_ROWS
    configurations = results.objectives if many else results.configurations
    names = [*configuration_rows(configurations).names]
    wide = max(map(len, names)) > LONG
    figure = spread.draw(
        results, [score], by="objective" if many else "setting", width=PAGE if wide else COLUMN
    )
    name = f"{prefix}spread-{file_stem(score)}"
    files[f"figures/{name}.pdf"] = pdf(figure.figure)
    lost = describe_missing(configurations, [score])
    boxes = max(len(c.sample(score).values) for c in configurations) > FEW_DOTS
    kind = spread.LEGENDS["box"] if boxes else "Dots: runs; cross: mean."
    caption = f"{score} by {'objective' if many else 'configuration'}. {kind} {lost}"
    floats.append(_figure(name, caption, wide))
    if lines := swept_value.ordered_lines(results):
        objectives = {line.objective for line in lines}
        figure = swept_value.draw(results, [score], objectives=objectives, width=COLUMN)
        name = f"{prefix}swept-value-{file_stem(score)}"
        files[f"figures/{name}.pdf"] = pdf(figure.figure)
        caption = f"{score}. {swept_value.describe_lines(lines)}"
        floats.append(_figure(name, caption, wide=False))
    return floats


def _figure(name: str, caption: str, wide: bool) -> str:
    kind = "figure*" if wide else "figure"
    return "\n".join(
        [
            rf"\begin{{{kind}}}", r"\centering", rf"\includegraphics{{figures/{name}.pdf}}",
            rf"\caption{{{escape(caption)}}}", rf"\label{{fig:{name}}}", rf"\end{{{kind}}}",
        ]
    )  # fmt: skip


def _document(title: str, floats: list[str]) -> str:
    """All tables and figures in their order, not more at once than LaTeX can keep."""
    pages = [floats[start : start + FLOATS] for start in range(0, len(floats), FLOATS)]
    body = "\n\\clearpage\n".join("\n".join(page) for page in pages)
    return DOCUMENT.replace("TITLE", escape(title)).replace("FLOATS", body)
