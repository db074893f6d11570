"""iVAE: its divergence by SciPy, its prior by hand."""

import math

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.stats import norm

from unknot.core.objective import Net, Step, total
from unknot.core.posterior import Posterior
from unknot.objectives.beta_vae import BetaVAE
from unknot.objectives.ivae import IVAE, PRESETS, prior

DOUBLE = torch.float64


def state(seed, z=3, factors=2, width=4):
    learnt = IVAE(width=width).label_state(z, factors, torch.tensor(seed))
    return {
        name: value.double() + 0.1 * ("bias" in name) * torch.arange(value.shape[-1])
        for name, value in learnt.items()
    }


def test_the_prior_is_three_layers_with_leaky_relus():
    extra, factors = state(5), torch.tensor([[0.2, 1.0], [0.7, 0.0]], dtype=DOUBLE)
    ours = prior(Net(lambda x: x, lambda z: z, extra=extra), factors)
    h = factors.numpy()
    for i in range(3):
        h = h @ extra[f"prior_weight_{i}"].numpy() + extra[f"prior_bias_{i}"].numpy()
        h = np.where(h > 0, h, 0.1 * h) if i < 2 else h
    np.testing.assert_allclose(ours.logvar, h)
    assert not ours.mean.any()


def test_weights_are_glorots_and_of_the_seed():
    ones, twos = (IVAE().label_state(10, 5, torch.tensor(seed)) for seed in (1, 2))
    for i, (before, after) in enumerate([(5, 50), (50, 50), (50, 10)]):
        weight = ones[f"prior_weight_{i}"]
        bound = math.sqrt(6 / (before + after))
        assert weight.shape == (before, after)
        assert 0.9 * bound < weight.abs().max() <= bound
        assert weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.1)
        assert not torch.equal(weight, twos[f"prior_weight_{i}"])
    both = IVAE().label_state(10, 5, torch.tensor([1, 2]))
    assert torch.equal(both["prior_weight_1"][1], twos["prior_weight_1"])


def case(objective, factors):
    draw = torch.Generator().manual_seed(1)
    mean, logvar = (torch.randn(2, 3, dtype=DOUBLE, generator=draw) for _ in range(2))
    x = torch.rand(2, 1, 1, 3, dtype=DOUBLE, generator=draw)
    net = Net(
        lambda _: Posterior(mean, logvar), lambda z: z.unflatten(-1, (1, 1, 3)), extra=state(5)
    )
    step = Step(x, torch.tensor(3), torch.tensor(4), 100, factors)
    return net, step, objective.terms(net, step)


def test_the_divergence_is_its_integral():
    factors = torch.tensor([[0.2, 1.0], [0.7, 0.0]], dtype=DOUBLE)
    net, step, terms = case(IVAE(beta=3.0), factors)
    q, p, expected = net.encode(step.x), prior(net, factors), 0.0
    for i in range(2):
        for j in range(3):
            ours = norm(q.mean[i, j], (0.5 * q.logvar[i, j]).exp())
            theirs = norm(0, (0.5 * p.logvar[i, j]).exp())
            ends = ours.mean() - 12 * ours.std(), ours.mean() + 12 * ours.std()
            expected += (
                quad(lambda z, a=ours, b=theirs: a.pdf(z) * (a.logpdf(z) - b.logpdf(z)), *ends)[0]
                / 2
            )
    assert terms["kl"].value.item() == pytest.approx(expected, rel=1e-6)
    vae = BetaVAE(beta=0.0).terms(net, step)
    assert total(terms).item() == pytest.approx(total(vae).item() + 3 * expected, rel=1e-6)


def test_images_without_a_label_have_the_standard_prior():
    factors = torch.tensor([[0.2, torch.nan], [torch.nan, torch.nan]], dtype=DOUBLE)
    net, step, terms = case(IVAE(beta=2.0), factors)
    torch.testing.assert_close(total(terms), total(BetaVAE(beta=2.0).terms(net, step)))


def test_the_preset_is_the_bound_with_a_variance_of_0_01():
    factors = torch.tensor([[0.2, 1.0], [0.7, 0.0]], dtype=DOUBLE)
    objective = PRESETS["khemakhem2020"]
    net, step, terms = case(objective, factors)
    z = step.sample(net.encode(step.x))
    means = net.decode(z).flatten(1).numpy()
    constant = 3 * 0.5 * math.log(2 * math.pi * 0.01)
    bound = -norm.logpdf(step.x.flatten(1).numpy(), means, 0.1).sum(1).mean() - constant
    bound += terms["kl"].value.item()
    assert 50 * total(terms).item() == pytest.approx(bound)
