"""QLAE: which value each code takes, whom each penalty moves, and what is scored."""

import numpy as np
import pytest
import torch

import unknot
from unknot import testing
from unknot.core.errors import ConfigError
from unknot.core.objective import Net, Step, total
from unknot.core.posterior import Posterior
from unknot.losses import beta_of_means
from unknot.objectives.qlae import PRESETS, QLAE, nearest, take

DOUBLE = torch.float64
DRAW = torch.Generator().manual_seed(5)
UP = torch.randn(3, 4, dtype=DOUBLE, generator=DRAW)
X = torch.rand(6, 1, 2, 2, dtype=DOUBLE, generator=DRAW)
STEP = Step(X, torch.tensor(3), torch.tensor(4), n_data=100)


def bound(z, codebook):
    """A net whose codes and values are these numbers, with a linear decoder."""
    q = Posterior(z, torch.zeros_like(z))
    return Net(
        lambda _: q, lambda c: (c @ UP).unflatten(-1, (1, 2, 2)), extra={"codebook": codebook}
    )


def leaves(seed=0):
    draw = torch.Generator().manual_seed(seed)
    z = 0.5 * torch.randn(6, 3, dtype=DOUBLE, generator=draw)
    codebook = torch.randn(3, 5, dtype=DOUBLE, generator=draw)
    return z.requires_grad_(), codebook.requires_grad_()


def test_codebooks_start_evenly_between_half_and_minus_half():
    start = QLAE(levels=5).extra_state(3, torch.tensor([7, 8])).learnt["codebook"]
    assert start.shape == (2, 3, 5)
    assert start[1, 2].tolist() == [-0.5, -0.25, 0, 0.25, 0.5]


def test_loss_and_gradients_are_those_of_a_loop_over_codes():
    """Terms by hand, code by code; each gradient from the one term that is meant to give it."""
    z, codebook = leaves()
    objective = QLAE(levels=5, quantization=2.0, commitment=0.7, likelihood="gaussian")
    terms = objective.terms(bound(z, codebook), STEP)
    quantised, distance = np.zeros((6, 3)), 0.0
    of_z, of_values = np.zeros((6, 3)), np.zeros((3, 5))
    for i in range(6):
        for j in range(3):
            gaps = np.abs(z[i, j].item() - codebook[j].detach().numpy())
            k = int(gaps.argmin())
            quantised[i, j] = codebook[j, k].item()
            distance += gaps[k] ** 2 / 6
            of_z[i, j] = 0.7 * 2 * (z[i, j].item() - quantised[i, j]) / 6
            of_values[j, k] += 2.0 * 2 * (quantised[i, j] - z[i, j].item()) / 6
    decoded = torch.tensor(quantised) @ UP
    error = decoded - X.flatten(1)
    assert terms["recon"].value.item() == pytest.approx(error.square().sum(1).mean().item())
    assert terms["quantization"].value.item() == pytest.approx(distance)
    assert terms["commitment"].value.item() == pytest.approx(distance)
    assert terms["used"].value.item() == np.mean([len({*c}) for c in quantised.T])
    slopes = torch.autograd.grad(total(terms), (z, codebook))
    # Straight through: codes move as the decoder would have the values move.
    through = (2 * error @ UP.T / 6).numpy()
    np.testing.assert_allclose(slopes[0].numpy(), through + of_z, rtol=1e-12)
    np.testing.assert_allclose(slopes[1].numpy(), of_values, rtol=1e-12)


