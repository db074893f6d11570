"""BioAE: its penalties by hand, and the codes of least energy that are not negative."""

import numpy as np
import pytest
import torch

from unknot.core.objective import Net, Step, total
from unknot.core.posterior import Posterior
from unknot.losses import beta_of_means
from unknot.objectives.bio_ae import PRESETS, BioAE

Z = torch.tensor([[1.0, -2.0], [-0.5, 3.0]], dtype=torch.float64)
X = torch.full((2, 1, 1, 2), 0.5, dtype=torch.float64)


def terms(objective, z):
    net = Net(lambda _: Posterior(z, z), lambda z: z.unflatten(-1, (1, 1, 2)))
    x = X[:1].expand(len(z), 1, 1, 2)
    return objective.terms(net, Step(x, torch.tensor(3), torch.tensor(4), n_data=9))


def test_penalties_by_hand():
    ours = terms(BioAE(nonnegativity=3.0, activity=0.5, likelihood="gaussian"), Z)
    assert ours["negative"].value.item() == (2.0 + 0.5) / 2
    assert ours["activity"].value.item() == (1 + 4 + 0.25 + 9) / 2
    recon = (0.25 + 6.25 + 1.0 + 6.25) / 2
    assert total(ours).item() == pytest.approx(recon + 3.0 * 1.25 + 0.5 * 7.125)


def test_the_slope_is_the_closed_form_on_both_sides_of_0():
    z = Z.clone().requires_grad_()
    value = total(terms(BioAE(nonnegativity=3.0, activity=0.5, likelihood="gaussian"), z))
    (slope,) = torch.autograd.grad(value, z)
    expected = (2 * (Z - 0.5) - 3.0 * (Z < 0) + 2 * 0.5 * Z) / 2
    torch.testing.assert_close(slope, expected)


def test_turning_independent_sources_away_from_the_axes_costs_energy():
    """The paper's theorem in small: sources fill a square, codes are shifted to be nonnegative."""
    rng = np.random.default_rng(0)
    sources = rng.uniform(0, 1, (4000, 2))
    energies = []
    for angle in (0.0, 0.2, 0.5, np.pi / 4):
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        codes = sources @ turn
        codes = torch.tensor(codes - codes.min(0))
        ours = terms(BioAE(likelihood="gaussian"), codes)
        assert ours["negative"].value.item() == 0
        energies.append(ours["activity"].value.item())
    assert energies == sorted(energies)
    assert energies[0] == pytest.approx(2 / 3, abs=0.02)


def test_weights_are_those_of_means_and_the_code_is_the_mean():
    assert BioAE().nonnegativity == pytest.approx(beta_of_means(1.0, pixels=12288, latents=12))
    assert BioAE().activity == pytest.approx(beta_of_means(0.01, pixels=12288, latents=12))
    assert PRESETS["hsu2023_isaac3d"].activity == pytest.approx(0.1 * 12288 / 18)
    code = BioAE().recode(Net(lambda x: x, lambda z: z), Posterior(Z, Z))
    assert torch.equal(code.mean, Z)
    assert code.logvar.max() == -20
