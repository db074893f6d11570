"""S2-VAE: its penalties by hand, whom they reach, and that few labels tie latents to factors."""

import math

import numpy as np
import pytest
import torch

from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError
from unknot.core.factors import FactorSpace
from unknot.core.objective import Net, Step, total
from unknot.core.optim import Adam
from unknot.core.posterior import Posterior
from unknot.data.parts.images import Bytes
from unknot.engine.context import Context
from unknot.engine.device import runtime
from unknot.engine.looped import Looped
from unknot.engine.population import Member
from unknot.nets.linear import Linear
from unknot.objectives.beta_vae import BetaVAE
from unknot.objectives.s2_vae import S2VAE, supervise
from unknot.samplers.labelled import Labelled
from unknot.samplers.parts.sampler import sampler_for

DOUBLE = torch.float64
MEANS = torch.tensor([[0.3, -1.0, 2.0], [1.5, 0.2, -0.4], [-2.0, 0.7, 0.1]], dtype=DOUBLE)
FACTORS = torch.tensor([[0.0, 0.5], [1.0, 0.25], [0.5, 1.0]], dtype=DOUBLE)


def test_the_cross_entropy_and_the_squares_by_hand():
    crossed = squares = 0.0
    for i in range(3):
        for j in range(2):
            s, v = 1 / (1 + math.exp(-MEANS[i, j])), FACTORS[i, j].item()
            crossed -= (v * math.log(s) + (1 - v) * math.log(1 - s)) / 3
            squares += (s - v) ** 2 / 3
    assert supervise(MEANS, FACTORS, "cross_entropy")[0].item() == pytest.approx(crossed)
    assert supervise(MEANS, FACTORS, "squared")[0].item() == pytest.approx(squares)


def test_the_covariance_is_numpys_but_for_the_diagonal():
    cov = np.cov(MEANS.T.numpy(), FACTORS.T.numpy(), bias=True)[:3, 3:]
    expected = (cov**2).sum() - cov[0, 0] ** 2 - cov[1, 1] ** 2
    assert supervise(MEANS, FACTORS, "covariance")[0].item() == pytest.approx(expected)
    moved = supervise(MEANS, FACTORS + 3.0, "covariance")[0].item()
    assert moved == pytest.approx(expected)


@pytest.mark.parametrize("supervision", ["cross_entropy", "squared", "covariance"])
def test_images_without_labels_count_nothing_and_get_no_gradient(supervision):
    means = torch.cat([MEANS, 5 * torch.ones(2, 3, dtype=DOUBLE)]).requires_grad_()
    factors = torch.cat([FACTORS, torch.full((2, 2), torch.nan, dtype=DOUBLE)])
    ours, theirs = (supervise(m, f, supervision) for m, f in ((means, factors), (MEANS, FACTORS)))
    for a, b in zip(ours, theirs, strict=True):
        assert a.item() == pytest.approx(b.item())
    (slope,) = torch.autograd.grad(ours[0], means)
    assert not slope[3:].any()
    assert slope[:3, :2].all()
    assert bool(slope[:3, 2].any()) == (supervision == "covariance")
    nothing = supervise(MEANS, torch.full_like(FACTORS, torch.nan), supervision)
    assert [value.item() for value in nothing] == [0, 0]


def test_first_images_train_the_vae_and_second_ones_the_labels():
    draw = torch.Generator().manual_seed(1)
    mean, logvar = (torch.randn(6, 3, dtype=DOUBLE, generator=draw) for _ in range(2))
    x = torch.rand(6, 1, 1, 3, dtype=DOUBLE, generator=draw)

    def net(mean, logvar):
        return Net(lambda _: Posterior(mean, logvar), lambda z: z.unflatten(-1, (1, 1, 3)))

    factors = torch.cat([torch.rand(3, 2, dtype=DOUBLE, generator=draw), FACTORS])
    step = Step(x, torch.tensor(3), torch.tensor(4), 100, factors)
    ours = S2VAE(beta=2.0, gamma=3.0).terms(net(mean, logvar), step)
    alone = Step(x[:3], torch.tensor(3), torch.tensor(4), 100)
    vae = BetaVAE(beta=2.0).terms(net(mean[:3], logvar[:3]), alone)
    expected = total(vae) + 3.0 * supervise(mean[3:], FACTORS, "cross_entropy")[0]
    torch.testing.assert_close(total(ours), expected)
    distance = (mean[3:, :2].sigmoid() - FACTORS).abs().mean()
    torch.testing.assert_close(ours["error"].value, distance)


def halves():
    """8 x 8 images of two factors, the grey levels of the left and of the right half."""
    left, right = torch.meshgrid(torch.arange(6), torch.arange(6), indexing="ij")
    images = torch.zeros(6, 6, 8, 8, dtype=torch.uint8)
    images[..., :4] = (51 * left)[..., None, None]
    images[..., 4:] = (51 * right)[..., None, None]
    space = FactorSpace(("left", "right"), (6, 6), ("ordered", "ordered"))
    return FactorDataset("halves", space, Bytes(images.reshape(36, 1, 8, 8)))


@pytest.mark.parametrize("gamma", [0.0, 50.0])
def test_ten_labels_give_each_factor_its_latent(gamma):
    """And with gamma 0 they do not: a linear VAE turns its latents as it likes."""
    data = halves()
    context = Context(data, Linear(latents=3), 16, runtime("cpu"), sampler=Labelled(labels=10))
    population = Looped.fresh(context, [Member(0, S2VAE(gamma=gamma), Adam(lr=1e-2))])
    population.advance(0, 600)
    rows = torch.arange(36)
    codes = population.encode(data.batch(rows)).mean[0]
    factors = data.space.factors(rows).double()
    r = torch.tensor(np.corrcoef(codes[:, :2].T, factors.T)[:2, 2:])
    if gamma:
        assert r.diag().min() > 0.95
        assert (r - r.diag().diag()).abs().max() < 0.3
    else:
        assert r.diag().min() < 0.9


def test_pairs_are_of_labelled_rows():
    assert sampler_for(S2VAE()) == Labelled(labels=1000)
    with pytest.raises(ConfigError, match=r"^S2VAE\.gamma must be 0 or more; got -1"):
        S2VAE(gamma=-1.0)
