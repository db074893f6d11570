"""SlowVAE: its cross entropy by numerical integration, and what its transitions prefer."""

import math

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.stats import laplace, norm

from unknot import testing
from unknot.core.errors import ConfigError
from unknot.core.objective import Net, Step, total
from unknot.core.posterior import Posterior
from unknot.objectives.beta_vae import BetaVAE
from unknot.objectives.slow_vae import SlowVAE, cross_entropy
from unknot.samplers.parts.sampler import sampler_for
from unknot.samplers.transitions import Transitions

DOUBLE = torch.float64


def normal(mean, std):
    mean, std = (torch.as_tensor(v, dtype=DOUBLE) for v in (mean, std))
    return Posterior(mean.reshape(-1, 1), 2 * std.log().reshape(-1, 1))


@pytest.mark.parametrize("rate", [0.5, 6.0])
@pytest.mark.parametrize(
    ("mean", "std", "other"), [(0.3, 0.2, -0.5), (1.0, 2.0, 1.0), (4, 0.1, -4)]
)
def test_the_cross_entropy_is_its_integral(rate, mean, std, other):
    def integrand(z):
        return -norm.pdf(z, mean, std) * laplace.logpdf(z, other, 1 / rate)

    ends = mean - 12 * std, mean + 12 * std
    points = [other] if ends[0] < other < ends[1] else None
    expected = quad(integrand, *ends, points=points, epsabs=1e-12, limit=200)[0]
    ours = cross_entropy(normal(mean, std), torch.tensor([[other]], dtype=DOUBLE), rate)
    assert ours.item() == pytest.approx(expected, rel=1e-8)


def test_the_loss_is_put_together_as_in_the_authors_code():
    """Two views of three images: sums over latents, means over pairs or over all images."""
    draw = torch.Generator().manual_seed(1)
    mean, logvar = (torch.randn(6, 2, dtype=DOUBLE, generator=draw) for _ in range(2))
    x = torch.rand(6, 1, 2, 2, dtype=DOUBLE, generator=draw)
    net = Net(lambda _: Posterior(mean, logvar), lambda z: torch.zeros(6, 1, 2, 2, dtype=DOUBLE))
    step = Step(x, torch.tensor(3), torch.tensor(4), n_data=100)
    objective = SlowVAE(beta=0.5, gamma=3.0, rate=2.0)
    std, m = (0.5 * logvar).exp().numpy(), mean.numpy()
    crossed, entropy, kl = 0.0, 0.0, 0.0
    for i in range(3):
        for j in range(2):
            for a, b in ((i, i + 3), (i + 3, i)):
                away = m[b, j] - m[a, j]
                length = (
                    std[a, j] * math.sqrt(2 / math.pi) * math.exp(-(away**2) / 2 / std[a, j] ** 2)
                )
                length += away * (2 * norm.cdf(away / std[a, j]) - 1)
                crossed += (-math.log(2.0 / 2) + 2.0 * length) / 3
                entropy += norm(m[a, j], std[a, j]).entropy() / 6
                kl += 0.5 * (m[a, j] ** 2 + std[a, j] ** 2 - 1 - 2 * math.log(std[a, j])) / 6
    expected = 2 * 4 * math.log(2) + 0.5 * kl + 3.0 * (crossed - entropy)
    assert total(objective.terms(net, step)).item() == pytest.approx(expected, rel=1e-12)


def test_its_gradient_is_that_of_the_bound_in_both_directions_at_twice_the_rate():
    mean, logvar = (
        torch.randn(6, 2, dtype=DOUBLE, generator=torch.Generator().manual_seed(s)).requires_grad_()
        for s in (1, 2)
    )
    q = Posterior(mean, logvar)
    first, second = q.views(2)

    def transition(rate, share):
        crossed = cross_entropy(first, second.mean, rate) + cross_entropy(second, first.mean, rate)
        return share * crossed.sum() - 0.25 * logvar.sum()

    ours, bound = (
        torch.autograd.grad(v, (mean, logvar)) for v in (transition(3.0, 1.0), transition(6.0, 0.5))
    )
    for a, b in zip(ours, bound, strict=True):
        torch.testing.assert_close(a, b)


def test_a_step_along_one_latent_is_cheaper_than_one_of_its_length_across_two():
    """What fixes the axes: for a narrow posterior the cost is the rate times the L1 length."""
    q = Posterior(torch.zeros(1, 2, dtype=DOUBLE), torch.full((1, 2), -20.0, dtype=DOUBLE))
    along = cross_entropy(q, torch.tensor([[1.0, 0.0]], dtype=DOUBLE), 6.0).sum()
    across = cross_entropy(q, torch.tensor([[0.5**0.5, 0.5**0.5]], dtype=DOUBLE), 6.0).sum()
    assert (across - along).item() == pytest.approx(6 * (math.sqrt(2) - 1), abs=1e-3)


def test_without_transitions_it_is_a_beta_vae_of_both_views():
    ours = testing.cases(SlowVAE(beta=3.0, gamma=0.0))[1][0]
    theirs = BetaVAE(beta=1.5).terms(ours.net, ours.step)
    torch.testing.assert_close(total(ours.terms()), 2 * total(theirs))


def test_the_entropy_is_scipys_and_pairs_are_transitions():
    terms = testing.cases(SlowVAE())[1][0].terms()
    assert np.isfinite(terms["transition"].value.item())
    assert sampler_for(SlowVAE()) == Transitions()
    with pytest.raises(ConfigError, match=r"^SlowVAE\.rate must be 1e-06 or more; got 0"):
        SlowVAE(rate=0.0)
