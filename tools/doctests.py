"""Extension of Griffe, which reads docstrings for the site: examples are shown as code."""

import re
from typing import Any

import griffe


class Doctests(griffe.Extension):
    """Google's style has the heading *Examples* alone; ours is often *Example*."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = re.sub(r"(?m)^Example:$", "Examples:", obj.docstring.value)
