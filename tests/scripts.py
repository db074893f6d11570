"""Scripts that are not of the package, as modules."""

import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def script(path):
    """A script by its path from the root. Its neighbours are found, behind all else."""
    file = ROOT / path
    spec = importlib.util.spec_from_file_location(path.replace("/", "_")[:-3], file)
    module = importlib.util.module_from_spec(spec)
    sys.path.append(str(file.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(file.parent))
    return module
