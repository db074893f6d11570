"""Damage to files of a run, and folders as they were before there were checksums."""

import json


def flip(file, place=0.5):
    """Change one byte."""
    data = bytearray(file.read_bytes())
    at = min(int(place * len(data)), len(data) - 1)
    data[at] ^= 0x10
    file.write_bytes(data)


def forget_checksums(folder):
    """As a version of unknot wrote it that knew of none."""
    file = folder / "status.json"
    facts = json.loads(file.read_text())
    for name in ("sha256", "files", "data", "settings", "settings_of", "lone"):
        del facts[name]
    file.write_text(json.dumps(facts))
