"""Unsupervised Ada-TVAE: its triplets, their order, and that no label is looked at."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck

import unknot
from unknot import testing
from unknot.core import noise, registry
from unknot.core.errors import ConfigError
from unknot.core.objective import Net, Step, total, views_of
from unknot.core.posterior import Posterior
from unknot.losses import reconstruction
from unknot.losses.overlap import Overlap
from unknot.objectives.ada_tvae import AdaTVAE
from unknot.objectives.ada_tvae_unsupervised import (
    PRESETS,
    AdaTVAEUnsupervised,
    features,
    order_triplets,
    swaps,
)
from unknot.objectives.beta_vae import BetaVAE

DRAW = torch.Generator().manual_seed(51)


def randn(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=DRAW)


def rows_of(order, swap):
    """Row numbers of anchors, positives and negatives, by way of codes that are row numbers."""
    row = torch.arange(order.shape[-2]).double().unsqueeze(-1).expand(*order.shape[:-1], 1)
    return [q.mean.squeeze(-1).long() for q in order_triplets(Posterior(row, row), order, swap)]


@given(st.integers(3, 9), st.integers(1, 4), st.integers(0, 10**6))
def test_triplets_are_three_images_and_each_is_an_anchor_in_each_round(b, rounds, seed):
    order = noise.permutation(seed, "triplets", 0, b, rounds)
    swap = noise.integers(seed, "swap", 0, rounds * b, high=2) == 1
    a, p, n = rows_of(order, swap)
    assert all(
        len({*triple}) == 3 for triple in zip(a.tolist(), p.tolist(), n.tolist(), strict=True)
    )
    for part in a.reshape(rounds, b):
        assert sorted(part.tolist()) == [*range(b)]


def test_all_ordered_triplets_are_equally_likely():
    """Of 4 images there are 24, each expected 500 times; chi-squared of 23 degrees."""
    order = noise.permutation(torch.arange(3000), "triplets", 0, 4, 1)
    a, p, n = rows_of(order, torch.zeros(3000, 4).bool())
    counts = np.bincount((a * 16 + p * 4 + n).flatten().numpy())
    counts = counts[counts > 0]
    assert len(counts) == 24
    assert ((counts - 500) ** 2 / 500).sum() < 60


@pytest.mark.parametrize(
    "likelihood", ["gaussian", "bernoulli", Overlap.create(radius=2, alpha=25.0)]
)
def test_after_the_swap_every_triplet_is_ordered_by_the_reconstruction_loss(likelihood):
    """Michlo 2022, 5.23 and 5.24; the loss is ours of one image as the other's reconstruction."""
    x = randn(2, 8, 3, 6, 6)
    order = noise.permutation(torch.tensor([1, 2]), "triplets", 0, 8, 3)
    swap = swaps(features(x, likelihood), order)
    assert 0.2 < swap.double().mean() < 0.8
    loss = likelihood if isinstance(likelihood, Overlap) else "gaussian"
    for member, (a, p, n) in enumerate(zip(*rows_of(order, swap), strict=True)):
        for i, j, k in zip(a.tolist(), p.tolist(), n.tolist(), strict=True):
            near, far = (
                reconstruction(loss, x[member, other, None], x[member, i, None]) for other in (j, k)
            )
            assert near < far


def test_a_blur_orders_what_pixels_cannot():
    """Three squares side by side: all equally far apart by pixels, not so when blurred."""
    x = torch.zeros(3, 1, 12, 12).double()
    for i in range(3):
        x[i, :, 4:8, 4 * i : 4 * i + 4] = 1
    order = torch.tensor([[0], [2], [1]])  # the anchor 0 meets 2 first
    assert not swaps(features(x, "gaussian"), order)[0]
    assert swaps(features(x, Overlap.create(radius=4)), order)[0]


def test_ties_are_decided_by_no_rounding_error():
    """On standardised XYSquares any two places are equally far apart; rounding says otherwise."""
    data = registry.get("datasets", "xysquares")(standardize=True).load()
    rows = data.space.traversal(torch.tensor([0]), 0)[0]
    x = data.batch(rows)
    assert len(x.unique(dim=0)) == 8
    for seed in range(20):
        order = noise.permutation(seed, "triplets", 0, 8, 2)
        assert not swaps(features(x, "gaussian"), order).any()


