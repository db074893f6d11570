"""JL1-VAE: the Jacobian by differences against that of autograd, and what its L1 norm prefers."""

import math

import pytest
import torch
from torch import nn

from unknot import testing
from unknot.core.errors import ConfigError
from unknot.core.objective import Net, total
from unknot.losses.geometry import jacobian
from unknot.objectives.beta_vae import BetaVAE
from unknot.objectives.jacobian_l1 import JacobianL1

DOUBLE = torch.float64


def smooth(seed=0, latents=3):
    """A decoder that bends, in float64, and the net that has it."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        layers = nn.Linear(latents, 7), nn.Tanh(), nn.Linear(7, 8), nn.Unflatten(1, (2, 2, 2))
        decoder = nn.Sequential(*layers).double()
    return decoder, Net(lambda x: x, lambda z: decoder(z.reshape(-1, latents)).reshape(
        *z.shape[:-1], 2, 2, 2))  # fmt: skip


def test_columns_are_those_of_autograd():
    decoder, net = smooth()
    z = torch.randn(5, 3, dtype=DOUBLE, generator=torch.Generator().manual_seed(1))
    columns = jacobian(net, z, rows=4, epsilon=1e-6)
    assert columns.shape == (4, 3, 8)
    for i in range(4):
        exact = torch.autograd.functional.jacobian(lambda c: decoder(c[None]).flatten(), z[i])
        torch.testing.assert_close(columns[i].T, exact, rtol=1e-4, atol=1e-6)


def test_members_and_a_batch_smaller_than_the_rows():
    _, net = smooth()
    z = torch.randn(2, 5, 3, dtype=DOUBLE, generator=torch.Generator().manual_seed(1))
    both = jacobian(net, z, rows=8, epsilon=1e-4)
    assert both.shape == (2, 5, 3, 8)
    torch.testing.assert_close(both[1], jacobian(net, z[1], rows=8, epsilon=1e-4))


def test_the_penalty_is_the_mean_over_rows_and_moves_the_decoder_alone():
    ours = testing.cases(JacobianL1(gamma=2.0, rows=3))[1][0]
    terms = ours.terms()
    # A linear decoder has its weights for a Jacobian, whatever the code.
    weight = ours.weights["decoder.0.weight"]
    assert terms["jacobian"].value.item() == pytest.approx(weight.abs().sum().item(), rel=1e-8)
    names = [*ours.weights]
    slopes = torch.autograd.grad(
        terms["jacobian"].value, [*ours.weights.values()], materialize_grads=True
    )
    for name, slope in zip(names, slopes, strict=True):
        if name == "decoder.0.weight":
            torch.testing.assert_close(slope, weight.sign(), rtol=1e-6, atol=1e-6)
        else:
            assert slope.abs().max() < 1e-9, name


def test_no_gradient_goes_through_codes():
    _, net = smooth()
    z = torch.randn(5, 3, dtype=DOUBLE).requires_grad_()
    assert torch.autograd.grad(jacobian(net, z, rows=5, epsilon=1e-3).abs().sum(), z,
                               materialize_grads=True)[0].abs().max() == 0  # fmt: skip


def test_turning_sparse_latents_costs_magnitude_and_no_squares():
    """Each latent moves a pixel of its own; turned by 45 degrees both move both."""
    half = math.sqrt(0.5)
    sparse = torch.tensor([[3.0, 0.0], [0.0, 3.0]], dtype=DOUBLE)
    turned = sparse @ torch.tensor([[half, half], [-half, half]], dtype=DOUBLE)
    norms = []
    for up in (sparse, turned):
        net = Net(lambda x: x, lambda z, up=up: (z @ up).unflatten(-1, (1, 1, 2)))
        columns = jacobian(net, torch.zeros(1, 2, dtype=DOUBLE), rows=1, epsilon=1e-3)
        norms.append((columns.abs().sum().item(), columns.square().sum().item()))
    assert norms[0] == pytest.approx((6.0, 18.0))
    assert norms[1] == pytest.approx((6.0 * math.sqrt(2), 18.0))


def test_without_a_weight_it_is_the_beta_vae():
    ours, theirs = (testing.cases(o)[1][0] for o in (JacobianL1(beta=3.0, gamma=0.0), BetaVAE(3.0)))
    torch.testing.assert_close(total(ours.terms()), total(theirs.terms()))
    mine = ours.gradients()
    for name, slope in theirs.gradients().items():
        torch.testing.assert_close(mine[name], slope)


@pytest.mark.parametrize(("field", "least"), [("rows", "1 or more"), ("epsilon", "above 0")])
def test_no_rows_and_no_width_are_refused(field, least):
    with pytest.raises(ConfigError, match=rf"^JacobianL1\.{field} must be {least}; got 0"):
        JacobianL1(**{field: 0 if field == "rows" else 0.0})