def test_losses_behind_the_straight_through_step_would_cancel():
    """Why they are taken before it: there both are of z, and equal weights leave nothing."""
    z, codebook = leaves(1)
    q = take(codebook, nearest(z, codebook))
    straight = z + (q - z).detach()
    both = (z.detach() - straight).square().sum() + (z - straight.detach()).square().sum()
    assert torch.autograd.grad(both, z)[0].abs().max() == 0
    terms = QLAE(levels=5, likelihood="gaussian").terms(bound(z, codebook), STEP)
    for key, moved in (("quantization", codebook), ("commitment", z)):
        slopes = torch.autograd.grad(terms[key].value, (z, codebook), retain_graph=True,
                                     materialize_grads=True)  # fmt: skip
        reached = {name for name, slope in zip("zv", slopes, strict=True) if slope.any()}
        assert reached == {"z" if moved is z else "v"}


def test_the_decoder_and_the_scores_see_the_values_themselves():
    """In float32, z + (q - z) makes more than ten of ten learnt values."""
    draw = torch.Generator().manual_seed(0)
    codebook = torch.randn(2, 10, generator=draw)
    z = torch.randn(4000, 2, generator=draw)
    seen = []
    net = bound(z, codebook)
    net = Net(net.encode, lambda c: seen.append(c) or torch.zeros(4000, 1, 2, 2), extra=net.extra)
    x = torch.rand(4000, 1, 2, 2)
    QLAE().terms(net, Step(x, torch.tensor(3), torch.tensor(4), n_data=100))
    code = QLAE().recode(net, net.encode(x)).mean
    q = take(codebook, nearest(z, codebook))
    assert torch.equal(seen[0], q)
    assert torch.equal(code, q)
    assert [len(column.unique()) for column in code.T] == [10, 10]
    assert all(len(column.unique()) > 10 for column in (z + (q - z)).T)


def test_the_first_of_two_nearest_values_is_taken_in_a_population():
    codebook = torch.tensor([[[0.0, 1.0], [2.0, 2.0]], [[1.0, 0.0], [5.0, 1.0]]])
    z = torch.tensor([[[0.5, 2.0]], [[0.5, 3.0]]])
    assert nearest(z, codebook).tolist() == [[[0, 0]], [[0, 0]]]
    assert take(codebook, torch.tensor([[[1, 0]], [[0, 1]]])).tolist() == [[[1, 2]], [[1, 1]]]


def test_the_default_is_the_papers_weight_of_means():
    """N times the loss of means over N pixels and D latents is ours."""
    default = beta_of_means(0.01, pixels=3 * 64 * 64, latents=12)
    assert (QLAE().quantization, QLAE().commitment) == pytest.approx((default, default))
    assert PRESETS["hsu2023_mpi3d"].commitment == pytest.approx(0.01 * 12288 / 14)
    assert PRESETS["hsu2023_isaac3d"].quantization == pytest.approx(0.001 * 12288 / 18)


def test_weight_decay_spares_the_codebook(halves):
    """A codebook whose values no code takes keeps them, however large the decay."""
    run = train(halves, 5, levels=40, optimizer=unknot.AdamW(1e-9, weight_decay=1e6))
    weights = run.training.population.state()
    start = QLAE(levels=40).extra_state(3, torch.tensor([0])).learnt["codebook"]
    torch.testing.assert_close(weights["extra.codebook"], start, atol=1e-6, rtol=0)


def train(path, steps, **settings):
    settings = {"lr": 1e-2, **settings} if "optimizer" not in settings else settings
    return unknot.train(
        "arrays", "qlae", "linear", steps=steps, batch=32, device="cpu", log_every=10,
        data_settings={"path": str(path)}, net_settings={"latents": 3}, likelihood="gaussian",
        **settings,
    )  # fmt: skip


def test_training_lowers_the_loss_and_codes_have_few_values(halves):
    run = train(halves, 150, levels=4)
    curves = run.training.curves
    assert curves["loss"][-3:].mean() < 0.3 * curves["loss"][0].item()
    assert all(len(np.unique(column)) <= 4 for column in run.codes().numpy().T)


def test_one_level_is_refused():
    with pytest.raises(ConfigError, match=r"^QLAE\.levels must be 2 or more; got 1\.$"):
        QLAE(levels=1)
    testing.never_waits(QLAE())
