"""Arrays, and what the peers' own code returns on them; kept in a folder beside the checkout."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from unknot.core.factors import FactorSpace
from unknot.core.representation import Representation

FOLDER = Path(__file__).parents[2] / "../shared/reference/metrics"
CASES = ("A", "B", "C")
DSPRITES = FactorSpace(
    ("shape", "scale", "orientation", "x", "y"),
    (3, 6, 40, 32, 32),
    ("nominal", "ordered", "cyclic", "ordered", "ordered"),
)


def need() -> None:
    if not FOLDER.exists():
        pytest.skip("no reference arrays beside the checkout")


@cache
def arrays(case: str) -> dict[str, NDArray[Any]]:
    need()
    with np.load(FOLDER / f"case_{case}.npz") as file:
        return dict(file)


@cache
def golden(case: str) -> dict[str, Any]:
    need()
    blocks: dict[str, Any] = json.loads((FOLDER / f"golden_{case}.json").read_text())
    return blocks


def train(case: str, n: int = 10_000) -> tuple[NDArray[Any], NDArray[Any]]:
    return arrays(case)["codes_train"][:n], arrays(case)["factors_train"][:n]


def held(case: str, n: int = 5_000) -> tuple[NDArray[Any], NDArray[Any]]:
    return arrays(case)["codes_test"][:n], arrays(case)["factors_test"][:n]


@cache
def grid(case: str) -> Representation:
    """The fixed-code encoder of a case on all points of the grid, by the recipe of the arrays."""
    need()
    index = np.arange(DSPRITES.size, dtype=np.uint64)
    codes = encode(case, DSPRITES.factors(torch.arange(DSPRITES.size)).numpy(), index)
    return Representation.whole(DSPRITES, torch.from_numpy(codes))


def encode(case: str, factors: NDArray[Any], index: NDArray[np.uint64]) -> NDArray[np.float32]:
    with np.load(FOLDER / "encoder_tables.npz") as file:
        noise = file["noise"][_mixed(index) & np.uint64(4095)]
    if case == "C":
        return noise.astype(np.float32)
    sizes = np.array(DSPRITES.sizes)
    s = (factors - (sizes - 1) / 2) / np.sqrt((sizes**2 - 1) / 12)
    if case == "B":
        x, y = s[:, 3].copy(), s[:, 4].copy()
        s[:, 3], s[:, 4] = (x + y) / np.sqrt(2), (x - y) / np.sqrt(2)
    means = np.hstack([s, np.zeros_like(s)])
    return (means + np.repeat([0.1, 0.01], 5) * noise).astype(np.float32)


def _mixed(index: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of 32-bit MurmurHash3."""
    h = index & np.uint64(0xFFFFFFFF)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        h = ((h ^ (h >> np.uint64(shift))) * np.uint64(factor)) & np.uint64(0xFFFFFFFF)
    return h ^ (h >> np.uint64(16))
