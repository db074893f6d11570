"""Objectives, one file per paper; each class is an attribute: ``objectives.BetaVAE(beta=4)``."""

from typing import Any

from unknot.core import registry


def __getattr__(name: str) -> Any:
    return registry.attribute("objectives", name)


def __dir__() -> list[str]:
    return sorted(registry.class_names("objectives"))
