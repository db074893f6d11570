"""Checksums: how a file that changed since it was written is told."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unknot.core.files import open_file

BLOCK = 1 << 20


def bytes_sum(data: bytes) -> str:
    """SHA-256 of some bytes, in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def file_sum(path: Path) -> str:
    """SHA-256 of a file, without all of it in memory."""
    digest = hashlib.sha256()
    with open_file(path) as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def facts_sum(facts: Mapping[str, Any]) -> str:
    """SHA-256 of plain values, in whatever order a file has them.

    Example:
        >>> facts_sum({"a": 1, "b": None}) == facts_sum({"b": None, "a": 1})
        True
    """
    return bytes_sum(json.dumps(facts, sort_keys=True).encode())
