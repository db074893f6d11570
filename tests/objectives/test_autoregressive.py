"""Masks and one step of the flow, against brute force."""

import pytest
import torch
from torch.autograd.functional import jacobian

from unknot.objectives.flow_vae import gated_step, masks

CPU = torch.device("cpu")


def randn(*shape, seed=0):
    return torch.randn(
        *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed + len(shape))
    )


def weights(z, context=3, width=11, members=(), seed=0):
    return {
        "latent_weight": randn(*members, width, z, seed=seed),
        "context_weight": randn(*members, width, context, seed=seed + 1),
        "hidden_bias": randn(*members, width, seed=seed + 2),
        "out_weight": randn(*members, 2 * z, width, seed=seed + 3),
        "out_bias": randn(*members, 2 * z, seed=seed + 4),
    }


@pytest.mark.parametrize("latents", [1, 2, 5])
@pytest.mark.parametrize("width", [1, 4, 17])
@pytest.mark.parametrize("backwards", [False, True])
def test_a_path_leads_only_from_latents_before(latents, width, backwards):
    sees, hears = masks(latents, width, backwards=backwards, device=CPU)
    paths = hears.long() @ sees.long()
    order = paths.flip(0, 1) if backwards else paths
    assert (order.triu() == 0).all()
    if width >= latents:
        assert (order.tril(-1) > 0).sum() == latents * (latents - 1) / 2
        assert hears.any(1).all()


@pytest.mark.parametrize("backwards", [False, True])
def test_a_latent_moves_only_itself_and_those_after_it(backwards):
    """The Jacobian by brute force: triangular, and its diagonal is sigma."""
    z, context, own = randn(1, 5), randn(1, 3), weights(5)

    def flow(z):
        return gated_step(z, context, **own, backwards=backwards)[0]

    square = jacobian(flow, z).reshape(5, 5)
    order = square.flip(0, 1) if backwards else square
    assert (order.triu(1) == 0).all()
    assert (order.tril(-1) != 0).sum() == 10
    _, log_sigma = gated_step(z, context, **own, backwards=backwards)
    torch.testing.assert_close(square.diagonal(), log_sigma[0].exp(), rtol=1e-12, atol=0)
    torch.testing.assert_close(square.slogdet()[1], log_sigma.sum(), rtol=1e-10, atol=0)


def test_the_first_latent_still_hears_the_context():
    z, own = randn(2, 3), weights(3)
    one = gated_step(z, randn(2, 3, seed=8), **own, backwards=False)[0]
    other = gated_step(z, randn(2, 3, seed=9), **own, backwards=False)[0]
    assert (one != other).all()


def test_members_flow_by_their_own_weights():
    z, context, own = randn(2, 4, 3), randn(2, 4, 3, seed=1), weights(3, members=(2,))
    together = gated_step(z, context, **own, backwards=True)
    for i in range(2):
        mine = {name: weight[i] for name, weight in own.items()}
        alone = gated_step(z[i], context[i], **mine, backwards=True)
        for a, b in zip(together, alone, strict=True):
            torch.testing.assert_close(a[i], b, rtol=1e-12, atol=1e-14)


def test_gates_at_their_ends_keep_or_replace():
    z, context, own = randn(2, 3), randn(2, 3, seed=1), weights(3)
    own["out_weight"].zero_()
    own["out_bias"] = torch.tensor([7.0] * 3 + [800.0] * 3, dtype=torch.float64)
    kept, log_sigma = gated_step(z, context, **own, backwards=False)
    assert torch.equal(kept, z)
    assert (log_sigma == 0).all()
    own["out_bias"] = torch.tensor([7.0] * 3 + [-800.0] * 3, dtype=torch.float64)
    replaced, log_sigma = gated_step(z, context, **own, backwards=False)
    assert (replaced == 7).all()
    assert (log_sigma == -800).all()
