"""Hessian penalty: second differences against exact Hessians."""

import itertools
from functools import partial

import pytest
import torch

from unknot import testing
from unknot.core.errors import ConfigError
from unknot.core.objective import Net, Step, total
from unknot.core.posterior import Posterior
from unknot.losses.geometry import bends, signs
from unknot.objectives.beta_vae import BetaVAE
from unknot.objectives.hessian_penalty import HessianPenalty

DOUBLE = torch.float64
H = torch.randn(4, 3, 3, dtype=DOUBLE, generator=torch.Generator().manual_seed(3))
H = H + H.mT
"""Hessians of four pixels."""


def decode(z, hessians=H):
    """Pixels that are quadratic in the code, so that second differences are exact."""
    return (0.5 * torch.einsum("...j,ijk,...k->...i", z, hessians, z) + z[..., :1]).unflatten(
        -1, (1, 2, 2)
    )


def case(n=2000, hessians=H, **settings):
    z = torch.randn(n, 3, dtype=DOUBLE, generator=torch.Generator().manual_seed(1))
    net = Net(lambda _: Posterior(z, torch.full_like(z, -60.0)), partial(decode, hessians=hessians))
    x = torch.zeros(n, 1, 2, 2, dtype=DOUBLE)
    step = Step(x, torch.tensor(3), torch.tensor(4), n_data=n)
    return (
        HessianPenalty(likelihood="gaussian", **settings).terms(net, step)["hessian"].value.item()
    )


def test_bends_along_a_move_are_the_hessian_s_quadratic_form():
    z = torch.zeros(1, 3, dtype=DOUBLE)
    moves = torch.tensor(list(itertools.product((-1.0, 1.0), repeat=3)), dtype=DOUBLE).unsqueeze(1)
    (curved,) = bends(lambda c: (decode(c),), z, 0.1 * moves)
    exact = torch.einsum("kj,ijl,kl->ki", moves[:, 0], H, moves[:, 0])
    torch.testing.assert_close(curved[:, 0] / 0.01, exact)
    # Over all signs their variance is twice the squares off the diagonal.
    off = H - torch.diag_embed(H.diagonal(dim1=1, dim2=2))
    expected = 2 * off.square().sum((1, 2))
    torch.testing.assert_close(exact.var(0, correction=0), expected)


def test_two_draws_estimate_it_without_bias():
    """The mean over pixels is linear in the variances; 2,000 images agree with it to a few %."""
    off = H - torch.diag_embed(H.diagonal(dim1=1, dim2=2))
    expected = 2 * off.square().sum((1, 2)).mean().item()
    assert case(reduction="mean") == pytest.approx(expected, rel=0.1)
    assert case(reduction="mean", draws=6) == pytest.approx(expected, rel=0.05)
    assert case(reduction="max") > expected


def test_a_diagonal_hessian_costs_nothing_and_the_scale_of_codes_counts_to_the_fourth():
    once = case(n=5)
    assert case(n=5, hessians=4 * H) == pytest.approx(16 * once, rel=1e-6)  # codes twice as large
    diagonal = torch.diag_embed(H.diagonal(dim1=1, dim2=2))
    assert case(n=5, hessians=diagonal) == pytest.approx(0, abs=1e-20)


def test_signs_are_fair_and_of_the_step():
    step = Step(torch.zeros(2, 1, 1, 1, 1), torch.tensor([1, 2]), torch.tensor(4), n_data=9)
    ours = signs(step, "signs", 2, 500, 3)
    assert ours.shape == (2, 2, 500, 3)
    assert ours.unique().tolist() == [-1, 1]
    assert abs(ours.mean().item()) < 4 / ours.numel() ** 0.5


def test_without_a_weight_it_is_the_beta_vae_and_settings_are_checked():
    ours, theirs = (
        testing.cases(o)[1][0] for o in (HessianPenalty(beta=3.0, gamma=0.0), BetaVAE(3.0))
    )
    torch.testing.assert_close(total(ours.terms()), total(theirs.terms()))
    with pytest.raises(ConfigError, match=r"^HessianPenalty\.draws must be 2 or more; got 1"):
        HessianPenalty(draws=1)
    with pytest.raises(ConfigError, match=r"^HessianPenalty\.epsilon must be above 0; got 0"):
        HessianPenalty(epsilon=0.0)
