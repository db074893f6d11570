"""Datasets, one file each; each class is an attribute: ``data.XYSquares(spacing=4)``."""

from typing import Any

from unknot.core import registry


def __getattr__(name: str) -> Any:
    return registry.attribute("datasets", name)


def __dir__() -> list[str]:
    return sorted(registry.class_names("datasets"))
