"""Ada-ML-VAE: its product of Gaussians against the product of densities."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import norm
from torch.autograd import gradcheck

import unknot
from unknot import testing
from unknot.core.errors import ConfigError
from unknot.core.objective import Net, Step, total
from unknot.core.posterior import Posterior
from unknot.objectives.ada_gvae import AdaGVAE, average_posteriors
from unknot.objectives.ada_mlvae import AdaMLVAE, product
from unknot.objectives.beta_vae import BetaVAE

DRAW = torch.Generator().manual_seed(12)
UP = torch.randn(3, 4, dtype=torch.float64, generator=DRAW)


def randn(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=DRAW)


def net(mean, logvar):
    return Net(lambda x: Posterior(mean, logvar), lambda z: (z @ UP).unflatten(-1, (1, 2, 2)))


def step(x):
    return Step(x, torch.tensor(3), torch.tensor(4), n_data=100)


def one(mean, var):
    mean, var = (torch.tensor([[v]], dtype=torch.float64) for v in (mean, var))
    return Posterior(mean, var.log())


@pytest.mark.parametrize(("a", "b"), [((1.0, 0.5), (-1.0, 2.0)), ((0.0, 1.0), (3.0, 1.0))])
def test_the_sum_of_precisions_is_the_product_of_the_densities(a, b):
    """Moments of the normalised product on a fine grid."""
    x = np.linspace(-12, 12, 200_001)
    density = norm.pdf(x, a[0], math.sqrt(a[1])) * norm.pdf(x, b[0], math.sqrt(b[1]))
    density /= density.sum()
    mean = (x * density).sum()
    both = product(one(*a), one(*b), "sum")
    assert both.mean.item() == pytest.approx(mean, abs=1e-10)
    assert both.logvar.exp().item() == pytest.approx(((x - mean) ** 2 * density).sum(), abs=1e-9)


def test_means_of_precisions_keep_equal_posteriors_and_sums_halve_their_variance():
    """The published code averages where a product of experts adds; both are here, by name."""
    q = Posterior(randn(4, 3), randn(4, 3))
    same, half = product(q, q, "mean"), product(q, q, "sum")
    torch.testing.assert_close(same.mean, q.mean)
    torch.testing.assert_close(same.logvar, q.logvar)
    torch.testing.assert_close(half.mean, q.mean)
    torch.testing.assert_close(half.logvar.exp(), q.logvar.exp() / 2)
    assert AdaMLVAE().precision == "mean"


def test_the_mean_of_precisions_by_hand():
    """Variances 1/2 and 1/4: precisions 2 and 4, mean 3; means 6 and 0 weigh 2 to 4."""
    both = product(one(6.0, 0.5), one(0.0, 0.25), "mean")
    assert both.logvar.exp().item() == pytest.approx(1 / 3)
    assert both.mean.item() == pytest.approx(2.0)


def test_a_far_surer_posterior_decides_without_overflow():
    both = product(one(1.0, 1e-200), one(5.0, 1e200), "sum")
    assert both.mean.item() == 1.0
    assert both.logvar.item() == pytest.approx(-200 * math.log(10))


def test_with_equal_variances_it_is_the_ada_gvae():
    mean, x = randn(10, 3), randn(10, 1, 2, 2)
    bound = net(mean, torch.full_like(mean, -1.0))
    losses = [
        total(kind(beta=3.0, likelihood="gaussian").terms(bound, step(x)))
        for kind in (AdaMLVAE, AdaGVAE)
    ]
    torch.testing.assert_close(*losses)


def test_the_same_latents_are_shared_as_in_the_ada_gvae_with_no_more_variance():
    """A harmonic mean of variances against their mean."""
    case = testing.cases(AdaMLVAE())[1][0]
    ours, theirs = case.terms(), AdaGVAE().terms(case.net, case.step)
    assert torch.equal(ours["shared"].value, theirs["shared"].value)
    a, b = Posterior(randn(9, 3), randn(9, 3)), Posterior(randn(9, 3), randn(9, 3))
    assert (product(a, b, "mean").logvar < average_posteriors(a, b, "variance").logvar).all()


def test_without_sharing_it_is_the_beta_vae_of_all_views_bit_for_bit():
    ours = testing.cases(AdaMLVAE(beta=4.0, eta=0.0))[1][0]
    theirs = BetaVAE(beta=4.0).terms(ours.net, ours.step)
    assert torch.equal(total(ours.terms()), total(theirs))


@pytest.mark.parametrize("precision", ["mean", "sum"])
def test_gradients_match_finite_differences_with_masks_held(precision):
    mean, logvar = randn(6, 3).requires_grad_(), randn(6, 3).requires_grad_()
    objective = AdaMLVAE(beta=2.0, precision=precision, likelihood="gaussian")
    x = randn(6, 1, 2, 2)
    assert objective.terms(net(mean, logvar), step(x))["shared"].value > 0
    assert gradcheck(
        lambda m, v: total(objective.terms(net(m, v), step(x))), (mean, logvar), atol=1e-7
    )


def test_the_loss_is_the_same_when_the_pair_is_swapped():
    """Divergence alone, which needs no noise to be swapped with it."""
    mean, logvar, x = randn(12, 3), randn(12, 3), randn(12, 1, 2, 2)
    objective = AdaMLVAE(delta="symmetric_kl", likelihood="gaussian")
    ours, theirs = (
        objective.terms(net(mean.roll(n, 0), logvar.roll(n, 0)), step(x)) for n in (0, 6)
    )
    torch.testing.assert_close(ours["kl"].value, theirs["kl"].value)


def test_sums_of_precisions_are_the_same_in_a_population():
    testing.together_as_alone(AdaMLVAE(precision="sum", delta="symmetric_kl"))


def test_training_on_pairs_lowers_the_loss(tiny):
    trained = unknot.train(
        "arrays",
        "ada_mlvae",
        "linear",
        steps=200,
        batch=32,
        lr=2e-2,
        device="cpu",
        log_every=10,
        data_settings={"path": str(tiny)},
        net_settings={"latents": 5},
        likelihood="gaussian",
        beta=0.1,
    )
    loss = trained.training.curves["loss"]
    assert loss[-5:].mean() < 0.5 * loss[0].mean()


def test_what_is_refused():
    with pytest.raises(ConfigError, match=r"^AdaMLVAE.eta must be 1 or less; got 1.5\.$"):
        AdaMLVAE(eta=1.5)
    bad = AdaMLVAE()
    object.__setattr__(bad, "precision", "add")  # as outside tests, where no annotation is checked
    with pytest.raises(ConfigError, match=r"AdaMLVAE.precision has no choice 'add'; known: mean"):
        bad.__post_init__()
