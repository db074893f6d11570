"""The bar of where a study's time went, from ``docs/benchmarks/end_to_end.json``.

```
PYTHONPATH=src python bench/end_to_end.py --json docs/benchmarks/end_to_end.json
PYTHONPATH=src python docs/end_to_end_table.py
```
"""

import importlib
import json
import sys
from pathlib import Path

from places import filled

PAGE = Path(__file__).parent / "benchmarks.md"
STORED = PAGE.with_suffix("") / "end_to_end.json"


def made(page: str) -> str:
    """The page with the table."""
    sys.path.append(str(PAGE.parents[1] / "bench"))
    lines = importlib.import_module("end_to_end").lines
    found = json.loads(STORED.read_text(encoding="utf-8"))
    return filled(page, {"end to end": "\n".join(lines(found))})


def main() -> None:
    """Fill in the page."""
    PAGE.write_text(made(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
