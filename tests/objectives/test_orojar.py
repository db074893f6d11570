"""OroJaR: products of columns, and the Hutchinson estimate that they are the mean of."""

import itertools

import pytest
import torch

from unknot import testing
from unknot.core.objective import total
from unknot.objectives.beta_vae import BetaVAE
from unknot.objectives.orojar import OroJaR


def test_the_term_is_half_the_variance_of_squared_lengths_over_all_signs():
    """The paper's estimate over every one of the 2^z sign vectors, of a linear decoder."""
    ours = testing.cases(OroJaR(gamma=2.0))[1][0]
    weight = ours.weights["decoder.0.weight"].detach()  # [pixels, latents]
    signs = torch.tensor(list(itertools.product((-1.0, 1.0), repeat=3)), dtype=torch.float64)
    lengths = (signs @ weight.T).square().sum(-1)
    expected = lengths.var(correction=0) / 2
    assert ours.terms()["products"].value.item() == pytest.approx(expected.item(), rel=1e-7)


def test_it_moves_the_decoder_alone_and_without_a_weight_it_is_the_beta_vae():
    ours = testing.cases(OroJaR(beta=3.0, gamma=0.0))[1][0]
    theirs = testing.cases(BetaVAE(3.0))[1][0]
    torch.testing.assert_close(total(ours.terms()), total(theirs.terms()))
    slopes = torch.autograd.grad(
        ours.terms()["products"].value, [*ours.weights.values()], materialize_grads=True
    )
    moved = {n for n, s in zip(ours.weights, slopes, strict=True) if s.abs().max() > 1e-6}
    assert moved == {"decoder.0.weight"}


def test_orthogonal_columns_cost_nothing_and_longer_ones_more():
    case = testing.cases(OroJaR(gamma=1.0))[1][0]
    weight = case.weights["decoder.0.weight"]
    with torch.no_grad():
        weight.copy_(torch.linalg.qr(weight)[0] * torch.tensor([1.0, 2.0, 3.0]))
    assert case.terms()["products"].value.item() == pytest.approx(0, abs=1e-15)
    with torch.no_grad():
        weight[:, 1] += 0.5 * weight[:, 0]
        once = case.terms()["products"].value.item()
        weight.mul_(2)
    assert once == pytest.approx(2 * 0.25, rel=1e-6)  # G_01 = 0.5, counted twice
    assert case.terms()["products"].value.item() == pytest.approx(16 * once, rel=1e-6)
