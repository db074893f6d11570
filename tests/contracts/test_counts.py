"""Every objective whose likelihood is a choice trains on counts, together as alone."""

from dataclasses import fields, replace
from typing import get_type_hints

import numpy as np
import pytest
import torch

from unknot.core import registry
from unknot.core.factors import FactorSpace
from unknot.core.optim import Adam
from unknot.data.parts.counts import as_counts
from unknot.data.parts.tables import table_dataset, table_of
from unknot.engine.context import Context
from unknot.engine.device import runtime
from unknot.engine.looped import Looped
from unknot.engine.population import Member
from unknot.engine.stacked import Stacked
from unknot.losses.likelihood import Likelihood
from unknot.nets.linear import Linear
from unknot.testing import members

NAMES = [
    name
    for name in registry.names("objectives")
    if get_type_hints(registry.get("objectives", name)).get("likelihood") == Likelihood
]


def context(likelihood):
    counts = np.random.default_rng(1).poisson(4, size=(24, 5)).astype(np.float32)
    space = FactorSpace(("a", "b"), (4, 6), ("ordered", "ordered"))
    table = replace(table_of(counts, "the table"), space=space)
    data = as_counts(table_dataset(table, "cells"), likelihood)
    return Context(data, Linear(latents=2), 6, runtime("cpu", "float64"))


def trained(backend, where, group):
    population = backend.fresh(where, group)
    log = population.advance(0, 3)
    return {**population.state(), **log}


@pytest.mark.parametrize("likelihood", ["poisson", "negative_binomial"])
@pytest.mark.parametrize("name", NAMES)
def test_a_member_is_what_it_is_alone(name, likelihood):
    usual = registry.get("objectives", name)(likelihood=likelihood)
    few = {f.name for f in fields(usual)} & {"critic_width", "width"}
    several = members(replace(usual, **dict.fromkeys(few, 8)))[:2]
    group = [Member(3 + i, mine, Adam(lr=1e-2)) for i, mine in enumerate(several)]
    where = context(likelihood)
    together, stacked = (trained(backend, where, group) for backend in (Looped, Stacked))
    for i, member in enumerate(group):
        for key, value in trained(Looped, where, [member]).items():
            assert torch.equal(together[key][i], value[0]), key
            torch.testing.assert_close(stacked[key][i], value[0], rtol=1e-8, atol=1e-10)
    assert together["loss"].isfinite().all()
    moved = [key for key in together if key.startswith("decoder.2.")]
    assert bool(moved) == (likelihood == "negative_binomial")
    assert all(bool(together[key].all()) for key in moved)
