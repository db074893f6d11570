"""Any text as LaTeX that pdflatex and BibTeX take."""

import re
import unicodedata

# Brackets and asterisks too: at the start of a row they would be an option of the line before.
SIGNS = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "%": r"\%",
    "#": r"\#", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''",
    "`": r"\textasciigrave{}", "[": "{[}", "]": "{]}", "*": "{*}",
    "−": r"\ensuremath{-}", "±": r"\ensuremath{\pm}",
    "×": r"\ensuremath{\times}", "·": r"\ensuremath{\cdot}", "≤": r"\ensuremath{\leq}",
    "≥": r"\ensuremath{\geq}", "→": r"\ensuremath{\to}", "∞": r"\ensuremath{\infty}",
    "²": r"\ensuremath{^2}", "³": r"\ensuremath{^3}", "°": r"\ensuremath{^\circ}",
    "–": "--", "—": "---", "…": r"\ldots{}", "‘": "`", "’": "'", "“": "``", "”": "''",
    "\u00a0": "~", "ß": r"{\ss}", "ø": r"{\o}", "Ø": r"{\O}", "æ": r"{\ae}", "Æ": r"{\AE}",
    "œ": r"{\oe}", "Œ": r"{\OE}", "ł": r"{\l}", "Ł": r"{\L}", "ı": r"{\i}",
}  # fmt: skip
ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u",
    "\u0307": ".", "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0323": "d",
    "\u0327": "c", "\u0331": "b",
}  # fmt: skip
"""Commands by the combining character that they stand for."""
GREEK = re.compile(r"GREEK (SMALL|CAPITAL) LETTER (FINAL )?([A-Z]+)$")
AS_LATIN = {
    "ALPHA": "A", "BETA": "B", "EPSILON": "E", "ZETA": "Z", "ETA": "H", "IOTA": "I", "KAPPA": "K",
    "MU": "M", "NU": "N", "OMICRON": "O", "RHO": "P", "TAU": "T", "CHI": "X",
}  # fmt: skip
"""Capitals that have no command, since they look like Latin ones."""


def escape(text: str) -> str:
    r"""A text as LaTeX: accents and Greek letters as commands, other letters by their code.

    Whatever fonts a document has, the result compiles with pdflatex, and BibTeX sorts it.

    Example:
        >>> print(escape("beta_vae: 95% of R&D, Özcan, β−1, 図"))
        beta\_vae: 95\% of R\&D, {\"{O}}zcan, \ensuremath{\beta}\ensuremath{-}1, (U+56F3)
    """
    text = unicodedata.normalize("NFC", " ".join(text.split()))
    # Two hyphens in a row would become a dash.
    return "-{}-".join("".join(map(_escape, part)) for part in text.split("--"))


def _escape(letter: str) -> str:
    if letter in SIGNS:
        return SIGNS[letter]
    if " " <= letter <= "~":
        return letter
    base, *marks = list(unicodedata.normalize("NFD", letter))
    if marks and base.isascii() and all(mark in ACCENTS for mark in marks):
        for mark in marks:
            base = f"\\{ACCENTS[mark]}{{{base}}}"
        return f"{{{base}}}"
    if match := GREEK.match(unicodedata.name(base, "")):
        return _greek(*match.groups()) if not marks else f"(U+{ord(letter):04X})"
    return f"(U+{ord(letter):04X})"


def _greek(case: str, final: str | None, name: str) -> str:
    name = name.replace("LAMDA", "LAMBDA")  # codespell:ignore
    if case == "CAPITAL":
        return AS_LATIN.get(name) or rf"\ensuremath{{\{name.capitalize()}}}"
    if name == "OMICRON":
        return "o"
    return rf"\ensuremath{{\{'var' if final else ''}{name.lower()}}}"
