"""What is in an archive: its manifest, and the names of its files."""

import re
from typing import Literal, TypeAlias

from unknot.runs import status
from unknot.studies.database import FILE, SEAL, TEXT

FORMAT = 1
MANIFEST = "manifest.json"
Weights: TypeAlias = Literal["half", "full", "none"]
OF_RUN = (
    r"run\.toml|status\.json|scores\.jsonl|curves\.(safetensors|csv)"
    r"|weights(-([0-9]{1,12}|best))?\.safetensors|features\.safetensors"
)
NAMES = {
    "run": re.compile(OF_RUN),
    "study": re.compile(rf"populations/[0-9a-f]{{12}}/({OF_RUN})|study\.(toml|db|db\.sha256)"),
}
"""Names of files in an archive, by its kind; there are no others."""
NEEDED = {"run": ("run.toml", status.FILE), "study": (TEXT, FILE, SEAL)}
