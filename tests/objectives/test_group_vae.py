"""GVAE and ML-VAE with labels: what is averaged, the Ada-GVAE beside them, and what they learn."""

import pytest
import torch

from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError
from unknot.core.factors import FactorSpace
from unknot.core.objective import Net, Step
from unknot.core.optim import Adam
from unknot.core.posterior import Posterior
from unknot.data.parts.images import Bytes
from unknot.engine.context import Context
from unknot.engine.device import runtime
from unknot.engine.looped import Looped
from unknot.engine.population import Member
from unknot.nets.linear import Linear
from unknot.objectives.ada_gvae import average_posteriors
from unknot.objectives.ada_mlvae import product
from unknot.objectives.beta_vae import BetaVAE
from unknot.objectives.group_vae import GroupVAE, same_factors
from unknot.samplers.pairs import Pairs

GEN = torch.Generator().manual_seed(5)
BATCH, LATENTS, PIXELS = 4, 3, 6
X = torch.rand(2 * BATCH, 1, 1, PIXELS, generator=GEN)
MEAN = torch.randn(2 * BATCH, LATENTS, generator=GEN)
LOGVAR = torch.randn(2 * BATCH, LATENTS, generator=GEN)
WEIGHT = torch.randn(LATENTS, PIXELS, generator=GEN)


def net(seen):
    def decode(z):
        seen.append(z)
        return (z @ WEIGHT).reshape(*z.shape[:-1], 1, 1, PIXELS)

    return Net(lambda x: Posterior(MEAN, LOGVAR), decode)


def step(factors):
    return Step(X, torch.tensor(0), torch.tensor(1), 100, factors)


def divergence(q):
    each = 0.5 * (q.mean.square() + q.logvar.exp() - 1 - q.logvar)
    return each.sum(-1).mean().item()


@pytest.mark.parametrize("average", ["mean", "product"])
def test_a_latent_is_averaged_where_its_factor_is_the_same(average):
    same = [[True, False], [False, True], [True, True], [False, False]]
    first = torch.rand(BATCH, 2, generator=GEN)
    second = torch.where(torch.tensor(same), first, first + 1)
    terms = GroupVAE(average=average).terms(net([]), step(torch.cat([first, second])))
    expected = []
    for i in range(BATCH):
        a, b = (Posterior(MEAN[[k]], LOGVAR[[k]]) for k in (i, i + BATCH))
        both = average_posteriors(a, b, "variance") if average == "mean" else product(a, b, "mean")
        for own in (a, b):  # the third latent has no factor and is always shared
            parts = [(both if shared else own) for shared in (*same[i], True)]
            mean = torch.stack([p.mean[:, j] for j, p in enumerate(parts)], dim=-1)
            logvar = torch.stack([p.logvar[:, j] for j, p in enumerate(parts)], dim=-1)
            expected.append(divergence(Posterior(mean, logvar)))
    assert terms["kl"].value.item() == pytest.approx(sum(expected) / len(expected), rel=1e-5)
    assert terms["shared"].value.item() == pytest.approx((4 + 4) / BATCH)


def test_pairs_that_share_nothing_are_the_beta_vae_bit_for_bit():
    factors = torch.rand(2 * BATCH, LATENTS, generator=GEN)
    seen, theirs = [], []
    ours = GroupVAE(beta=4.0).terms(net(seen), step(factors))
    beta = BetaVAE(beta=4.0).terms(net(theirs), step(None))
    assert torch.equal(seen[0], theirs[0])
    assert all(torch.equal(ours[name].value, beta[name].value) for name in ("recon", "kl"))


def test_what_is_not_told_is_not_averaged():
    factors = torch.tensor([[0.0, torch.nan], [0.0, torch.nan]])
    assert same_factors(factors, 2).tolist() == [[True, False]]


def test_each_factor_gets_its_own_latent():
    """A picture of two bars whose lengths are the factors: latent j follows factor j."""
    space = FactorSpace(("a", "b"), (6, 6), ("ordered",) * 2)
    rows = space.factors(torch.arange(space.size))
    bars = torch.arange(5)[None, None] < rows[..., None]
    images = (255 * bars.reshape(len(rows), 1, 2, 5)).to(torch.uint8)
    data = FactorDataset("bars", space, Bytes(images))
    context = Context(
        data, Linear(latents=2), 32, runtime("cpu", "float32"), sampler=Pairs(changed=1)
    )
    member = Member(0, GroupVAE(beta=0.1), Adam(lr=1e-2))
    population = Looped.fresh(context, [member])
    population.advance(0, 600)
    codes = population.encode(data.batch(torch.arange(len(rows)))).mean[0]
    table = torch.corrcoef(torch.cat([codes.T, rows.T.float()]))[:2, 2:].abs()
    assert table.diagonal().min() > 0.9
    assert (table - table.diag().diag()).max() < 0.3


def test_more_factors_than_latents_are_refused():
    with pytest.raises(ConfigError, match=r"5 factors need as many latents"):
        GroupVAE().label_state(4, 5, torch.tensor(0))
