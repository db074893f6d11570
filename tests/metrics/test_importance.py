"""Likelihoods of draws."""

import math

import pytest
import torch

from unknot.core import noise
from unknot.core.objective import Net
from unknot.core.posterior import Posterior
from unknot.metrics.importance import draw

X = noise.uniform(0, "images", 0, 60, 1, 4, 4, dtype=torch.float64)


def net(activate):
    def encode(x):
        return Posterior(x.flatten(1)[:, :2], torch.full((len(x), 2), -1.0, dtype=x.dtype))

    def decode(z):
        return activate(z.sum(-1)[..., None, None, None].expand(*z.shape[:-1], 1, 4, 4))

    return Net(encode, decode)


def test_logits_of_means_are_means_behind_a_sigmoid():
    bounded = draw(net(lambda y: y), X, likelihood="sigmoid_gaussian", draws=3, seed=1)
    plain = draw(net(torch.sigmoid), X, likelihood="gaussian", draws=3, seed=1)
    torch.testing.assert_close(bounded.likelihoods, plain.likelihoods)
    assert bounded.likelihood == "sigmoid_gaussian"


def test_a_perfect_decoder_has_the_density_of_variance_a_half():
    """1 / sqrt(pi) for each of 16 pixels at their means."""
    flat = torch.full_like(X, 0.5)
    drawn = draw(net(lambda y: 0 * y), flat, likelihood="sigmoid_gaussian", draws=1, seed=0)
    assert drawn.likelihoods.flatten().tolist() == pytest.approx([-8 * math.log(math.pi)] * 60)
