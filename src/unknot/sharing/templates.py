"""Texts from templates beside this file; they are no pages, and nothing is escaped."""

from importlib import resources
from typing import Any

import jinja2


def fill(template: str, **values: Any) -> str:
    """The text of a template; a value that it wants and does not get is an error."""
    environment = jinja2.Environment(  # noqa: S701 - Python and Markdown have no escapes of HTML
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    source = (resources.files("unknot.sharing") / template).read_text(encoding="utf-8")
    return environment.from_string(source).render(**values)
