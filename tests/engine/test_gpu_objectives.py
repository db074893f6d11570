"""Every objective on a GPU, stacked, against the same members in turn on the CPU."""

from dataclasses import replace

import pytest
import torch

from unknot import testing
from unknot.core import registry
from unknot.core.optim import Adam
from unknot.engine.context import Context
from unknot.engine.device import runtime
from unknot.engine.looped import Looped
from unknot.engine.population import Member
from unknot.engine.stacked import Stacked

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


@pytest.mark.parametrize("name", registry.names("objectives"))
def test_a_gpu_gives_what_the_cpu_gives(name):
    """Losses, weights and carried state agree to 1e-8 in float64 over 6 steps."""
    usual = registry.get("objectives", name)()
    small = {key: 8 for key in ("critic_width", "width") if hasattr(usual, key)}
    every = [
        Member(seed, objective, Adam(lr=1e-3))
        for seed, objective in enumerate(testing.members(replace(usual, **small)))
    ]
    results = []
    for backend, device in ((Looped, "cpu"), (Stacked, "cuda")):
        chosen = runtime(device, "float64")
        context = Context(testing.images().to(chosen.device), testing.NET, 6, chosen)
        population = backend.fresh(context, every)
        logs = [population.advance(start, 3) for start in (0, 3)]
        x = context.dataset.batch(torch.arange(5, device=chosen.device)).double()
        codes = {"codes": population.encode(x).mean}
        results.append({**logs[-1], **population.state(), **codes})
    ours, theirs = results
    assert ours.keys() == theirs.keys()
    for key, value in ours.items():
        torch.testing.assert_close(theirs[key].cpu(), value, rtol=1e-8, atol=1e-10, msg=key)