def test_it_is_the_ada_tvae_of_the_triplets_it_makes():
    """Their codes, given as views, have the same triplet term bit for bit."""
    case = testing.cases(AdaTVAEUnsupervised(omega=0.4, eta=0.3, delta="symmetric_kl"))[1][0]
    q = case.net.encode(case.step.x)
    order = case.step.permutation("triplets", 6, 2)
    triple = order_triplets(q, order, swaps(features(case.step.x, "bernoulli"), order))
    views = Posterior(*(torch.cat([getattr(v, n) for v in triple]) for n in ("mean", "logvar")))
    bound = Net(lambda x: views, case.net.decode)
    x = torch.zeros(36, 1, 8, 8).double()
    theirs = AdaTVAE(omega=0.4, eta=0.3, delta="symmetric_kl").terms(
        bound, Step(x, case.step.seed, case.step.t, 40)
    )
    for name in ("triplet", "violations", "shared"):
        assert torch.equal(case.terms()[name].value, theirs[name].value)


def test_the_rest_is_the_beta_vae_once_over_the_batch():
    ours = testing.cases(AdaTVAEUnsupervised(alpha=0.0, beta=4.0))[1][0]
    theirs = BetaVAE(beta=4.0).terms(ours.net, ours.step)
    assert torch.equal(total(ours.terms()), total(theirs))
    assert views_of(AdaTVAEUnsupervised()) == 1


def test_gradients_match_finite_differences_with_order_and_masks_held():
    mean, x, up = randn(5, 3).requires_grad_(), randn(5, 1, 2, 2), randn(3, 4)
    objective = AdaTVAEUnsupervised(margin="soft", omega=0.3, likelihood="gaussian")

    def loss(m):
        net = Net(lambda x: Posterior(m, m / 2), lambda z: (z @ up).unflatten(-1, (1, 2, 2)))
        return total(objective.terms(net, Step(x, torch.tensor(3), torch.tensor(4), n_data=9)))

    assert gradcheck(loss, (mean,), atol=1e-6)


def test_weights_are_the_same_in_a_population():
    for check in (testing.together_as_alone, testing.gradients_reach_all_weights):
        check(AdaTVAEUnsupervised(omega=0.3, rounds=3, margin="soft", norm="l2"))


def test_presets_make_512_triplets_of_256_images():
    assert 256 * PRESETS["michlo"].rounds == 512
    assert PRESETS["michlo"].beta == pytest.approx(4.9152)


def trained(path, **settings):
    return unknot.train(
        "arrays",
        "ada_tvae_unsupervised",
        "linear",
        steps=200,
        batch=32,
        lr=1e-2,
        device="cpu",
        log_every=10,
        data_settings={"path": str(path)},
        net_settings={"latents": 5},
        likelihood="gaussian",
        beta=0.01,
        alpha=16.0,
        psi=1.0,
        **settings,
    )


def test_training_without_labels_is_the_same_bit_for_bit_and_learns(tiny, tmp_path):
    """The file without factors has nothing that could be looked at."""
    with np.load(tiny) as file:
        np.savez(tmp_path / "bare.npz", images=file["images"])
    ours, bare = trained(tiny), trained(tmp_path / "bare.npz")
    assert bare.dataset.space.names == ("index",)
    for name in ours.training.curves.values:
        assert torch.equal(ours.training.curves[name], bare.training.curves[name])
    loss, wrong = ours.training.curves["loss"], ours.training.curves["triplet"]
    assert loss[-5:].mean() < 0.5 * loss[0].mean()
    assert wrong[-5:].mean() < 0.9 * wrong[0].mean()


def test_what_is_refused(tiny):
    with pytest.raises(ConfigError, match=r"^AdaTVAEUnsupervised.rounds must be 1 or more; got 0"):
        AdaTVAEUnsupervised(rounds=0)
    with pytest.raises(ConfigError, match=r"AdaTVAEUnsupervised compares .* got a batch of 2"):
        unknot.train(
            "arrays",
            "ada_tvae_unsupervised",
            "linear",
            steps=1,
            batch=2,
            data_settings={"path": str(tiny)},
        )
