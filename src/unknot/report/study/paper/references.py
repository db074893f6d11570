"""BibTeX of what a study uses, from the papers that docstrings of the catalogues name.

A docstring has authors, year and title. Venues are not in it, and none is made up.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import get_args

from unknot.core import registry
from unknot.core.registry import Room
from unknot.report.study.paper.latex import escape

LETTER = "A-Z\u00c0-\u00d6\u00d8-\u00de\u0100-\u017f"
"""With which a name begins."""
NAME = rf"[{LETTER}][\w’'-]*(?: [{LETTER}][\w’'-]*)*"
WORK = re.compile(
    rf"({NAME}(?:, {NAME})*)(?: and ({NAME})|( et al\.))? ((?:19|20)\d\d)\b"
    r"(?:, \"([^\"]+)\")?( \((?:dissertation|thesis)\))?"
)
PARAGRAPH = re.compile(r"^Paper: (.*?)(?=\n\s*\n|\n[A-Z]\w+: |\Z)", re.MULTILINE | re.DOTALL)
NONE = "None has it"
"""How the docstring of a thing begins that no paper has."""
SHORT = ("a", "an", "the", "on")
"""Words at the beginning of a title that a key leaves out."""


@dataclass(frozen=True)
class Work:
    """What a docstring says of a paper."""

    authors: tuple[str, ...]
    """Family names."""
    others: bool
    """Whether there are more authors than these."""
    year: int
    title: str = ""
    thesis: bool = False

    @property
    def key(self) -> str:
        """As it is cited: first author, year, and a word of the title.

        Example:
            >>> Work(("Moğultay Özcan",), False, 2024, "On disentangled learning").key
            'mogultayozcan2024disentangled'
        """
        words = [word for word in re.findall(r"\w+", self.title) if word.lower() not in SHORT]
        return _plain(f"{self.authors[0]}{self.year}{words[0] if words else ''}")

    @property
    def bibtex(self) -> str:
        """Its entry."""
        names = [f"{{{escape(name)}}}" for name in self.authors] + ["others"] * self.others
        fields = {"author": " and ".join(names), "title": f"{{{escape(self.title)}}}"}
        fields |= {"year": str(self.year), "note": "Dissertation" if self.thesis else ""}
        if not self.title:
            del fields["title"]
        lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
        return "\n".join([f"@misc{{{self.key},", *lines, "}"])


def _plain(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text.lower())
    return re.sub(r"[^a-z0-9]", "", letters)


def cited(text: str) -> list[Work]:
    """The papers that a text names, with what it has of them.

    Example:
        >>> [work.key for work in cited('Chen et al. 2018, "Isolating sources"; Mushom 2020')]
        ['chen2018isolating', 'mushom2020']
    """
    works = []
    for first, last, more, year, title, thesis in WORK.findall(" ".join(text.split())):
        names = (*first.split(", "), *filter(None, [last]))
        works.append(Work(names, bool(more), int(year), title, bool(thesis)))
    return works


def works_of(room: Room, name: str) -> list[Work]:
    """The papers of something in a catalogue, each as the catalogue knows it best.

    Example:
        >>> [work.key for work in works_of("metrics", "sap")]
        ['kumar2018variational']
    """
    registered = {*registry.names(room)}
    return [best_known(work) for work in _named(room, name)] if name in registered else []


def best_known(work: Work) -> Work:
    """A paper with the longest title, and the most authors, by which the catalogue has it."""
    same = [other for other in _catalogue() if _is_same(work, other)]
    title = max((other.title for other in [*same, work]), key=len)
    if not all(_plain(title).startswith(_plain(other.title)) for other in same):
        return work  # a year without a title, in which the author has several
    fullest = max([*same, work], key=lambda other: (not other.others, len(other.authors)))
    thesis = any(other.thesis for other in same)
    return Work(fullest.authors, fullest.others, work.year, title, thesis)


def _is_same(work: Work, other: Work) -> bool:
    titles = sorted((_plain(work.title), _plain(other.title)), key=len)
    authors = work.authors[0] == other.authors[0]
    return authors and work.year == other.year and titles[1].startswith(titles[0])


@cache
def _catalogue() -> tuple[Work, ...]:
    return tuple(
        work
        for room in get_args(Room)
        for name in registry.names(room)
        for work in _named(room, name)
        if work.title
    )


def _named(room: Room, name: str) -> Iterator[Work]:
    for paragraph in PARAGRAPH.findall(registry.doc(room, name)):
        if not paragraph.startswith(NONE):
            yield from cited(paragraph)
