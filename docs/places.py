"""Places of a page that scripts fill, from ``<!-- name -->`` to ``<!-- end -->``."""

import re
from collections.abc import Mapping


def filled(page: str, made: Mapping[str, str]) -> str:
    r"""The page with what was made for each name.

    Example:
        >>> filled("Ours:\n<!-- mean -->\n\n<!-- end -->\n", {"mean": "0.5"})
        'Ours:\n<!-- mean -->\n0.5\n<!-- end -->\n'
    """
    for name, text in made.items():
        pattern = rf"(<!-- {name} -->\n).*?(\n<!-- end -->)"
        page, found = re.subn(
            pattern, lambda match, text=text: match[1] + text + match[2], page, flags=re.DOTALL
        )
        if found != 1:
            raise SystemExit(f"The page needs one place <!-- {name} -->; it has {found}.")
    return page
