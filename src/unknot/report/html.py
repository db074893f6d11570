"""Pages from templates: one file each, nothing fetched from elsewhere."""

import base64
from importlib import resources
from typing import Any

import jinja2

from unknot.core.text import number
from unknot.report import style


def render(template: str, **values: Any) -> str:
    """The text of a page; a value that the template wants and does not get is an error."""
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_template),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "thousands": "{:,}".format}
    return environment.get_template(template).render(style=style, **values)


def _template(name: str) -> str:
    return (resources.files("unknot.report") / name).read_text(encoding="utf-8")


def data_uri(data: bytes, kind: str = "png") -> str:
    """A picture as an address that holds it."""
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"
