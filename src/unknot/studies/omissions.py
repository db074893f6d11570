"""Omissions: runs that a study file asks for and its records have not, as files were missing."""

from collections.abc import Mapping

from unknot.core.border import parse_json

FACT = "omissions"
"""What the records call them."""


def read_omissions(facts: Mapping[str, str]) -> dict[str, int]:
    """Runs that the records of a study omit, by dataset."""
    return dict(parse_json(facts.get(FACT, "{}")))


def describe_omissions(omissions: Mapping[str, int]) -> str:
    """Omissions in words; empty if there are none.

    Example:
        >>> describe_omissions({"cars3d": 1_800, "smallnorb": 1_800})
        '3,600 runs are left out, as files are missing: 1,800 of cars3d, 1,800 of smallnorb'
        >>> describe_omissions({"cars3d": 1})
        '1 run is left out, as files are missing: 1 of cars3d'
    """
    if not omissions:
        return ""
    parts = ", ".join(f"{runs:,} of {name}" for name, runs in omissions.items())
    total = sum(omissions.values())
    runs_are = "runs are" if total > 1 else "run is"
    return f"{total:,} {runs_are} left out, as files are missing: {parts}"
