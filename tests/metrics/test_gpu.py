"""Codes on a GPU give the scores they give on the CPU."""

import inspect

import pytest
import torch

from metrics.representations import OF_POSTERIORS, SCORES, SIZES, factors, get, perfect
from unknot import metrics
from unknot.core import noise
from unknot.core.factors import FactorSpace
from unknot.core.representation import Representation
from unknot.metrics.parts.facts import protocols_for

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


def posteriors(score, codes):
    """Log-variances for the scores that read them."""
    known = inspect.signature(score).parameters
    return {"logvar": torch.full_like(codes, -4.0)} if "logvar" in known else {}


@pytest.mark.parametrize("protocol", ["unknot", "carbonneau", "paper"])
@pytest.mark.parametrize("name", [*SCORES, *OF_POSTERIORS])
def test_rows_on_the_device(name, protocol):
    if protocol not in protocols_for(name):
        pytest.skip(f"{name} has no protocol {protocol}")
    codes, values = (torch.from_numpy(array) for array in get("rotated"))
    # Off the ties: rotated codes of a grid fall on bin edges and know equally much of two factors.
    codes = codes + 0.05 * noise.normal(0, "off", 0, *codes.shape, dtype=codes.dtype)
    score = getattr(metrics, name)
    here, there = (
        score(c, values, protocol=protocol, **posteriors(score, c)) for c in (codes, codes.cuda())
    )
    for key, value in here.values.items():
        assert there[key] == pytest.approx(value, abs=1e-6), key


@pytest.mark.parametrize("name", SCORES)
def test_a_grid_on_the_device(name):
    space = FactorSpace(("a", "b", "c", "d"), SIZES, ("nominal", "ordered", "ordered", "cyclic"))
    codes = torch.from_numpy(perfect()[: space.size])
    score = getattr(metrics, name)
    here, there = (score(Representation.whole(space, c)) for c in (codes, codes.cuda()))
    for key, value in here.values.items():
        assert there[key] == pytest.approx(value, abs=1e-6), key


def test_an_interval_on_the_device():
    codes, values = torch.from_numpy(perfect()).cuda(), torch.from_numpy(factors()).cuda()
    assert metrics.mig(codes, values, interval=0.9).interval == pytest.approx((1, 1), abs=1e-3)
