"""Tripod: levels, total correlation of kernels by NumPy, and the quotient of Hessian penalties."""

import math

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from scipy.stats import norm

from unknot import testing
from unknot.core.objective import Net, Step
from unknot.core.posterior import Posterior
from unknot.losses.geometry import signs
from unknot.objectives.tripod import PRESETS, Tripod, kernel_tc, on_levels

DOUBLE = torch.float64
DRAW = torch.Generator().manual_seed(8)
Q = torch.randn(2, 7, 3, dtype=DOUBLE, generator=DRAW)


def test_total_correlation_is_that_of_kernels_one_by_one():
    spread = Q.std(-2, correction=0, keepdim=True) + 1e-6
    ours = kernel_tc(Q, spread)
    for member in range(2):
        q, s = Q[member].numpy(), spread[member, 0].numpy()
        b, z = q.shape
        wide = (4 / (z + 2)) ** (1 / (z + 4)) * b ** (-1 / (z + 4))
        total = 0.0
        for i in range(b):
            joint = [sum(norm.logpdf(q[i, k], q[j, k], wide * s[k]) for k in range(z))
                     for j in range(b)]  # fmt: skip
            total += logsumexp(joint) - math.log(b)
            for k in range(z):
                single = [norm.logpdf(q[i, k], q[j, k], s[k]) for j in range(b)]
                total -= logsumexp(single) - math.log(b)
        assert ours[member].item() == pytest.approx(total / b, rel=1e-10)


def test_it_is_larger_for_latents_that_repeat_each_other():
    draw = torch.Generator().manual_seed(1)
    x = torch.rand(64, 1, dtype=DOUBLE, generator=draw)
    other = torch.rand(64, 1, dtype=DOUBLE, generator=draw)
    values = [
        kernel_tc(q, q.std(-2, correction=0, keepdim=True)).item()
        for q in (torch.cat([x, other], -1), torch.cat([x, x], -1))
    ]
    assert values[1] > values[0] + 0.3


def test_codes_are_on_even_levels_and_gradients_pass():
    codes = torch.linspace(-0.999, 0.999, 501)
    rounded = on_levels(codes, 12)
    assert len(rounded.unique()) == 12
    np.testing.assert_allclose(rounded.unique().diff(), 2 / 11, rtol=1e-5)
    assert (rounded - codes).abs().max() <= 1 / 11 + 1e-6
    code = Tripod().recode(Net(lambda x: x, lambda z: z), Posterior(3 * Q[0], Q[0]))
    torch.testing.assert_close(code.mean, on_levels((3 * Q[0]).tanh(), 12))
    z = Q[0].clone().requires_grad_()
    net = Net(
        lambda _: Posterior(z, z), lambda q: q.sum(-1)[..., None, None, None],
        features=lambda _: (),
    )  # fmt: skip
    step = Step(torch.zeros(7, 1, 1, 1, dtype=DOUBLE), torch.tensor(3), torch.tensor(4), 9)
    recon = Tripod(likelihood="gaussian").terms(net, step)["recon"].value
    expected = 2 * on_levels(z.tanh(), 12).sum(-1, keepdim=True) * (1 - z.tanh() ** 2) / 7
    torch.testing.assert_close(torch.autograd.grad(recon, z)[0], expected)


def mixing(hessian, n=4000):
    """The term for one layer whose units are quadratic in the code with these Hessians."""

    def features(z):
        return (0.5 * torch.einsum("...j,ijk,...k->...i", z, hessian, z),)

    z = torch.randn(n, 3, dtype=DOUBLE, generator=torch.Generator().manual_seed(2))
    q = Posterior(z, z)
    net = Net(lambda _: q, lambda c: c[..., None, None], features=features)
    x = torch.zeros(n, 3, 1, 1, dtype=DOUBLE)
    step = Step(x, torch.tensor(3), torch.tensor(4), n)
    codes = z.tanh()
    spread = codes.std(-2, correction=0, keepdim=True)
    value = Tripod()._mixing(net, step, codes, spread).item()
    return value, (spread[0, :, None] * spread[0]).square()


def test_the_quotient_is_the_share_of_the_hessian_off_the_diagonal():
    """Twice the squares off the diagonal for signs, twice all squares for normal noise."""
    hessian = torch.randn(4, 3, 3, dtype=DOUBLE, generator=torch.Generator().manual_seed(5))
    hessian = hessian + hessian.mT
    value, scale = mixing(hessian)
    squares = hessian.square() * scale
    off = squares.sum() - squares.diagonal(dim1=1, dim2=2).sum()
    assert value == pytest.approx((off / squares.sum()).item(), rel=0.1)
    diagonal = torch.diag_embed(hessian.diagonal(dim1=1, dim2=2))
    assert mixing(diagonal, 50)[0] == pytest.approx(0, abs=1e-12)
    assert mixing(100 * hessian)[0] == pytest.approx(value, rel=1e-6)


def test_weights_are_those_of_means_over_pixels():
    assert (Tripod().lambda_tc, Tripod().lambda_hessian) == pytest.approx(
        (1e-4 * 12288, 1e-2 * 12288)
    )
    assert PRESETS["hsu2024_isaac3d"].lambda_tc == pytest.approx(1e-4 * 12288)
    testing.one_value_per_member(Tripod())


def test_moves_are_a_share_of_the_spread_of_each_latent():
    """Of a fourth power, whose second differences tell how far the moves went."""
    z = torch.tensor([[0.9, 0.1], [-0.4, 0.3], [0.2, 0.1]], dtype=DOUBLE)
    net = Net(
        lambda _: Posterior(z, z),
        lambda q: q.sum(-1)[..., None, None, None],
        features=lambda q: (100 * q.sum(-1, keepdim=True) ** 4,),
    )
    step = Step(torch.zeros(3, 1, 1, 1, dtype=DOUBLE), torch.tensor(3), torch.tensor(4), 9)
    ours = Tripod(epsilon=0.5).terms(net, step)["hessian"].value.item()
    q = on_levels(z.tanh(), 12)
    spread = z.tanh().std(-2, correction=0) + 1e-6
    draws = signs(step, "signs", 2, 3, 2), step.normal("directions", 2, 3, 2)
    parts = []
    for draw in draws:
        v = 0.5 * spread * draw
        bent = 100 * sum(w * (q + k * v).sum(-1) ** 4 for k, w in ((1, 1), (0, -2), (-1, 1)))
        parts.append((((bent[0] - bent[1]) / 2) ** 2).mean().item())
    assert ours > 0
    assert ours == pytest.approx(parts[0] / (parts[1] + 1e-10), rel=1e-9)
