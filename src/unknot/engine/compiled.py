"""Where compilers keep what they made, so that a machine compiles a step once."""

import os
from functools import cache
from pathlib import Path

from unknot.data.parts.cache import folder

FOLDERS = {"TORCHINDUCTOR_CACHE_DIR": "inductor", "TRITON_CACHE_DIR": "triton"}
"""The variables by which PyTorch's compiler and Triton are told, and our folder for each."""


@cache
def keep_compiled() -> None:
    """Have both compilers keep their files in the cache folder, where the user names no other.

    PyTorch's compiler keeps them in the folder for temporary files otherwise, which a restart of
    the machine empties. A folder that cannot be written is left alone.
    """
    try:
        places = {variable: folder() / "compiled" / name for variable, name in FOLDERS.items()}
        for place in places.values():
            place.mkdir(parents=True, exist_ok=True, mode=0o700)
    except (OSError, RuntimeError):
        return
    for variable, place in places.items():
        if _ours(place):
            os.environ.setdefault(variable, str(place))


def _ours(place: Path) -> bool:
    """Whether files of the folder are this user's alone to write: compilers run what they load."""
    if not hasattr(os, "getuid"):
        return True
    status = place.stat()
    return status.st_uid == os.getuid() and not status.st_mode & 0o022
